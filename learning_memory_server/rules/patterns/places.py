"""Whether a command works in a project's folder or elsewhere."""

import posixpath
from collections.abc import Sequence
from typing import Final

from learning_memory_server.shell.folders import UNKNOWN, joined

_BACKSLASH: Final = "\\"


def is_elsewhere(folder: str, made: str, start: str, roots: Sequence[str], *, has_top: bool = True) -> bool:
    """Whether a folder is outside all of a project's folders; a relative one starts at `start`.

    An unknown folder counts as outside: a call that breaks no rule must never be stopped. A repository that the script
    itself creates counts as outside, too. If the top folder is unknown, each parent folder of a root may be it.
    """
    if not roots:
        return False
    place = _whole(start, folder)
    if place == UNKNOWN or place.startswith(f"{UNKNOWN}/"):
        return True
    if made and _whole(start, made) not in (*roots, _whole(start, "")):
        return True
    return not any(_is_in(place, each) or (not has_top and _is_in(each, place)) for each in roots)


def _whole(start: str, folder: str) -> str:
    path = posixpath.expanduser(joined(start, folder) if folder else start)
    return path.replace(_BACKSLASH, "/").rstrip("/") or "/"


def _is_in(place: str, above: str) -> bool:
    return f"{place}/".startswith(f"{above.replace(_BACKSLASH, '/').rstrip('/')}/")
