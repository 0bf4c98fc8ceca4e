"""An archive from anywhere: nothing of it is believed before all of it was checked, and nothing is unpacked."""

from __future__ import annotations

import gzip
import hashlib
import tarfile
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Final, cast

from learning_memory_server.archive.manifest import (
    JOURNAL,
    MANIFEST,
    OPEN,
    SUMS,
    Manifest,
    is_member_name,
)
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.formats import CURRENT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_OTHER_COPY: Final = "Take another copy; nothing was changed."
_GZIP: Final = b"\x1f\x8b"
_TAR: Final = (257, b"ustar")
"""Where a tar says what it is, and how."""
_CHUNK: Final = 64 * 1024
_READ_MAX: Final = 32 * 1024 * 1024
"""Bytes that are read at once: more than any manifest has. The tar's own headers can claim any length."""
_MEMBER_MAX: Final = 2 * 1024**3
_TOTAL_MAX: Final = 8 * 1024**3
_MEMBERS_MAX: Final = 100_000


class Archive:
    """A verified archive, open for reading.

    Attributes:
        manifest: What it says about itself.
    """

    def __init__(self, tar: tarfile.TarFile, members: dict[str, tarfile.TarInfo], manifest: Manifest) -> None:
        self._tar = tar
        self._members = members
        self.manifest = manifest

    def segments(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield the name of each file of a log, without its folder in the archive, and its lines."""
        for name in self.manifest.files:
            if name.startswith(JOURNAL) and not name.startswith(JOURNAL + OPEN):
                yield name.removeprefix(JOURNAL), iter(self._file(name))

    def open_files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the name and the content of each open entry's file."""
        for name in self.manifest.files:
            if name.startswith(JOURNAL + OPEN):
                yield name.removeprefix(JOURNAL), self._file(name).read()

    def _file(self, name: str) -> IO[bytes]:
        return cast("IO[bytes]", self._tar.extractfile(self._members[name]))


def is_archive(path: Path) -> bool:
    """Tell whether a file looks like an archive, by its content."""
    start, sign = _TAR
    with path.open("rb") as file:
        head = file.read(start + len(sign))
    return head.startswith(_GZIP) or head[start:] == sign


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Verify an archive, all of it, and give it for reading.

    Raises:
        InvalidInputError: If it is damaged, newer than this program, or not what this program makes.
    """
    with path.open("rb") as file, _opened(file) as archive:
        yield archive


def verify(file: IO[bytes]) -> Manifest:
    """Verify the archive in a file and return its manifest; see `open_archive`."""
    with _opened(file) as archive:
        return archive.manifest


@contextmanager
def _opened(file: IO[bytes]) -> Iterator[Archive]:
    head = file.read(len(_GZIP))
    file.seek(0)
    source = cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if head == _GZIP else file
    try:
        bounded = _Bounded(source)
        with tarfile.TarFile(fileobj=cast("IO[bytes]", bounded)) as tar:
            archive = _verified(tar)
            bounded.read_to_the_end()
            yield archive
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, UnicodeError) as error:
        raise InvalidInputError(f"The archive cannot be read ({error}).", hint="It may be cut off.") from None


def _verified(tar: tarfile.TarFile) -> Archive:
    members = _members(tar)
    if not {MANIFEST, SUMS} <= members.keys():
        raise InvalidInputError(f"This tar has no {MANIFEST} and {SUMS}, so it is no archive of a journal.")
    said = _content(tar, members[MANIFEST])
    sums = dict(_sums(_content(tar, members[SUMS])))
    if sums.get(MANIFEST) != hashlib.sha256(said).hexdigest():
        raise InvalidInputError(
            f"The archive is damaged: the checksum of {MANIFEST} does not match.", hint=_OTHER_COPY
        )
    manifest = Manifest.from_json(said)
    if manifest.journal_format > CURRENT.version:
        raise InvalidInputError(
            f"The archive holds a journal of format {manifest.journal_format}; this program reads up to "
            f"{CURRENT.version}.",
            hint="Update learning-memory-server; nothing was changed.",
        )
    for name in manifest.files:
        if not is_member_name(name):
            raise InvalidInputError(f"The archive is refused: {name!r} is no name of a journal's file.")
    if odd := sorted((members.keys() - {MANIFEST, SUMS}) ^ manifest.files.keys()):
        raise InvalidInputError(
            f"The archive is damaged: its {MANIFEST} and its content disagree about {odd[0]!r}.",
            hint=_OTHER_COPY,
        )
    for name, about in manifest.files.items():
        if members[name].size != about.bytes or _digest(tar, members[name]) != about.sha256:
            raise InvalidInputError(
                f"The archive is damaged: the checksum of {name} does not match.", hint=_OTHER_COPY
            )
    return Archive(tar, members, manifest)


def _members(tar: tarfile.TarFile) -> dict[str, tarfile.TarInfo]:
    """Return the members by name, each judged by its header before the next is looked for."""
    members: dict[str, tarfile.TarInfo] = {}
    total = 0
    for member in tar:
        total += member.size
        reason = None
        if not member.isreg() or member.issparse():
            reason = "is no plain file"
        elif member.name not in {MANIFEST, SUMS} and not is_member_name(member.name):
            reason = "is no name of a journal's file"
        elif member.name in members:
            reason = "is in it twice"
        elif member.size > (_READ_MAX if member.name in {MANIFEST, SUMS} else _MEMBER_MAX):
            reason = "is too large"
        elif total > _TOTAL_MAX or len(members) >= _MEMBERS_MAX:
            reason = "is one too many"
        if reason:
            raise InvalidInputError(f"The archive is refused: {member.name!r} {reason}.")
        members[member.name] = member
    return members


def _sums(text: bytes) -> Iterator[tuple[str, str]]:
    for line in text.decode().splitlines():
        digest, _, name = line.partition("  ")
        yield name, digest


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    return cast("IO[bytes]", tar.extractfile(member)).read()


def _digest(tar: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    digest = hashlib.sha256()
    content = cast("IO[bytes]", tar.extractfile(member))
    while chunk := content.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


class _Bounded:
    """A file of which nobody reads more at once, or further, than an archive can have."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _READ_MAX:
            raise InvalidInputError("The archive is refused: a header claims to be enormous.")
        return self._file.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        if offset > _TOTAL_MAX:
            raise InvalidInputError("The archive is refused: it claims to be enormous.")
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read_to_the_end(self) -> None:
        """Read what is left: a compressed file has its own checksum there."""
        while self._file.read(_CHUNK):
            self.seek(self.tell())
