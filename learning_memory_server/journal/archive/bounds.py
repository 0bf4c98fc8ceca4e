"""How much an archive may hold. Anything beyond is refused before it is in memory, whatever its headers claim."""

from typing import IO, Final

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model.limits import MEMORY_MAX

_MIB: Final = 1024**2

MEMBERS_MAX: Final = 20_000
"""Files: two a month, a few more, and one for each open entry. Each takes about a kilobyte of memory."""
HEADER_MAX: Final = 64 * 1024
"""Bytes of a header. A name takes at most a few hundred."""
MANIFEST_MAX: Final = 16 * _MIB
"""Bytes. Each of the most files takes about 250."""
OPEN_MAX: Final = 32 * _MIB
"""Bytes of an open entry's file: thousands of notes of the greatest length."""
LINE_MAX: Final = 6 * MEMORY_MAX + 16 * _MIB
"""Bytes of a line: the longest memory, of characters that JSON writes as six, with its metadata and its chunks."""
LOG_FILE_MAX: Final = 2 * 1024**3
"""Bytes of a log's file: a month of a million entries of two kilobytes."""
TOTAL_MAX: Final = 8 * 1024**3
"""Bytes of everything."""
RATIO_MAX: Final = 100
"""How many bytes one compressed byte may become. Each line has a checksum of 64 digits that cannot be compressed to
less than 32 bytes, so that journals stay below 30; zeros would reach 1,000."""
_ALWAYS: Final = _MIB
"""Bytes that any archive may become: a few hundred lines that are alike can exceed the ratio, and do no harm."""


def most_bytes(compressed: int) -> int:
    """Return how long a compressed archive of this length may become."""
    return min(TOTAL_MAX, max(_ALWAYS, RATIO_MAX * compressed))


class Bounded:
    """A decompressed file that refuses to read more at once, or beyond `furthest`, than an archive can have."""

    def __init__(self, file: IO[bytes], furthest: int) -> None:
        self._file = file
        self._furthest = furthest
        self.at_once = HEADER_MAX
        """The most bytes that one call may read."""

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes; refuse what is too much, or too far."""
        if not 0 <= size <= self.at_once:
            raise InvalidInputError("The archive is refused: a header claims an enormous size.")
        data = self._file.read(size)
        self._check(self._file.tell())
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to an offset from the start; refuse what is too far before anything is decompressed."""
        self._check(offset)
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the offset from the start."""
        return self._file.tell()

    def read_to_the_end(self) -> None:
        """Read the rest: a compressed file ends with a checksum, which is verified then."""
        while self.read(HEADER_MAX):
            pass

    def _check(self, offset: int) -> None:
        if offset > self._furthest:
            raise InvalidInputError(
                f"The archive is refused: it is larger than {TOTAL_MAX:,} bytes, or more than {RATIO_MAX} times its "
                "compressed size.",
                hint="If you trust it, decompress it with gunzip, and use the .tar file.",
            )
