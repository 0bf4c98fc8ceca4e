"""Which files of a project something may be anchored to, and by which name."""

import os
import posixpath
import re
from functools import lru_cache
from pathlib import Path
from typing import Final

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
