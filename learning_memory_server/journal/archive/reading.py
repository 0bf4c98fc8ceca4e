"""An archive from an untrusted source: all of it is checked before any of it is used, and nothing is unpacked."""

import gzip
import hashlib
import os
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, cast

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.archive.bounds import (
    LINE_MAX,
    LOG_FILE_MAX,
    MANIFEST_MAX,
    MEMBERS_MAX,
    OPEN_MAX,
    TOTAL_MAX,
    Bounded,
    most_bytes,
)
from learning_memory_server.journal.archive.manifest import (
    JOURNAL,
    MANIFEST,
    OPEN,
    OTHER_COPY,
    Manifest,
    is_member_name,
)
from learning_memory_server.journal.formats import HOW_TO_CONVERT, LAST_READER
from learning_memory_server.version import JOURNAL_FORMAT

_GZIP: Final = b"\x1f\x8b"
_TAR: Final = (257, b"ustar")
"""The offset and the bytes that identify a tar."""
_SUMS: Final = "SHA256SUMS"
"""In archives of the first layout."""
_CHUNK: Final = 64 * 1024


class Archive:
    """A verified archive, open for reading."""

    def __init__(self, tar: tarfile.TarFile, members: dict[str, tarfile.TarInfo], manifest: Manifest) -> None:
        self._tar = tar
        self._members = members
        self.manifest = manifest

    def segments(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield the name of each log file, relative to the journal folder, and its lines."""
        # In their order in the file: going back means decompressing it again.
        for name in self._members:
            if name.startswith(JOURNAL) and not name.startswith(JOURNAL + OPEN):
                yield name.removeprefix(JOURNAL), iter(self._file(name))

    def open_files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the name and the content of each open entry's file."""
        for name in self._members:
            if name.startswith(JOURNAL + OPEN):
                yield name.removeprefix(JOURNAL), self._file(name).read()

    def files(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield the name and the lines of every file but the manifest."""
        for name in self._members:
            if name != MANIFEST:
                yield name, iter(self._file(name))

    def _file(self, name: str) -> IO[bytes]:
        return cast("IO[bytes]", self._tar.extractfile(self._members[name]))


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


def verify(file: IO[bytes]) -> Manifest:
    """Verify the archive in a file and return its manifest; see `open_archive`."""
    with _opened(file) as archive:
        return archive.manifest


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
            bounded.read_to_the_end()
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
        if not is_member_name(name):
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
        if member.name == _SUMS:
            raise InvalidInputError(
                f"This archive has a file {_SUMS}; {LAST_READER} is the last version that reads this layout.",
                hint=HOW_TO_CONVERT,
            )
        total += member.size
        reason = None
        if not member.isreg() or member.issparse():
            reason = "is not a plain file"
        elif member.name != MANIFEST and not is_member_name(member.name):
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
