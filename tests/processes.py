"""Python in processes of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support import MINUTES


def python(code: str, *arguments: object, **options: Any) -> str:
    """Run code, and return what it prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=MINUTES, **options)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


@contextmanager
def python_once(said: str, code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Run code from when it has said something until the block ends."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == f"{said}\n"
        try:
            yield process
        finally:
            process.kill()
