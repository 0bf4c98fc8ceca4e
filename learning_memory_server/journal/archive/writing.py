"""The bytes of an archive: complete under its name, or not there at all."""

import hashlib
import io
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Final

from learning_memory_server.errors import AlreadyRunningError, InvalidInputError
from learning_memory_server.journal.archive.bounds import most_bytes
from learning_memory_server.journal.archive.manifest import MANIFEST, Manifest, Member
from learning_memory_server.journal.archive.reading import verify
from learning_memory_server.journal.archive.snapshot import Snapshot
from learning_memory_server.system import files
from learning_memory_server.system.locking import try_lock
from learning_memory_server.version import JOURNAL_FORMAT, VERSION

COMPRESSED: Final = (".tar.gz", ".tgz")
PLAIN: Final = (".tar",)
UNFINISHED: Final = ".tmp"
"""The suffix of an archive that is not complete yet; its name begins with a dot."""


def write_archive(
    path: Path, snapshot: Snapshot, at: datetime, *, project: str | None = None, replace: bool = False
) -> Manifest:
    """Write an archive, read it back, and only then give it its name, whose suffix says whether it is compressed.

    `at` is when the content was read. Raises `InvalidInputError` if the suffix is unknown, the file exists, or it
    cannot be written, and `AlreadyRunningError` if another process is writing the same file.
    """
    if not path.name.endswith(COMPRESSED + PLAIN):
        raise InvalidInputError(f"{path}: must end with {' or '.join(COMPRESSED + PLAIN)}.")
    manifest = Manifest(
        at,
        VERSION,
        JOURNAL_FORMAT,
        project,
        {
            name: Member(
                hashlib.sha256(piece.content).hexdigest(),
                len(piece.content),
                piece.lines,
                dict(piece.records),
                piece.tombstones,
            )
            for name, piece in sorted(snapshot.pieces.items())
        },
    )
    try:
        _refuse_existing(path, replace=replace)
        with _unfinished(path) as file:
            _write(file, manifest, snapshot, compressed=path.name.endswith(COMPRESSED))
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
    """Remove unfinished archives from the folder if the processes that wrote them have ended."""
    for path in folder.glob(f".{pattern}{UNFINISHED}"):
        with suppress(OSError), path.open("r+b") as file:
            if try_lock(file.fileno()):
                path.unlink(missing_ok=True)


def _refuse_existing(path: Path, *, replace: bool) -> None:
    if path.is_symlink() or (path.exists() and not (replace and path.is_file())):
        raise InvalidInputError(
            f"{path} already exists.", hint="Choose another name, or replace the file with --force."
        )


@contextmanager
def _unfinished(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that only this process writes, and remove it at the end unless it has been renamed."""
    temporary = _unfinished_name(path)
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | files.PLAIN | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with open(descriptor, "r+b") as file:  # noqa: PTH123 - of a descriptor
        # A writer that has just finished may have released the lock: then this is the finished file.
        if not try_lock(descriptor) or not files.is_at(temporary, descriptor):
            raise AlreadyRunningError(f"Another process is writing {path}.")
        try:
            os.ftruncate(descriptor, 0)
            yield file
        finally:
            if files.is_at(temporary, descriptor):
                temporary.unlink()


def _write(file: IO[bytes], manifest: Manifest, snapshot: Snapshot, *, compressed: bool) -> None:
    members: dict[str, bytes | bytearray] = {
        MANIFEST: manifest.to_json(),
        **{name: snapshot.pieces[name].content for name in manifest.files},
    }
    at = int(manifest.created_at.timestamp())
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) if compressed else _plain(file) as tar:
        length = _add(tar, members, at)
    if compressed and length > most_bytes(file.tell()):
        # Texts that repeat themselves thousands of times: the reader takes a high ratio for an attack.
        file.seek(0)
        file.truncate()
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=0) as tar:
            _add(tar, members, at)
    file.flush()


def _plain(file: IO[bytes]) -> tarfile.TarFile:
    return tarfile.open(fileobj=file, mode="w")


def _add(tar: tarfile.TarFile, members: dict[str, bytes | bytearray], at: int) -> int:
    """Add the members, all of the same time, and return how long the tar is at most, with the padding at its end."""
    for name, content in members.items():
        about = tarfile.TarInfo(name)
        about.size, about.mode, about.mtime = len(content), 0o600, at
        tar.addfile(about, io.BytesIO(content))
    return tar.offset + 2 * tarfile.RECORDSIZE


def _unfinished_name(path: Path) -> Path:
    return path.with_name(f".{path.name}{UNFINISHED}")
