"""The program as nobody starts it: stopped in the middle of an import, or without root's rights."""

import ctypes
import os
import signal
from typing import Any

from typing_extensions import override

from tests.forked import Forked


class StoppingHub(Forked):
    """Stops when the first portion of an import is in the journal, on the fastest machine too."""

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


class BoundByPermissions(Forked):
    """Has none of the capabilities with which root on Linux reads and writes every file."""

    @override
    def run(self) -> None:
        if os.geteuid() == 0:
            # The interface's third version, and this process.
            header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
            assert ctypes.CDLL(None).capset(header, none) == 0
        super().run()
