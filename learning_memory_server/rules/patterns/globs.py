"""Globs of project files, in the syntax of rules and of .gitignore."""

import posixpath
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

_DOCUMENTS: Final = frozenset({".md", ".rst"} | {".txt", ".adoc"})


def is_document(path: str) -> bool:
    """Whether a file is a document for people, which tests and linters do not check."""
    return posixpath.splitext(path)[1].lower() in _DOCUMENTS


def relative(path: str, root: str) -> str:
    """Return a path relative to a project's root; empty if it is outside, or absolute without a known root."""
    if root and path.startswith("/"):
        base = root.rstrip("/")
        path = path[len(base) + 1 :] if path.startswith(f"{base}/") else ""
    path = posixpath.normpath(path) if path else ""
    is_outside = path[:1] in {"/", "~"} or path == ".." or path.startswith("../")
    return "" if path == "." or is_outside else path


def matches(glob: str, path: str, *, is_file: bool = False) -> bool:
    """Whether a glob matches a path or one of its parent folders.

    A name without a slash matches in any folder, and `**` matches any number of folders. With a slash at the end, it
    matches only folders.
    """
    parts = [each for each in glob.removeprefix("./").split("/") if each]
    if "/" not in glob.rstrip("/"):
        parts = ["**", *parts]
    below = ["*", "**"] if is_file and glob.endswith("/") else ["**"]
    return bool(parts) and _fits([*parts, *below], path.split("/"))


def _fits(parts: Sequence[str], names: Sequence[str]) -> bool:
    """Whether the parts match all names. One pass is enough, even with several `**`."""
    places = {0}
    for name in (*names, None):
        # `**` may match nothing
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
