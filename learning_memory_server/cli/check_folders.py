"""Checks of the folders: there, ours, private, and with room."""

from __future__ import annotations

import os
import shutil
import stat
from typing import TYPE_CHECKING, Final

from learning_memory_server.cli.finding import green, red, yellow
from learning_memory_server.cli.terminal import counted, megabytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from learning_memory_server.cli.finding import Finding, Repair
    from learning_memory_server.server.config import Settings

_COMFORTABLE: Final = 1024 * 1024 * 1024
"""Bytes."""
_MADE_ANEW: Final = "(or remove it, while nothing runs: the index is made anew from the journal)."
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def check_folders(settings: Settings) -> Iterator[Finding]:
    """Look at the storage folder, the journal's and the index's."""
    places = [
        ("storage", settings.storage_path, _check_folder),
        ("journal", settings.journal_directory, _check_folder),
    ]
    if settings.qdrant_url is None:
        places.append(("index", settings.index_directory, _check_index))
    for topic, folder, check in places:
        try:
            yield from check(topic, folder)
        except OSError as error:
            yield red(topic, f"{folder} cannot be examined ({error.strerror}); check its permissions.")
    try:
        yield _check_space(settings.storage_path)
    except OSError as error:
        yield red("disk", f"The free space cannot be read ({error.strerror}).")


def _check_folder(topic: str, folder: Path) -> Iterator[Finding]:
    if folder.is_symlink() and not folder.exists():
        yield red(topic, f"{folder} is a link to nowhere; make what it points to, or remove it.")
        return
    if not folder.exists():
        base = _nearest(folder)
        if base.is_dir() and os.access(base, os.W_OK | os.X_OK):
            yield green(topic, f"{folder} is created at the first start.")
        else:
            yield red(
                topic, f"{folder} cannot be created: {base} is not a folder that this user may write to."
            )
        return
    if not folder.is_dir():
        yield red(topic, f"{folder} is a file; move it away, or set another path.")
        return
    if not _is_usable(folder):
        yield red(topic, f"{folder} is not readable and writable; chmod u+rwx it, or set another path.")
        return
    found = folder.stat()
    if hasattr(os, "getuid") and found.st_uid != os.getuid():
        yield yellow(topic, f"{folder} belongs to another user (uid {found.st_uid}).")
    if found.st_mode & _OTHERS:
        mode = f"{stat.S_IMODE(found.st_mode):04o}"
        yield yellow(
            topic,
            f"{folder} is open to other users ({mode}); run: chmod 700 '{folder}'",
            _closing(folder),
        )
    elif exposed := _exposed(folder):
        yield yellow(
            topic,
            f"{counted(len(exposed), 'file')} in {folder} can be read by other users; "
            f"run: chmod -R go-rwx '{folder}'",
            _closing(folder),
        )
    else:
        yield green(topic, f"{folder} is writable and private.")


def _check_index(topic: str, folder: Path) -> Iterator[Finding]:
    """Look for what keeps the engine from its files; how private they are follows from the storage folder."""
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        yield red(topic, f"{folder} is no folder; move it away {_MADE_ANEW}")
        return
    inside = [path for path in folder.iterdir() if path.is_dir()] if _is_usable(folder) else []
    for path in [path for path in (folder, *inside) if not _is_usable(path)][:1]:
        yield red(topic, f"{path} is not readable and writable; run: chmod -R u+rwX '{folder}' {_MADE_ANEW}")


def _is_usable(folder: Path) -> bool:
    return os.access(folder, os.R_OK | os.W_OK | os.X_OK)


def _exposed(folder: Path) -> list[Path]:
    """Return the journal and lock files that others may read; the engine's own follow their folder."""
    files = [path for pattern in ("*.jsonl*", "*/*.json*", ".lock") for path in folder.glob(pattern)]
    return [path for path in files if path.stat().st_mode & _OTHERS]


def _closing(folder: Path) -> Repair:
    async def close() -> str:
        for path in (folder, *_exposed(folder)):
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_OTHERS)
        return f"{folder} is private now."

    return close


def _check_space(folder: Path) -> Finding:
    from learning_memory_server.storage.edge import MIN_FREE_BYTES  # noqa: PLC0415 - numpy

    free = shutil.disk_usage(_nearest(folder)).free
    if free < MIN_FREE_BYTES:
        return red(
            "disk", f"{megabytes(free)} are free, {megabytes(MIN_FREE_BYTES)} are needed; free some space."
        )
    if free < _COMFORTABLE:
        return yellow("disk", f"Only {megabytes(free)} are free; think of freeing some space.")
    return green("disk", f"{megabytes(free)} are free.")


def _nearest(path: Path) -> Path:
    """Return the path, or the nearest of its parents that exists."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return path
