"""The files of a project and their content: git's ids of it, and digests of its lines."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from learning_memory_server.model import limits
from learning_memory_server.model.identity import git_output

_LETTERS: Final = 6
"""Letters and digits of a line that says something: of fewer are `else:` and `return`."""
_SIGNS: Final = bytes(sign for sign in range(128) if not chr(sign).isalnum())


def blob_ids(content: bytes) -> list[str]:
    """Return git's ids of a content: with line feeds as line ends, and as it is."""
    forms = content.replace(b"\r\n", b"\n"), content
    return [hashlib.sha1(b"blob %d\0%b" % (len(each), each), usedforsecurity=False).hexdigest() for each in forms]


def digests(lines: Iterable[bytes]) -> Iterator[str]:
    """Yield the digests of lines that say something, however they are formatted."""
    for line in lines:
        words = b"".join(line.split()).replace(b"'", b'"').rstrip(b",")
        if len(words.translate(None, _SIGNS)) >= _LETTERS:
            yield f"{zlib.crc32(words):0{limits.DIGEST}x}"


def split_digests(lines: str) -> list[str]:
    """Return the digests that an anchor has in a row."""
    return [lines[at : at + limits.DIGEST] for at in range(0, len(lines), limits.DIGEST)]


def tracked_by_git(root: Path) -> dict[str, str]:
    """Return git's ids of the regular files that a repository tracks, by name."""
    lines = (line.partition("\t") for line in _listed(root, "--stage"))
    return {name: about.split()[1] for about, _, name in lines if about.startswith("100")}


def index_stamp(root: Path) -> int:
    """Return when git's index of a project was written, in nanoseconds; 0 if there is none."""
    git = root / ".git"
    try:
        # A file in a worktree.
        place = git.read_text("utf-8").removeprefix("gitdir:").strip() if git.is_file() else ".git"
        return (root / place / "index").stat().st_mtime_ns
    except (OSError, ValueError):
        return 0


def known_to_git(root: Path, names: list[str]) -> list[str]:
    """Return those of the files that a repository does not ignore."""
    return _listed(root, "--cached", "--others", "--exclude-standard", "--", *names) if names else []


def _listed(root: Path, *options: str) -> list[str]:
    return (git_output(root, "ls-files", "-z", *options) or "").split("\0")
