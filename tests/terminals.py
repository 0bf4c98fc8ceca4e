"""The program, started on a terminal."""

import os
import pty
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from learning_memory_server.cli.out import CLIENTS
from tests.forked import Forked
from tests.support import MINUTES

PROGRAM: Final = (sys.executable, "-m", "learning_memory_server")


@contextmanager
def on_a_terminal(
    environment: dict[str, str], *arguments: str, output: bool = False, folder: Path | None = None
) -> Iterator[tuple[Forked, int]]:
    """Start the program with a terminal as its input and its errors, and for as long as the block runs.

    Args:
        output: Whether the terminal shows its output, too.
        folder: Where it runs; here by default.

    Yields:
        The process, and the terminal's other end.
    """
    ours, its = pty.openpty()
    with Path(os.devnull).open("wb") as nowhere:
        files = its, its if output else nowhere.fileno(), its
        process = Forked(arguments, {**os.environ, **dict.fromkeys(CLIENTS, ""), **environment}, files, folder)
    os.close(its)
    try:
        yield process, ours
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def read_until(terminal: int, expected: bytes) -> bytes:
    """Return what a terminal shows until it has shown what is expected, or its program has ended."""
    shown = b""
    while expected not in shown:
        try:
            shown += os.read(terminal, 4096)
        except OSError:
            break
    return shown


def agreed(environment: dict[str, str], folder: Path, *arguments: str) -> str:
    """Return what a terminal shows of a command, all of whose questions a person answers with yes."""
    with on_a_terminal(environment, *arguments, output=True, folder=folder) as (process, terminal):
        shown = said = read_until(terminal, b"[y/N]: ")
        while b"[y/N]: " in said:
            os.write(terminal, b"y\n")
            shown += (said := read_until(terminal, b"[y/N]: "))
        assert process.wait(MINUTES) == 0, shown
    return shown.decode()
