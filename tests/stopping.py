"""A hub that stops in the middle of an import, on the fastest machine too."""

import os
import signal
from typing import Any

from typing_extensions import override

from tests.forked import Forked


class StoppingHub(Forked):
    """Stops, as Ctrl-Z stops a program, when the first portion of an import is in the journal."""

    @override
    def run(self) -> None:
        from learning_memory_server.capture.entries.collector import ObservationCollector

        add_resolved = ObservationCollector.add_resolved

        def add_and_stop(collector: ObservationCollector, *arguments: Any) -> Any:
            ObservationCollector.add_resolved = add_resolved  # type: ignore[method-assign]
            added = collector.add_resolved(*arguments)
            os.kill(os.getpid(), signal.SIGSTOP)
            return added

        ObservationCollector.add_resolved = add_and_stop  # type: ignore[assignment,method-assign]
        super().run()
