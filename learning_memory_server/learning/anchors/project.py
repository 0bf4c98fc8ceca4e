"""The files of a project: which may be anchored to, by which names, git's ids of them, and digests of their lines."""

import hashlib
import os
import posixpath
import re
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from learning_memory_server.model import limits
from learning_memory_server.model.identity import git_output

NAME_MAX: Final = 300
"""Characters of a file's name in its project. Longer ones are made by programs."""
_PRIVATE: Final = re.compile(
    r"""(^|/)(
        \.git | \.ssh | \.gnupg | \.aws | \.azure | \.kube | \.docker | \.password-store
        | \.env(\..*)? | .*\.env | \.envrc | \.netrc | _netrc | \.npmrc | \.pypirc | \.pgpass | \.my\.cnf | \.git-credentials | \.htpasswd
        | id_(rsa|dsa|ecdsa|ed25519)(\..*)? | [^/]*\.(pem|key|p12|pfx|jks|keystore|kdbx|asc|gpg|ovpn|tfstate|tfvars)
        | [^/]*(secret|credential|password|passwd)s?([._-][^/]*)?\.(json|ya?ml|toml|ini|cfg|conf|properties|txt|csv|xml|env)
        | (secret|credential|password|passwd)s?
    )(/|$)""",
    re.VERBOSE | re.IGNORECASE,
)
"""Files and folders that hold credentials, or git's own."""


_LETTERS: Final = 6
"""Letters and digits of a line that says something: of fewer are `else:` and `return`."""
_SIGNS: Final = bytes(sign for sign in range(128) if not chr(sign).isalnum())


def project_root(folder: str) -> Path | None:
    """Return the top folder of the repository that a folder is in, else the folder; None if that is no project.

    A home folder without a repository is none, and neither is what holds it.
    """
    if not os.path.isabs(folder):  # noqa: PTH117 - an empty text is none, either
        return None
    try:
        here = Path(os.path.realpath(folder))
        found = next((each for each in (here, *here.parents) if (each / ".git").exists()), here)
    except (OSError, ValueError):
        # It must not be looked at, or is no name of a folder.
        return None
    home = Path(os.path.realpath(Path.home()))
    return None if found in home.parents or (found == home and not (home / ".git").exists()) else found


def name_in(root: Path, path: str) -> str | None:
    """Return the name of a file in a project: relative to its root, with `/`, links followed. The file may be gone.

    None if it is outside, also by a link, may hold credentials, or has a name that cannot be kept.
    """
    try:
        real = Path(os.path.realpath(root / path))
        name = real.relative_to(root).as_posix()
        name.encode()
    except (OSError, ValueError):
        # Outside; bytes that are no text; an embedded zero; links in a circle.
        return None
    return name if is_allowed(name) else None


@lru_cache(maxsize=20_000)
def is_allowed(name: str) -> bool:
    """Return whether a file of this name in a project may be looked at, unless a link leads out of it."""
    is_plain = name.isprintable() and posixpath.normpath(name) == name and not name.startswith(("/", ".."))
    return is_plain and name != "." and len(name) <= NAME_MAX and not _PRIVATE.search(name)


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
