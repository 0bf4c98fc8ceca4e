"""Whose the data is: only its owner writes it. What root once wrote in a user's folder, that user can never open.

A front asks before it starts a hub, so nothing is imported that takes a millisecond.
"""

from __future__ import annotations

import os

from learning_memory_server.errors import ForeignDataError, LockUnavailableError
from learning_memory_server.system import locations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Final

    AnyPath = str | Path

_OF_OTHERS: Final = ("lost+found", ".snapshot")  # What a file system puts into a folder where a disk is mounted


def refuse_foreign(journal: AnyPath, storage: AnyPath) -> None:
    """Raise `ForeignDataError` if this user does not own the data, may not use a part of it, or another uses it."""
    if not hasattr(os, "geteuid"):
        return
    folders = dict.fromkeys((os.fspath(storage), os.fspath(journal)))
    for folder in folders:
        refuse_folder(folder)
    _refuse_process(os.fspath(journal))
    for folder in folders:
        for path in _inside(folder):
            if is_closed(path):
                raise ForeignDataError(_not_mine(path, folder))


def refuse_folder(folder: AnyPath) -> None:
    """Raise if another user owns a folder, or if root would create it in another user's folder."""
    nearest = folder = os.fspath(folder)
    while (found := _state(nearest)) is None and os.path.dirname(nearest) != nearest:
        nearest = os.path.dirname(nearest)
    user = os.geteuid()
    if not found or found.st_uid == user:
        return
    if nearest == folder:
        raise ForeignDataError(_not_mine(folder, folder))
    if user == 0:
        raise ForeignDataError(
            f"{nearest} belongs to {user_named(found.st_uid)}, and root runs this, so no data is stored there: "
            f"{_as_owner(found.st_uid)}."
        )


def is_mine(folder: AnyPath) -> bool:
    """Return whether this user would own what it writes in a folder, together with the folder."""
    try:
        if hasattr(os, "geteuid"):
            refuse_folder(folder)
    except ForeignDataError:
        return False
    return True


def is_closed(path: AnyPath) -> bool:
    """Return whether a file or folder is another user's, and this one may not read and write it."""
    found = _state(os.fspath(path))
    if found is None or found.st_uid == os.geteuid():
        return False
    return not os.access(path, os.R_OK | os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def explain_denied(path: AnyPath) -> str:
    """Return a sentence about a path that could not be used, or the folder around it, if it is another user's."""
    if not hasattr(os, "geteuid"):
        return ""
    inner = os.fspath(path)
    # What is in a folder that this user may not enter cannot be examined.
    while _state(inner) is None and os.path.dirname(inner) != inner:
        inner = os.path.dirname(inner)
    if not is_closed(inner):
        return ""
    folder = inner if os.path.isdir(inner) else os.path.dirname(inner)
    # Where root wrote one file, it wrote others.
    before, own, _ = folder.partition(f"/{locations.APPLICATION}")
    return _not_mine(inner, before + own)


def user_named(uid: int) -> str:
    """Return a user's name, as commands take it; the number if there is none."""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _refuse_process(journal: str) -> None:
    """Raise if a hub of another user has locked the journal."""
    from pathlib import Path

    from learning_memory_server.system.locking import holder

    try:
        who = holder(Path(journal)) or {}
    except LockUnavailableError:
        return  # The owner's own permissions are in the way, which whoever locks it says
    socket = who.get("socket")
    if not isinstance(socket, str):
        return
    try:
        owner = os.lstat(os.path.dirname(socket)).st_uid
    except FileNotFoundError:
        return
    except OSError:
        owner = None  # Another user's runtime folder is closed
    if owner != os.geteuid():
        whose = user_named(owner) if owner is not None else "another user"
        raise ForeignDataError(
            f"A hub of {whose} uses the data in {journal}, and {user_named(os.geteuid())} runs this: end it with "
            f"`sudo kill {who.get('pid')}`. What it has acknowledged is safe."
        )


def _not_mine(path: str, folder: str) -> str:
    """Return the sentence about a path of another user, with the command that helps; `folder` is what to change."""
    import shlex

    found = os.stat(path)
    owner, me = user_named(found.st_uid), user_named(os.geteuid())
    about = f"{path} belongs to {owner}, and {me} runs this, so"
    change = f"`sudo chown -R {me} {shlex.quote(folder)}`"
    if os.geteuid() == 0:
        return f"{about} nothing is written there: {_as_owner(found.st_uid)}."
    if path == folder and found.st_uid != 0:
        return f"{about} nothing is written there: {_as_owner(found.st_uid)}; if the data is {me}'s, run {change}."
    return f"{about} it cannot be used: run {change}."


def _as_owner(owner: int) -> str:
    name = user_named(owner)
    user = name if name != str(owner) else f"'#{owner}'"
    return (
        f"run it as {name} (`sudo -u {user} -H learning-memory-server`, and the client likewise), or set "
        "LEARNING_MEMORY_STORAGE_PATH to a folder of your own"
    )


def _inside(folder: str) -> Iterator[str]:
    """Yield this program's files and folders in a folder and below; links are not followed."""
    pending = [folder]
    while pending:
        try:
            with os.scandir(pending.pop()) as found:
                entries = [each for each in found if each.name not in _OF_OTHERS and not each.is_symlink()]
        except OSError:
            continue
        for each in entries:
            yield each.path
            # What somebody has copied to the backups is in nobody's way.
            if each.is_dir() and each.name != "backups":
                pending.append(each.path)


def _state(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None
