"""What a long-lived process has in RAM: what to release, and what to read before it is needed."""

import ctypes
import gc
import os
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MADV_DONTNEED = 4
"""Drops a shared mapping's pages from this process. The file keeps the content, and a later access reads it again."""
_MADV_POPULATE_READ = 22
"""Reads all pages of a mapping at once. Linux before 5.14 does not know it, and does nothing."""


@contextmanager
def without_collections() -> Iterator[None]:
    """Make objects that stay, with no garbage collection meanwhile or over them later.

    Python looks at all objects again whenever their number has grown by a quarter. That doubled the time of reading a
    journal; and with 100,000 experiences, each such look stopped everything for half a second.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def release_mapped(folder: Path) -> None:
    """Drop the pages of mapped files below `folder` from RAM, on Linux. They are read again if needed.

    The embedded engine reads its write-ahead log once, on opening, and keeps it mapped while it is open. What it writes
    later stays mapped as well. With four collections of 10,000 points, this leaves 124 MB resident after opening
    instead of 234, and 101 after writing instead of 287.
    """
    _advise(folder, _MADV_DONTNEED, {"r--s", "rw-s"})


def read_mapped(folder: Path) -> None:
    """Read mapped files below `folder` into RAM, on Linux, so that their first use need not wait. Call it in a thread.

    An engine's first exact search of 100,000 vectors took 107 ms, in 40,000 page faults; after this, 11. Files that it
    maps twice, to write as well, are read once.
    """
    _advise(folder, _MADV_POPULATE_READ, {"r--s"})


def _advise(folder: Path, advice: int, kinds: Container[str]) -> None:
    """Advise the system on the shared mappings of these permissions of the files below a folder."""
    with suppress(AttributeError, OSError):
        libc, inside = ctypes.CDLL(None), f"{folder.resolve()}{os.sep}"
        # A busy process has a thousand mappings: only those of the folder are worth more than a look.
        for line in filter(lambda line: inside in line, Path("/proc/self/maps").read_text("utf-8").splitlines()):
            addresses, permissions, _, _, _, path = line.split(maxsplit=5)
            if permissions in kinds and path.startswith(inside):
                start, end = (int(address, 16) for address in addresses.split("-"))
                libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), advice)


def trim_heap() -> None:
    """Return freed pages to the system: glibc keeps those between blocks that are still in use.

    With 10,000 experiences it kept 30 MB after a fit. This takes a few milliseconds.
    """
    # Other systems' libraries have no such function, and less need of one.
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
