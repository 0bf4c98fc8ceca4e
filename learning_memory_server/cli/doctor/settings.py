"""Check the conditions for a server's start: Python, settings, folders, project files, and redaction patterns."""

import os
import shutil
import stat
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from learning_memory_server.cli import out
from learning_memory_server.cli.command import Offline, left_out_here
from learning_memory_server.cli.doctor import Finding, Repair, about, green, info, red, yellow
from learning_memory_server.index.engines.base import MIN_FREE_BYTES
from learning_memory_server.model.caller import folder_of
from learning_memory_server.model.limits import PROJECTS_NAMED
from learning_memory_server.redaction.own import OwnPatterns, numbered_patterns
from learning_memory_server.server.claims import Claims, claims_of
from learning_memory_server.server.settings import Settings, is_secret
from learning_memory_server.system import paths
from learning_memory_server.system.ipc.socket_security import has_hubs
from learning_memory_server.system.paths import LOCK, config_file, settings_from_file
from learning_memory_server.system.steering import find_steering
from learning_memory_server.system.stores import describe_other, other_stores

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def check_python() -> Iterator[Finding]:
    """Report the Python version, and whether hubs are supported."""
    yield green(f"{'.'.join(map(str, sys.version_info[:3]))} on {sys.platform}.")
    if not has_hubs():
        yield yellow("This system has no hub: run learning-memory-server --direct, one session at a time.")


def check_settings_file() -> Iterator[Finding]:
    """Check that a settings file with a key or a password is readable by its owner only."""
    file = config_file()
    if not hasattr(os, "getuid") or not file.exists():
        return
    mode = file.stat().st_mode
    secrets = [name for name, value in settings_from_file().items() if is_secret(name, value)]

    if secrets and mode & _OTHERS:
        yield red(
            f"{file} holds {', '.join(secrets)} and is open to other users ({stat.S_IMODE(mode):04o}); "
            f"run: chmod 600 '{file}' (and replace the key, if others may have read it).",
            _closing(file),
        )
    elif mode & stat.S_IWOTH:
        yield red(f"Any user can change {file}; run: chmod 600 '{file}'", _closing(file))


def check_stores(settings: Settings) -> Iterator[Finding]:
    """List the other stores of this user, which another shell or a sandbox may use instead of this one."""
    for each in other_stores(settings.storage_path, settings.journal_directory):
        yield yellow(describe_other(each))


def check_files(environment: Mapping[str, str]) -> Iterator[Finding]:
    """List the variables that files of the project set, and that sessions ignore."""
    for name, file in find_steering(environment):
        yield yellow(
            f"{file} sets {name}, which a project may not: sessions and commands ignore it there. "
            f"What you want for yourself belongs into {paths.config_file()} or the client's own settings."
        )


def check_claim(settings: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Ask, once, about a folder that may belong to a known project, but lacks evidence for it."""
    directory, claims = folder_of(environment), claims_of(settings)
    if left_out := left_out_here(settings):
        yield info(left_out)
        return
    if settings.project:
        return
    unreadable = claims.find_unreadable(directory)
    stored, found = Offline(settings), claims.find(directory).project
    known = found if unreadable else claims.claimed(directory, stored.projects.has)
    yield from _check_superproject(directory, claims, stored)
    if known is None or (
        not unreadable and known != found and stored.journal.names.of(known) == stored.journal.names.of(found)
    ):
        return

    name = stored.journal.names.of(known)

    def confirm() -> str:
        claims.confirm(directory, known)
        return f"{directory} is {name}."

    reason = (
        f"{unreadable} cannot be read, and may say that {directory} is not {name}"
        if unreadable
        else f"{directory} may be {name}, by its path, its remote or its first commit, and does not show it"
    )
    yield yellow(
        f"{reason}, so sessions here get no advice from that project. If it is, run in this folder: "
        "learning-memory-server doctor --fix",
        answers={f"Is {directory} the project {name}, and may its sessions get advice from it?": confirm},
        refused=partial(claims.decline, directory, known),
    )


def _check_superproject(directory: Path, claims: Claims, stored: Offline) -> Iterator[Finding]:
    """Report that a submodule does not use its superproject's memory, and offer to change that."""
    outer = claims.superproject(directory, stored.projects.has)
    if outer is None:
        return
    name = stored.journal.names.of(outer)

    def confirm() -> str:
        claims.confirm(directory, outer)
        return f"{directory} is read as {name}."

    yield info(
        f"{directory} is a submodule of {name}, and a project of its own: sessions here get no advice from {name}, nor "
        "the other way round. To make it one with that, run in this folder: learning-memory-server doctor --fix",
        answers={f"Is {directory} to be one project with {name}?": confirm},
        refused=partial(claims.decline, directory, outer),
    )


def check_projects(settings: Settings) -> Iterator[Finding]:
    """List the projects with entries but without a folder on this machine: no session here gets their advice."""
    stored = Offline(settings)
    here = {stored.journal.names.of(each) for each in (settings.project, *claims_of(settings).folders()) if each}
    resolved = Counter(entry.project for entry in stored.collector.list_resolved())
    still_open = Counter(entry.project for entry in stored.journal.open_entries())
    if lost := sorted((resolved.keys() | still_open.keys()) - here):
        counts = [
            (sum(of[each] for each in lost), noun) for of, noun in ((resolved, "entry"), (still_open, "open entry"))
        ]
        remote = " If it has the project's remote, learning-memory-server doctor --fix asks there."
        yield yellow(
            f"{' and '.join(out.counted(count, noun) for count, noun in counts if count)} of projects that no folder "
            f"here has: {', '.join(map(out.one_line, lost[:PROJECTS_NAMED]))}. If a folder is one of them, run there: "
            f"learning-memory-server project merge current NAME.{remote if any('/' in each for each in lost) else ''}"
        )


def check_redaction(settings: Settings) -> Iterator[Finding]:
    """Test the user's patterns on texts that are slow for many patterns."""
    if not settings.redaction:
        yield yellow("Off: secrets in texts are stored as they are.")
        return
    slow = OwnPatterns(settings.redaction_patterns).slow()
    slow += [
        pattern.name for pattern in numbered_patterns("redaction_allow", settings.redaction_allow) if pattern.is_slow
    ]
    for name in slow:
        yield yellow(
            f"{name} takes very long on some texts, which are refused then. Rewrite it without a repeat inside a repeat."
        )
    yield green("Secrets are replaced before texts are stored; `scan` finds stored ones.")


_FREE_BYTES_WANTED: Final = 1024 * 1024 * 1024  # Below this, the doctor warns; below `MIN_FREE_BYTES`, writes fail
_REBUILT: Final = "(or remove it while nothing is running: the index is rebuilt from the journal)."


def check_folders(settings: Settings) -> Iterator[Finding]:
    """Check the folders of storage, journal and index, and the free space."""
    places = [("storage", settings.storage_path, _check_folder), ("journal", settings.journal_directory, _check_folder)]
    if settings.qdrant_url is None:
        places.append(("index", settings.index_directory, _check_index))
    for topic, folder, check in places:
        try:
            yield from about(topic, check(folder))
        except OSError as error:
            yield red(f"{folder} cannot be examined ({error.strerror}); check its permissions.", topic=topic)
    try:
        yield check_space(shutil.disk_usage(_nearest(settings.storage_path)).free)
    except OSError as error:
        yield red(f"The free space cannot be read ({error.strerror}).", topic="disk")


def _check_folder(folder: Path) -> Iterator[Finding]:
    if folder.is_symlink() and not folder.exists():
        yield red(f"{folder} is a broken link; create its target, or remove it.")
    elif not folder.exists():
        base = _nearest(folder)
        if base.is_dir() and os.access(base, os.W_OK | os.X_OK):
            yield green(f"The first start creates {folder}.")
        else:
            yield red(f"{folder} cannot be created: {base} is not a folder that this user may write to.")
    elif not folder.is_dir():
        yield red(f"{folder} is a file, not a folder; move it away, or set another path.")
    elif not _is_usable(folder):
        yield red(f"{folder} is not readable and writable; run: chmod u+rwx '{folder}' (or set another path).")
    else:
        yield from _check_privacy(folder)


def _check_privacy(folder: Path) -> Iterator[Finding]:
    found = folder.stat()
    if hasattr(os, "getuid") and found.st_uid != os.getuid():
        yield yellow(f"{folder} belongs to another user (uid {found.st_uid}).")
    if found.st_mode & _OTHERS:
        mode = f"{stat.S_IMODE(found.st_mode):04o}"
        yield red(f"{folder} is open to other users ({mode}); run: chmod 700 '{folder}'", _closing(folder))
    elif parent := _replaceable_in(folder):
        yield red(f"Any user can replace {folder}, because {parent} is writable by all; run: chmod o-w '{parent}'")
    elif exposed := _exposed(folder):
        yield yellow(
            f"{out.counted(len(exposed), 'file')} in {folder} can be read by other users; run: chmod -R go-rwx '{folder}'",
            _closing(folder),
        )
    else:
        yield green(f"{folder} is writable and private.")


def _check_index(folder: Path) -> Iterator[Finding]:
    """Check that the engine can access its files. The storage folder's permissions keep them private."""
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        yield red(f"{folder} is not a folder; move it away {_REBUILT}")
        return
    inside = [path for path in folder.iterdir() if path.is_dir()] if _is_usable(folder) else []
    for path in [path for path in (folder, *inside) if not _is_usable(path)][:1]:
        yield red(f"{path} is not readable and writable; run: chmod -R u+rwX '{folder}' {_REBUILT}")


def _is_usable(folder: Path) -> bool:
    return os.access(folder, os.R_OK | os.W_OK | os.X_OK)


def _exposed(folder: Path) -> list[Path]:
    """Return the journal and lock files that other users can read."""
    files = [path for pattern in ("*.jsonl*", "*/*.json*", LOCK) for path in folder.glob(pattern)]
    return [path for path in files if path.stat().st_mode & _OTHERS]


def _replaceable_in(folder: Path) -> Path | None:
    """Return a parent folder in which any user can rename entries: a world-writable one without the sticky bit."""
    for parent in folder.resolve().parents:
        mode = parent.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return parent
    return None


def _closing(place: Path) -> Repair:
    """Return a repair that makes a file private, or a folder and its exposed files."""

    def close() -> str:
        for path in (place, *_exposed(place)):
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_OTHERS)
        return f"{place} is private now."

    return close


def check_space(free: int) -> Finding:
    """Return a finding about the free space on the storage folder's disk, in bytes."""
    size = out.readable_size(free)
    if free < MIN_FREE_BYTES:
        needed = out.readable_size(MIN_FREE_BYTES)
        return red(f"{size} are free, but {needed} are needed; free some space.", topic="disk")
    if free < _FREE_BYTES_WANTED:
        return yellow(f"Only {size} are free; consider freeing some space.", topic="disk")
    return green(f"{size} are free.", topic="disk")


def _nearest(path: Path) -> Path:
    """Return the path, or its nearest existing parent."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return path
