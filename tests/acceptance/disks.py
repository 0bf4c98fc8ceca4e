"""Small disks, and how one is filled."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """Mount a file system of this size at a new folder; skip the test where that is not permitted."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(folder)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting a file system needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(path: Path) -> None:
    """Write a file that takes all there is."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    for size in (65536, 1):
        with suppress(OSError):
            while True:
                os.write(descriptor, b"x" * size)
    os.close(descriptor)
