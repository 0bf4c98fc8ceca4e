"""Checks of the folders and the settings file: whether they are there, this user's, and private; and of free space."""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from learning_memory_server.cli.doctor import Finding, Repair, green, red, yellow
from learning_memory_server.cli.terminal import counted, readable_size
from learning_memory_server.server.settings import Settings
from learning_memory_server.system.paths import LOCK

_FREE_BYTES_WANTED: Final = 1024 * 1024 * 1024
"""Below this, the doctor warns. Below `MIN_FREE_BYTES`, the engine refuses to write."""
_REBUILT: Final = "(or remove it while nothing is running: the index is rebuilt from the journal)."
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def check_folders(settings: Settings) -> Iterator[Finding]:
    """Check the folders of storage, journal and index, and the free space."""
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
        yield check_space(shutil.disk_usage(_nearest(settings.storage_path)).free)
    except OSError as error:
        yield red("disk", f"The free space cannot be read ({error.strerror}).")


def _check_folder(topic: str, folder: Path) -> Iterator[Finding]:
    if folder.is_symlink() and not folder.exists():
        yield red(topic, f"{folder} is a broken link; create its target, or remove it.")
        return
    if not folder.exists():
        base = _nearest(folder)
        if base.is_dir() and os.access(base, os.W_OK | os.X_OK):
            yield green(topic, f"The first start creates {folder}.")
        else:
            yield red(
                topic, f"{folder} cannot be created: {base} is not a folder that this user may write to."
            )
        return
    if not folder.is_dir():
        yield red(topic, f"{folder} is a file, not a folder; move it away, or set another path.")
        return
    if not _is_usable(folder):
        yield red(
            topic,
            f"{folder} is not readable and writable; run: chmod u+rwx '{folder}' (or set another path).",
        )
        return
    found = folder.stat()
    if hasattr(os, "getuid") and found.st_uid != os.getuid():
        yield yellow(topic, f"{folder} belongs to another user (uid {found.st_uid}).")
    if found.st_mode & _OTHERS:
        mode = f"{stat.S_IMODE(found.st_mode):04o}"
        yield red(
            topic,
            f"{folder} is open to other users ({mode}); run: chmod 700 '{folder}'",
            _closing(folder),
        )
    elif parent := _replaceable_in(folder):
        yield red(
            topic,
            f"Any user can replace {folder}, because {parent} is writable by all; run: chmod o-w '{parent}'",
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
    """Check that the engine can use its files. The storage folder's permissions keep them private."""
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        yield red(topic, f"{folder} is not a folder; move it away {_REBUILT}")
        return
    inside = [path for path in folder.iterdir() if path.is_dir()] if _is_usable(folder) else []
    for path in [path for path in (folder, *inside) if not _is_usable(path)][:1]:
        yield red(topic, f"{path} is not readable and writable; run: chmod -R u+rwX '{folder}' {_REBUILT}")


def _is_usable(folder: Path) -> bool:
    return os.access(folder, os.R_OK | os.W_OK | os.X_OK)


def _exposed(folder: Path) -> list[Path]:
    """Return the journal and lock files that other users may read."""
    files = [path for pattern in ("*.jsonl*", "*/*.json*", LOCK) for path in folder.glob(pattern)]
    return [path for path in files if path.stat().st_mode & _OTHERS]


def _replaceable_in(folder: Path) -> Path | None:
    """Return a parent in which any user may rename what is there.

    A sticky folder, such as /tmp, protects its content.
    """
    for parent in folder.resolve().parents:
        mode = parent.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return parent
    return None


def _closing(folder: Path) -> Repair:
    def close() -> str:
        for path in (folder, *_exposed(folder)):
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_OTHERS)
        return f"{folder} is private now."

    return close


def check_space(free: int) -> Finding:
    """Judge the free space on the disk of the storage folder, in bytes."""
    from learning_memory_server.index.engines.edge import MIN_FREE_BYTES  # noqa: PLC0415 - numpy

    if free < MIN_FREE_BYTES:
        return red(
            "disk",
            f"{readable_size(free)} are free, but {readable_size(MIN_FREE_BYTES)} are needed; free some space.",
        )
    if free < _FREE_BYTES_WANTED:
        return yellow("disk", f"Only {readable_size(free)} are free; consider freeing some space.")
    return green("disk", f"{readable_size(free)} are free.")


def _nearest(path: Path) -> Path:
    """Return the path, or its nearest parent that exists."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return path
