"""An archive on the disk: whole under its name, or not there."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Final

from learning_memory_server.archive.manifest import MANIFEST, SUMS, Manifest, Member
from learning_memory_server.archive.reading import verify
from learning_memory_server.errors import AlreadyRunningError, InvalidInputError
from learning_memory_server.journal import files
from learning_memory_server.journal.formats import CURRENT
from learning_memory_server.journal.lock import try_lock
from learning_memory_server.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from learning_memory_server.archive.snapshot import Snapshot

COMPRESSED: Final = (".tar.gz", ".tgz")
PLAIN: Final = (".tar",)
UNFINISHED: Final = ".tmp"
"""The end of the name that an archive has until it is whole; a dot is at its beginning."""
_LEVEL: Final = 6


def write_archive(
    path: Path, snapshot: Snapshot, at: datetime, *, project: str | None = None, replace: bool = False
) -> Manifest:
    """Write an archive, read it back, and only then give it its name.

    Args:
        path: Its place. The ending says whether it is compressed.
        snapshot: What goes into it.
        at: When that was read.
        project: The one project that it is about.
        replace: Whether it may take the place of a file that is there.

    Raises:
        InvalidInputError: If the name has another ending, is taken, or cannot be written to.
        AlreadyRunningError: If another process is writing this very file.
    """
    if not path.name.endswith(COMPRESSED + PLAIN):
        raise InvalidInputError(f"{path}: must end with {' or '.join(COMPRESSED + PLAIN)}.")
    manifest = Manifest(
        at,
        VERSION,
        CURRENT.version,
        project,
        {
            name: Member(
                _digest(piece.content), len(piece.content), piece.lines, dict(piece.records), piece.tombstones
            )
            for name, piece in sorted(snapshot.pieces.items())
        },
    )
    try:
        _refuse_existing(path, replace=replace)
        with _unfinished(path) as file:
            _write(file, manifest, snapshot, compressed=path.name.endswith(COMPRESSED))
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            verify(file)
            _refuse_existing(path, replace=replace)
            _unfinished_name(path).replace(path)
            files.sync_directory(path.parent)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be written: {error.strerror or error}.") from None
    return manifest


def remove_unfinished(folder: Path, pattern: str) -> None:
    """Remove what was left of archives in the folder whose writers died."""
    for path in folder.glob(f".{pattern}{UNFINISHED}"):
        with suppress(OSError), path.open("r+b") as file:
            if try_lock(file.fileno()):
                path.unlink(missing_ok=True)


def _refuse_existing(path: Path, *, replace: bool) -> None:
    if path.is_symlink() or (path.exists() and not (replace and path.is_file())):
        raise InvalidInputError(
            f"{path} exists already.",
            hint="Choose another name, or replace the file with --force.",
        )


@contextmanager
def _unfinished(path: Path) -> Iterator[IO[bytes]]:
    """Give a file that only this process writes, and remove it at the end unless it has its name by then."""
    temporary = _unfinished_name(path)
    descriptor = os.open(
        temporary, os.O_RDWR | os.O_CREAT | files.PLAIN | getattr(os, "O_NOFOLLOW", 0), 0o600
    )
    with open(descriptor, "r+b") as file:  # noqa: PTH123 - of a descriptor
        # Who was given the lock by a writer that has just finished holds the finished file.
        if not try_lock(descriptor) or not files.is_at(temporary, descriptor):
            raise AlreadyRunningError(f"Another process is writing {path}.")
        try:
            os.ftruncate(descriptor, 0)
            yield file
        finally:
            if files.is_at(temporary, descriptor):
                temporary.unlink()


def _write(file: IO[bytes], manifest: Manifest, snapshot: Snapshot, *, compressed: bool) -> None:
    said = manifest.to_json()
    sums = "".join(f"{member.sha256}  {name}\n" for name, member in manifest.files.items())
    members: dict[str, bytes | bytearray] = {
        MANIFEST: said,
        SUMS: f"{_digest(said)}  {MANIFEST}\n{sums}".encode(),
        **{name: snapshot.pieces[name].content for name in manifest.files},
    }
    with (
        tarfile.open(fileobj=file, mode="w:gz", compresslevel=_LEVEL)
        if compressed
        else tarfile.open(fileobj=file, mode="w")
    ) as tar:
        for name, content in members.items():
            about = tarfile.TarInfo(name)
            about.size, about.mode, about.mtime = len(content), 0o600, int(manifest.created_at.timestamp())
            tar.addfile(about, io.BytesIO(content))


def _unfinished_name(path: Path) -> Path:
    return path.with_name(f".{path.name}{UNFINISHED}")


def _digest(content: bytes | bytearray) -> str:
    return hashlib.sha256(content).hexdigest()
