"""Git, asked about an untrusted folder: it runs no program that the folder names, and never fetches."""

import os
import subprocess
from pathlib import Path
from typing import Final

from learning_memory_server.system import timeouts

_SAFE: Final = (
    *("git", "--no-optional-locks", "--literal-pathspecs", "-c", "core.fsmonitor="),
    *("-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false", "-c", "log.mailmap=false"),
)
_OUTPUT_MAX: Final = 1 << 28
_NEVER: Final = {
    # The first is unknown to older versions. Without a protocol, there is nothing to fetch with.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


def git(folder: Path, *arguments: str, given: bytes = b"", seconds: float = timeouts.GIT) -> bytes | None:
    """Return git's output, None if it refuses. Raises `OSError` if it is late, killed or missing."""
    # GIT_DIR and the like name the repository of the process that started this one.
    ours = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            [*_SAFE, "-C", str(folder), *arguments],
            input=given,
            capture_output=True,
            timeout=seconds,
            check=False,
            env=ours | _NEVER,
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    except (FileNotFoundError, ValueError):
        return None  # There is no git, or no folder can have such a name
    if done.returncode < 0:
        raise ChildProcessError
    return done.stdout if done.returncode == 0 and len(done.stdout) < _OUTPUT_MAX else None
