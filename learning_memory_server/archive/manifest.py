"""What an archive says about itself.

An archive is a tar, plain or compressed:

    manifest.json             this
    SHA256SUMS                of every other member, as `sha256sum -c` reads it
    journal/...               files of the journal under the names that they have there
    damaged/...               lines and open files that could not be read, byte for byte, to look at
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Final

from learning_memory_server.errors import InvalidInputError

FORMAT: Final = 1
"""Raised when a program that knows only the present form could misread an archive."""

MANIFEST: Final = "manifest.json"
SUMS: Final = "SHA256SUMS"
JOURNAL: Final = "journal/"
DAMAGED: Final = "damaged/"
OPEN: Final = "open/"

_PART: Final = r"(?!\.)[^/\\\x00-\x1f\x7f]{1,200}"
_NAME: Final = re.compile(rf"(?:{JOURNAL}|{DAMAGED})(?:{OPEN}{_PART}\.json|(?:{_PART}/)?{_PART}\.jsonl)")


@dataclass(frozen=True, slots=True)
class Member:
    """One file of an archive.

    Args:
        sha256: Of its bytes, in hexadecimal.
        bytes: Its length.
        lines: How many lines it has.
        records: How many records of each kind; tombstones are not among them.
        tombstones: How many lines say that something is forgotten.
    """

    sha256: str
    bytes: int
    lines: int
    records: dict[str, int] = field(default_factory=dict)
    tombstones: int = 0


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is in an archive, and what made it.

    Args:
        created_at: When the journal was read.
        program: The version of the program that made it.
        journal_format: The format of the newest line that may be in it.
        project: The one project that it is about, or None for all.
        files: Every member but the manifest and the checksums, by name.
    """

    created_at: datetime
    program: str
    journal_format: int
    project: str | None
    files: dict[str, Member]

    @property
    def damaged_lines(self) -> int:
        """How many lines were set aside when it was made."""
        return sum(said.lines for name, said in self.files.items() if name.startswith(DAMAGED))

    def to_json(self) -> bytes:
        """Return the text of the member."""
        content = {"format": FORMAT, **asdict(self), "created_at": self.created_at.isoformat()}
        return json.dumps(content, ensure_ascii=False, indent=1).encode() + b"\n"

    @classmethod
    def from_json(cls, text: bytes) -> Manifest:
        """Return what a member says.

        Raises:
            InvalidInputError: If it is of a newer format, or says nothing of the kind.
        """
        try:
            content = json.loads(text)
            form = _number(content.pop("format"))
            if form > FORMAT:
                raise InvalidInputError(
                    f"The archive has format {form}; this program reads up to {FORMAT}.",
                    hint="Update learning-memory-server; nothing was changed.",
                )
            files = {str(name): _member(said) for name, said in content["files"].items()}
            project = content["project"]
            return cls(
                created_at=datetime.fromisoformat(content["created_at"]),
                program=str(content["program"]),
                journal_format=_number(content["journal_format"]),
                project=None if project is None else str(project),
                files=files,
            )
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise InvalidInputError(f"The archive's {MANIFEST} cannot be read ({error}).") from None


def is_member_name(name: str) -> bool:
    """Tell whether a file of an archive may have this name."""
    return _NAME.fullmatch(name) is not None


def _member(said: dict[str, object]) -> Member:
    return Member(
        sha256=str(said["sha256"]),
        bytes=_number(said["bytes"]),
        lines=_number(said["lines"]),
        records={str(kind): _number(count) for kind, count in dict(said["records"]).items()},  # type: ignore[call-overload]
        tombstones=_number(said["tombstones"]),
    )


def _number(said: object) -> int:
    if not isinstance(said, int) or isinstance(said, bool) or said < 0:
        raise ValueError(f"{said!r} is no number of something")
    return said
