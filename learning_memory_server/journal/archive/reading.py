"""An archive from an untrusted source, a tar with limits: all of it is checked before use, and nothing is unpacked.

manifest.json             the checksum of every other file, and `sum`, its own
journal/...               files of the journal under the names that they have there
damaged/...               lines and open files that could not be read, byte for byte
"""

import gzip
import hashlib
import hmac
import json
import os
import re
import secrets
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import IO, Annotated, Final, Self, cast

import msgspec

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.codec import digest
from learning_memory_server.model.limits import MEMORY_MAX
from learning_memory_server.system import files, ownership
from learning_memory_server.version import JOURNAL_FORMAT

_MIB: Final = 1024**2

MEMBERS_MAX: Final = 20_000  # Files: two a month, one for each open entry, and some more, of a kilobyte of RAM each
HEADER_MAX: Final = 64 * 1024  # Bytes of a header. A name takes at most a few hundred.
MANIFEST_MAX: Final = 16 * _MIB  # Bytes. Each of the most files takes about 250.
OPEN_MAX: Final = 32 * _MIB  # Bytes of an open entry's file: thousands of notes of the greatest length
LINE_MAX: Final = 6 * MEMORY_MAX + 16 * _MIB  # The longest memory, written as six bytes per character, with the rest
LOG_FILE_MAX: Final = 2 * 1024**3  # Bytes of a log's file: a month of a million entries of two kilobytes
TOTAL_MAX: Final = 8 * 1024**3  # Bytes of everything
RATIO_MAX: Final = 100  # Bytes that one compressed byte may become: journals stay below 30, zeros reach 1,000
_ALWAYS: Final = _MIB  # Bytes that any archive may become: hundreds of similar lines can exceed the ratio without harm


def most_bytes(compressed: int) -> int:
    """Return how long a compressed archive of this length may become."""
    return min(TOTAL_MAX, max(_ALWAYS, RATIO_MAX * compressed))


class Bounded:
    """A decompressed file that refuses to read more in one call, or beyond `furthest`, than an archive can have."""

    def __init__(self, file: IO[bytes], furthest: int) -> None:
        self._file = file
        self._furthest = furthest
        self.at_once = HEADER_MAX  # The most bytes that one call may read

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

    def _check(self, offset: int) -> None:
        if offset > self._furthest:
            raise InvalidInputError(
                f"The archive is refused: it is larger than {TOTAL_MAX:,} bytes, or more than {RATIO_MAX} times its "
                "compressed size.",
                hint="If you trust it, decompress it with gunzip, and use the .tar file.",
            )


ARCHIVE_VERSION: Final = 1  # Raise it when an older program could misread an archive; newer ones are refused

MANIFEST: Final = "manifest.json"
JOURNAL: Final = "journal/"
DAMAGED: Final = "damaged/"
OPEN: Final = "open/"

OTHER_COPY: Final = "Use another copy; nothing was changed."

_KEY_BYTES: Final = 32

Count = Annotated[int, msgspec.Meta(ge=0)]

# What a file of an archive may be called.
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
    """The content of an archive, and the program that wrote it."""

    created_at: datetime  # when the journal was read
    program: str
    journal_format: Count
    project: str | None  # the only project in it, or None for all projects
    files: dict[str, Member]  # every other file of the archive, by name
    mark: str = ""  # an HMAC with the key of the store that made it; empty if that had none

    def marked(self, key: bytes) -> Self:
        """Return it with the mark of the store that has this key. `files` has the digest of everything else."""
        return replace(self, mark=hmac.digest(key, replace(self, mark="").to_json(), "sha256").hex() if key else "")

    def is_marked(self, key: bytes) -> bool:
        """Return whether the store that has this key made the archive."""
        return bool(key) and hmac.compare_digest(self.mark, self.marked(key).mark)

    @property
    def damaged_lines(self) -> int:
        """The number of damaged lines that were kept apart when it was written."""
        return sum(said.lines for name, said in self.files.items() if name.startswith(DAMAGED))

    def to_json(self) -> bytes:
        """Return the file's content."""
        content = {"format": ARCHIVE_VERSION, **asdict(self), "created_at": self.created_at.isoformat()}
        if not self.mark:
            del content["mark"]
        return json.dumps({**content, "sum": digest(content)}, ensure_ascii=False, indent=1).encode() + b"\n"

    @classmethod
    def from_json(cls, text: bytes) -> Self:
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


def store_key(file: Path, *, make: bool = True) -> bytes:
    """Return the key that marks the archives of a store, which is made once; empty if there is none."""
    with suppress(OSError):
        if make and not file.exists() and ownership.is_mine(file.parent):
            files.create(file, secrets.token_bytes(_KEY_BYTES))
        return file.read_bytes()
    return b""


_GZIP: Final = b"\x1f\x8b"
_TAR: Final = (257, b"ustar")  # The offset and the bytes that identify a tar
_CHUNK: Final = 64 * 1024


@dataclass(frozen=True)
class Archive:
    """A verified archive, open for reading."""

    _tar: tarfile.TarFile
    _members: dict[str, tarfile.TarInfo]
    manifest: Manifest

    def files(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield the name and the lines of every file but the manifest."""
        # In their order in the file: going back means decompressing it again.
        for name, member in self._members.items():
            if name != MANIFEST:
                yield name, iter(cast("IO[bytes]", self._tar.extractfile(member)))


def is_archive(path: Path) -> bool:
    """Return whether a file looks like an archive, by its content."""
    start, sign = _TAR
    with path.open("rb") as file:
        head = file.read(start + len(sign))
    return head.startswith(_GZIP) or head[start:] == sign


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Verify all of an archive, and open it for reading; refuse what this program would not have written."""
    with path.open("rb") as file, _opened(file) as archive:
        yield archive


@contextmanager
def _opened(file: IO[bytes]) -> Iterator[Archive]:
    is_compressed = file.read(len(_GZIP)) == _GZIP
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    source = cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if is_compressed else file
    try:
        bounded = Bounded(source, most_bytes(size) if is_compressed else TOTAL_MAX)
        with tarfile.TarFile(fileobj=cast("IO[bytes]", bounded)) as tar:
            members = _members(tar)
            bounded.at_once = max(MANIFEST_MAX, OPEN_MAX)
            archive = _verified(tar, members)
            while bounded.read(HEADER_MAX):
                pass  # A compressed file ends with a checksum, which is verified then
            yield archive
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, UnicodeError, RecursionError) as error:
        raise InvalidInputError(f"The archive cannot be read ({error}).", hint="It may be truncated.") from None


def _verified(tar: tarfile.TarFile, members: dict[str, tarfile.TarInfo]) -> Archive:
    if MANIFEST not in members:
        raise InvalidInputError(f"This tar has no {MANIFEST}, so it is not an archive of a journal.")
    manifest = Manifest.from_json(cast("IO[bytes]", tar.extractfile(members[MANIFEST])).read())
    if manifest.journal_format > JOURNAL_FORMAT:
        raise InvalidInputError(
            f"The archive holds a journal of format {manifest.journal_format}; this program reads up to "
            f"{JOURNAL_FORMAT}.",
            hint="Update learning-memory-server; nothing was changed.",
        )
    for name in manifest.files:
        if not _NAME.fullmatch(name):
            raise InvalidInputError(f"The archive is refused: {name!r} is not the name of a journal file.")
    if odd := sorted((members.keys() - {MANIFEST}) ^ manifest.files.keys()):
        raise InvalidInputError(
            f"The archive is damaged: its {MANIFEST} and its content disagree about {odd[0]!r}.", hint=OTHER_COPY
        )
    for name in (each for each in members if each in manifest.files):
        about = manifest.files[name]
        if members[name].size != about.bytes or _digest(tar, members[name]) != about.sha256:
            raise InvalidInputError(f"The archive is damaged: the checksum of {name} does not match.", hint=OTHER_COPY)
    return Archive(tar, members, manifest)


def _members(tar: tarfile.TarFile) -> dict[str, tarfile.TarInfo]:
    """Return the members by name. Each header is checked before the next is read."""
    members: dict[str, tarfile.TarInfo] = {}
    total = 0
    for member in tar:
        total += member.size
        reason = None
        if not member.isreg() or member.issparse():
            reason = "is not a plain file"
        elif member.name != MANIFEST and not _NAME.fullmatch(member.name):
            reason = "is not the name of a journal file"
        elif member.name in members:
            reason = "occurs twice"
        elif member.size > _most_bytes_of(member.name):
            reason = "is too large"
        elif total > TOTAL_MAX or len(members) >= MEMBERS_MAX:
            reason = "exceeds the limits of an archive"
        if reason:
            raise InvalidInputError(f"The archive is refused: {member.name!r} {reason}.")
        members[member.name] = member
    return members


def _most_bytes_of(name: str) -> int:
    if name == MANIFEST:
        return MANIFEST_MAX
    return OPEN_MAX if name.endswith(".json") else LOG_FILE_MAX


def _digest(tar: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    """Return the checksum of a member. It is read in pieces, so that no line is in memory that is too long."""
    digest, length = hashlib.sha256(), 0
    content = cast("IO[bytes]", tar.extractfile(member))
    while chunk := content.read(_CHUNK):
        digest.update(chunk)
        first, *others = map(len, chunk.split(b"\n"))
        if max(length + first, *others, 0) > LINE_MAX:
            raise InvalidInputError(
                f"The archive is refused: {member.name} has a line of more than {LINE_MAX:,} bytes."
            )
        length = others[-1] if others else length + first
    return digest.hexdigest()
