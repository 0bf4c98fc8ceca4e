"""The journal's format, and what is refused because it is in another one.

Every line and every open file names the format that it was written in. Nothing of another format is changed.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeGuard

from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.version import JOURNAL_FORMAT

UNNAMED: Final = 1
"""The format of an open file that names none, as the first programs wrote them."""
LAST_READER: Final = "learning-memory-server 0.2.0"
"""The last version that reads formats 1 to 3, and archives with a file SHA256SUMS."""
HOW_TO_CONVERT: Final = (
    f"Install {LAST_READER}, and run `learning-memory-server convert PATH` with it, or without a path for the journal "
    "and its backups; then update again. Nothing was changed."
)


def refuse_newer(version: int) -> None:
    """Refuse a format that this program does not know."""
    if version > JOURNAL_FORMAT:
        raise JournalUnavailableError(
            f"The journal has entries of format {version}; this program reads up to {JOURNAL_FORMAT}.",
            hint="Update learning-memory-server; nothing was changed.",
        )


def refuse_earlier(version: int) -> None:
    """Refuse a format that this program does not read any more."""
    if version < JOURNAL_FORMAT:
        raise JournalUnavailableError(
            f"This journal or archive has entries of format {version}; {LAST_READER} is the last version that reads "
            "them.",
            hint=HOW_TO_CONVERT,
        )


TOMBSTONE: Final[Mapping[str, Any]] = {"forgotten": True}
"""The data of a line that marks its id as forgotten, whatever other lines say about it."""


_VERSION: Final = re.compile(rb',"v":(\d{1,9})\}\n')
"""The end of a line: keys are sorted, so the version comes last."""


def versions_of(lines: bytes) -> Iterator[int]:
    """Yield the version of each line, from its end alone."""
    for match in _VERSION.finditer(lines):
        yield int(match[1])


def is_tombstone(data: object) -> bool:
    """Return whether this is a tombstone's data."""
    return isinstance(data, dict) and data.get("forgotten") is True


def is_version(version: object) -> TypeGuard[int]:
    """Return whether this can be a version. True is an int in Python; here it is not a version."""
    return isinstance(version, int) and not isinstance(version, bool) and version >= 1
