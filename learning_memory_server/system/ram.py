"""The RAM of a long-lived process: release it, or read it before it is needed."""

import ctypes
import gc
import os
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

_MADV_DONTNEED = 4  # Drops a shared mapping's pages from this process; a later access reads the file again
_MADV_POPULATE_READ = 22  # Reads all pages of a mapping at once. Linux before 5.14 does not know it, and does nothing.


_blocks = 0  # How many blocks are `without_collections` at the moment
_counting = Lock()


@contextmanager
def without_collections() -> Iterator[None]:
    """Make objects that stay, with garbage collection neither meanwhile nor over them later.

    Blocks may be inside of each other, and in several threads: the last one that ends turns collections on again.
    """
    global _blocks  # noqa: PLW0603 - collections are on or off for the whole process
    with _counting:
        _blocks += 1
        gc.disable()
    try:
        yield
    finally:
        with _counting:
            _blocks -= 1
            gc.freeze()
            if not _blocks:
                gc.enable()


def release_mapped(folder: Path) -> None:
    """Drop the pages of mapped files below `folder` from RAM, on Linux: the engine keeps its log mapped."""
    _advise(folder, _MADV_DONTNEED, {"r--s", "rw-s"})


def read_mapped(folder: Path) -> None:
    """Read mapped files below `folder` into RAM, on Linux, so that their first use is fast. Call it in a thread."""
    _advise(folder, _MADV_POPULATE_READ, {"r--s"})


def _advise(folder: Path, advice: int, kinds: Container[str]) -> None:
    """Advise the system on the shared mappings, with these permissions, of files below a folder."""
    with suppress(AttributeError, OSError):
        libc, inside = ctypes.CDLL(None), f"{folder.resolve()}{os.sep}"
        # A busy process has a thousand mappings: only those of the folder are worth more than a look.
        mapped = os.fsdecode(Path("/proc/self/maps").read_bytes()).splitlines()
        for line in filter(lambda line: inside in line, mapped):
            addresses, permissions, _, _, _, path = line.split(maxsplit=5)
            if permissions in kinds and path.startswith(inside):
                start, end = (int(address, 16) for address in addresses.split("-"))
                libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), advice)


def trim_heap() -> None:
    """Return freed pages to the system, which takes milliseconds: glibc keeps those between blocks in use."""
    # Other systems' libraries have no such function, and less need of one.
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
