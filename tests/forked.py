"""The program in processes that need not import it: a command's imports take ten times as long as its work.

They are forked from a process that has imported it once. A test of imports, of Python's own variables or of another
copy of the package starts Python instead.
"""

import os
import sys
from collections.abc import Mapping
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

from typing_extensions import override

# A child imports what this process was started as, which is pytest, and this module, which therefore imports little.
get_context("forkserver").set_forkserver_preload(
    [
        "pytest",
        "typing_extensions",
        "learning_memory_server.cli.app",
        "learning_memory_server.cli.doctor.command",
        "learning_memory_server.cli.maintenance.importing",
        "learning_memory_server.cli.sharing",
        "learning_memory_server.embedding.hashing",
        "learning_memory_server.hub.hub",
        "learning_memory_server.hub.main",
        "learning_memory_server.index.engines.edge",
    ]
)


class Forked(ForkServerProcess):
    """A command that runs, as the leader of a session.

    Args:
        arguments: Of the command line.
        environment: All variables that it gets.
        files: Its input, output and errors: descriptors that are open here.
        folder: Where it runs; here by default.
    """

    def __init__(
        self,
        arguments: tuple[str, ...],
        environment: Mapping[str, str],
        files: tuple[int, int, int],
        folder: Path | None = None,
    ) -> None:
        # It ends with the tests.
        super().__init__(daemon=True)
        self._arguments = arguments
        self._environment = dict(environment)
        self._files: tuple[Any, ...] = files
        self._folder = folder or Path.cwd()
        self.start()

    @override
    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_files": [DupFd(number) for number in self._files]}

    @override
    def run(self) -> None:
        from learning_memory_server.__main__ import main
        from learning_memory_server.cli import access

        # A test that wants a hub starts it.
        access.STARTS_HUB = False
        os.setsid()
        for number, file in enumerate(self._files):
            os.dup2(file.detach(), number)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(number, mode, closefd=False) for number, mode in enumerate("rww")
        )
        os.chdir(self._folder)
        os.environ.clear()
        os.environ.update(self._environment)
        sys.argv[1:] = self._arguments
        main()

    def wait(self, seconds: float | None = None) -> int | None:
        """Return the exit status, or None if it still runs after these seconds."""
        self.join(seconds)
        return self.exitcode

    def send_signal(self, number: int) -> None:
        assert self.pid
        os.kill(self.pid, number)
