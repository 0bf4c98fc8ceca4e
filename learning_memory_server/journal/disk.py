"""How much room a folder takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_BLOCK: Final = 512
"""Bytes: the unit of st_blocks, whatever the file system's own."""


def disk_use(folder: Path) -> int:
    """Return the bytes that a folder's files take on the disk; what disappears meanwhile does not count.

    Files of the engine have holes, so their lengths say too much.
    """
    total = 0
    for path in folder.rglob("*") if folder.is_dir() else ():
        try:
            found = path.stat()
        except OSError:
            continue
        # Windows knows no blocks.
        total += found.st_blocks * _BLOCK if hasattr(found, "st_blocks") else found.st_size
    return total
