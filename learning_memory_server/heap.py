"""Memory that was used for a moment, and memory that stays in use."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress
from pathlib import Path

_MADV_DONTNEED = 4
"""Of a shared mapping this drops nothing but the claim: the file has the content, and a later access reads it."""


def let_go(folder: Path) -> None:
    """Stop claiming the memory of mapped files below `folder`, on Linux; they are read again if they are needed.

    The embedded engine reads its log of writes once, at opening, and maps it for as long as it is open: 97 MB with
    10,000 experiences. What is written later stays mapped in the same way.
    """
    with suppress(AttributeError, OSError):
        libc, folder = ctypes.CDLL(None), folder.resolve()
        for line in Path("/proc/self/maps").read_text("utf-8").splitlines():
            addresses, permissions, _, _, _, *path = line.split(maxsplit=5)
            if "s" in permissions and path and Path(path[0]).is_relative_to(folder):
                start, end = (int(address, 16) for address in addresses.split("-"))
                libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _MADV_DONTNEED)


def give_back() -> None:
    """Return freed memory to the system; glibc alone keeps what lies between things that are still used.

    With 10,000 experiences it kept 30 MB after a clustering. This takes a few milliseconds.
    """
    # Other systems' libraries have no such function, and less of the need.
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def keep() -> None:
    """Exempt all objects that there are now from the search for garbage.

    It is for when what stays for the life of the process has been read. With 10,000 experiences a search through all
    of it stops everything for 40 ms.
    """
    gc.freeze()
