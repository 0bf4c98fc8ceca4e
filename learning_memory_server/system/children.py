"""Modules of this program that run as other processes, and answer one pickled request after another.

A child cannot hang its parent: what it writes on standard error goes to a file, and one that is late is killed.
"""

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final

import learning_memory_server
from learning_memory_server.system import timeouts
from learning_memory_server.system.ending import raised_name

ATTEMPTS: Final = 2
"""How often a request is made: a child may be killed, or meet a moment without RAM."""
_TAIL: Final = 65_536  # Bytes of its standard error that are read


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command line that runs the module in this interpreter, whatever is in the working directory."""
    return [sys.executable, "-P", "-m", module, *arguments]


def detached() -> dict[str, Any]:
    """Return `Popen` options for a process that finds this package, detached from the terminal and its folder."""
    root = str(Path(learning_memory_server.__file__).parents[1])
    search_path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    # A new session: an interrupt from the terminal is for the parent only.
    return {"cwd": "/", "env": {**os.environ, "PYTHONPATH": search_path}, "start_new_session": True}


class ChildFailedError(Exception):
    """A child did not answer. `reason` is for the log: `late`, or the exception with which it ended."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _nameless_file() -> IO[bytes]:
    """Return an open file without a name: on Linux in RAM, since nothing is written outside of the data folder."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("standard-error"), "w+b")
    return TemporaryFile()


class Child:
    """A process that answers requests: pickled on stdin and stdout. Raises `OSError` if it cannot be started."""

    def __init__(self, command: Sequence[str]) -> None:
        self._said = _nameless_file()
        self._is_late = False
        try:
            self._process = subprocess.Popen(
                command, **detached(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said
            )
        except BaseException:
            self._said.close()
            raise

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def ask(self, request: object, seconds: float) -> Any:
        """Return the answer to a request. Kills a child that is late, and raises `ChildFailedError`."""
        if self._process.stdin is None or self._process.stdout is None:
            raise TypeError("a child without pipes")
        alarm = threading.Timer(seconds, self._give_up)
        alarm.daemon = True
        alarm.start()
        try:
            pickle.dump(request, self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()
            return pickle.load(self._process.stdout)  # noqa: S301 - from our own child
        except Exception:  # noqa: BLE001 - half an answer can be anything
            alarm.cancel()
            self.kill()
            raise ChildFailedError("late" if self._is_late else self._last_exception()) from None
        finally:
            alarm.cancel()

    def kill(self) -> None:
        """End the process and those that it started, now."""
        # Others of its session could hold its pipes, for which whoever reads them would wait.
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(OSError):
            self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """Close the process's standard input, wait a moment for its end, and release everything."""
        with suppress(OSError):
            if self._process.stdin:
                self._process.stdin.close()
        try:
            self._process.wait(timeouts.CHILD_END)
        except subprocess.TimeoutExpired:
            self.kill()
        if self._process.stdout:
            self._process.stdout.close()
        self._said.close()

    def _give_up(self) -> None:
        self._is_late = True
        self.kill()

    def _last_exception(self) -> str:
        """Return the exception that standard error ends with, without its message, which may quote texts."""
        self._said.seek(max(0, self._said.seek(0, os.SEEK_END) - _TAIL))
        # The lines before it are frames, which show where the user has installed Python.
        return raised_name(self._said.read().decode(errors="replace").strip().rpartition("\n")[2])


def answer_requests(answer: Callable[[Any], object]) -> None:
    """Answer the requests of a parent, in the child, until there are no more."""
    # What a library prints would be taken for an answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(EOFError):
        while True:
            pickle.dump(answer(pickle.load(sys.stdin.buffer)), answers, pickle.HIGHEST_PROTOCOL)  # noqa: S301 - from our own parent
            answers.flush()
