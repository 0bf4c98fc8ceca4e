"""The program, started on a terminal."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

PROGRAM: Final = (sys.executable, "-m", "learning_memory_server")


@contextmanager
def on_a_terminal(
    environment: dict[str, str], *arguments: str, output: bool = False
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start the program with a terminal as its input and its errors, and for as long as the block runs.

    Args:
        output: Whether the terminal shows its output, too.

    Yields:
        The process, and the terminal's other end.
    """
    ours, its = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        stdin=its,
        stdout=its if output else subprocess.DEVNULL,
        stderr=its,
        env={**os.environ, **environment},
        start_new_session=True,
    )
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
