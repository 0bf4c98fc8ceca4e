"""The program, started on a terminal."""

import os
import pty
import subprocess
import sys
from typing import Final

PROGRAM: Final = (sys.executable, "-m", "learning_memory_server")


def on_a_terminal(arguments: list[str], environment: dict[str, str]) -> tuple[subprocess.Popen[bytes], int]:
    """Start the program with a terminal as its input and its errors; return it and the terminal's other end."""
    ours, its = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        stdin=its,
        stdout=subprocess.DEVNULL,
        stderr=its,
        env={**os.environ, **environment},
        start_new_session=True,
    )
    os.close(its)
    return process, ours


def read_until(terminal: int, expected: bytes) -> bytes:
    """Return what a terminal shows until it has shown what is expected, or its program has ended."""
    shown = b""
    while expected not in shown:
        try:
            shown += os.read(terminal, 4096)
        except OSError:
            break
    return shown
