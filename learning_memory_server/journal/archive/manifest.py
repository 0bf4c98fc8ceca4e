"""What an archive says about itself.

An archive is a tar, plain or compressed:

    manifest.json             this: the checksum of every other file, and `sum`, its own, made as the journal's lines
                              make theirs
    journal/...               files of the journal under the names that they have there
    damaged/...               lines and open files that could not be read, byte for byte, for a person to look at
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Final

import msgspec

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.line import digest

ARCHIVE_VERSION: Final = 1
"""Raise it when a program that knows only this version could misread an archive, and still read this one. Archives of a
newer version are refused."""

MANIFEST: Final = "manifest.json"
JOURNAL: Final = "journal/"
DAMAGED: Final = "damaged/"
OPEN: Final = "open/"

OTHER_COPY: Final = "Use another copy; nothing was changed."

Count = Annotated[int, msgspec.Meta(ge=0)]

_PART: Final = r"(?!\.)[^/\\\x00-\x1f\x7f]{1,200}"
_NAME: Final = re.compile(rf"(?:{JOURNAL}|{DAMAGED})(?:{OPEN}{_PART}\.json|(?:{_PART}/)?{_PART}\.jsonl)")


@dataclass(frozen=True, slots=True)
class Member:
    """One file of an archive, with the number of records of each kind, and of lines that something is forgotten."""

    sha256: str
    bytes: Count
    lines: Count
    records: dict[str, Count]
    tombstones: Count


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is in an archive, and which program wrote it."""

    created_at: datetime  # when the journal was read
    program: str
    journal_format: Count
    project: str | None  # the only project in it, or None for all projects
    files: dict[str, Member]  # every other file of the archive, by name

    @property
    def damaged_lines(self) -> int:
        """How many damaged lines were set aside when it was written."""
        return sum(said.lines for name, said in self.files.items() if name.startswith(DAMAGED))

    def to_json(self) -> bytes:
        """Return the file's content."""
        content = {"format": ARCHIVE_VERSION, **asdict(self), "created_at": self.created_at.isoformat()}
        return json.dumps({**content, "sum": digest(content)}, ensure_ascii=False, indent=1).encode() + b"\n"

    @classmethod
    def from_json(cls, text: bytes) -> Manifest:
        """Return the manifest in a text."""
        try:
            content = json.loads(text)
            version = msgspec.convert(content["format"], int)
            if version > ARCHIVE_VERSION:
                raise InvalidInputError(
                    f"The archive has format {version}; this program reads up to {ARCHIVE_VERSION}.",
                    hint="Update learning-memory-server; nothing was changed.",
                )
            if content.pop("sum", None) != digest(content):
                raise InvalidInputError(
                    f"The archive is damaged: the checksum of {MANIFEST} does not match.", hint=OTHER_COPY
                )
            return msgspec.convert(content, cls)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise InvalidInputError(f"The archive's {MANIFEST} cannot be read ({error}).") from None


def is_member_name(name: str) -> bool:
    """Return whether a file of an archive may have this name."""
    return _NAME.fullmatch(name) is not None
