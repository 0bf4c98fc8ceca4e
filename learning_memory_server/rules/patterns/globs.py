"""Globs of files in a project, as people write them in rules and in .gitignore."""

import posixpath
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

_DOCUMENTS: Final = frozenset({".md", ".rst"} | {".txt", ".adoc"})


def is_document(path: str) -> bool:
    """Return whether a file is a text for people: no test and no linter says anything of it."""
    return posixpath.splitext(path)[1].lower() in _DOCUMENTS


def relative(path: str, root: str) -> str:
    """Return a path relative to a project's root; empty if it is outside, or if only a whole path is known."""
    if root and path.startswith("/"):
        base = root.rstrip("/")
        path = path[len(base) + 1 :] if path.startswith(f"{base}/") else ""
    path = posixpath.normpath(path) if path else ""
    is_outside = path[:1] in {"/", "~"} or path == ".." or path.startswith("../")
    return "" if path == "." or is_outside else path


def matches(glob: str, path: str, *, is_file: bool = False) -> bool:
    """Return whether a path is meant by a glob, or is below a folder that is.

    A name without a slash is meant in any folder, and `**` stands for any number of folders. A slash at the end makes
    it a folder: no file of this name is meant.
    """
    parts = [each for each in glob.removeprefix("./").split("/") if each]
    if "/" not in glob.rstrip("/"):
        parts = ["**", *parts]
    below = ["*", "**"] if is_file and glob.endswith("/") else ["**"]
    return bool(parts) and _fits([*parts, *below], path.split("/"))


def _fits(parts: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether all names are meant by all parts: in one pass, since `**` may stand several times."""
    places = {0}
    for name in (*names, None):
        # `**` may stand for nothing
        for at, part in enumerate(parts):
            if at in places and part == "**":
                places.add(at + 1)
        if name is None:
            return len(parts) in places
        places = {
            at if parts[at] == "**" else at + 1
            for at in places
            if at < len(parts) and (parts[at] == "**" or fnmatchcase(name, parts[at]))
        }
    return False
