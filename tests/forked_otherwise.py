"""The program as nobody starts it: stopped in the middle of an import, without root's rights, or as another user."""

import ctypes
import importlib
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


NOBODY = 65534
"""The number of the user without rights, on every Linux."""


class AsNobody(Forked):
    """Runs as a user that owns nothing. Only root can start it."""

    @override
    def run(self) -> None:
        # Python's own folder may be closed to others.
        for name in ("pwd", "shlex", "tomllib", "encodings.ascii", "learning_memory_server.cli.doctor.command"):
            importlib.import_module(name)
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        super().run()
