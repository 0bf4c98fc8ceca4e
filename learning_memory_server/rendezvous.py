"""Where fronts and the hub meet, and what they say first. Both import this; it costs them a few milliseconds.

A connection begins with one line from the front, the hello, and one from the hub, the ack. After that every line is
a JSON-RPC message, except private lines, which begin with `PRIVATE`: a front asks `ping` while it waits for an
answer, and the hub answers `pong`, so that a hub that works long is told apart from one that hangs; a newer front
asks an older hub to `drain`; and a front that comes back after a hub was lost says which requests it asks `again`.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import zlib
from pathlib import Path

from learning_memory_server import paths
from learning_memory_server.errors import InvalidSettingsError
from learning_memory_server.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

PROTOCOL: Final = 1
PRIVATE: Final = b'{"hub":'
PING: Final = b'{"hub":"ping"}\n'
PONG: Final = b'{"hub":"pong"}\n'
DRAIN: Final = b'{"hub":"drain"}\n'
"""Asks the hub to make room for a newer one."""
_PROGRESS: Final = b'{"hub":"progress"'
FRAME_MAX: Final = 64 * 1024 * 1024
"""Bytes of the longest JSON-RPC message."""

_RECORD: Final = "hub.json"
_OF_THE_CALLER: Final = ("project", "log_level")
"""Settings in which a front may differ from the hub that serves it."""


class Place:
    """The data that a hub holds, and the socket that it listens on.

    Attributes:
        journal: The journal's folder.
        storage: The folder of everything else.
        socket: The hub's socket.
        settings: A digest of every setting that the hub runs on.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        raw = {**paths.settings_from_file(environment), **paths.settings_from_environment(environment)}
        self.journal = paths.journal_path(raw, environment)
        self.storage = paths.storage_path(raw, environment)
        self.project = str(raw["project"]) if raw.get("project") else None
        for name in (*_OF_THE_CALLER, "journal_path", "storage_path"):
            raw.pop(name, None)
        data = f"{self.journal}\n{self.storage}"
        self.socket = _runtime_directory(environment) / f"{_digest(data)}.sock"
        self.settings = _digest(json.dumps({name: str(value) for name, value in raw.items()}, sort_keys=True))

    def sockets(self) -> list[Path]:
        """Return where the hub may listen: here, or where the present holder of the journal says it does."""
        found = [self.socket]
        try:
            written = json.loads((self.journal / ".lock").read_bytes())
            found.append(Path(written["socket"]))
        except (OSError, ValueError, KeyError, TypeError):
            return found
        return list(dict.fromkeys(found))

    def newest_program(self) -> dict[str, Any]:
        """Return what to start a hub with: this program, or the newer one that was the hub of this data before.

        A front that was started before an upgrade lives on, and must not bring the old hub back.
        """
        own = program()
        try:
            recorded = json.loads((self.storage / _RECORD).read_bytes())
            if is_newer(recorded["build"], own["build"]) and os.access(recorded["executable"], os.X_OK):
                return {**own, **recorded}
        except (OSError, ValueError, KeyError, TypeError):
            return own
        return own

    def record_program(self) -> None:
        """Remember that this program is the hub; see `newest_program`."""
        (self.storage / _RECORD).write_text(json.dumps(program()), "utf-8")


def progress(doing: str, done: int, total: int) -> bytes:
    """Return the private line that tells a command how far the hub is with it."""
    content = json.dumps({"doing": doing, "done": done, "total": total})
    return _PROGRESS + b"," + content.encode()[1:] + b"\n"


def read_progress(line: bytes) -> dict[str, Any] | None:
    """Return what such a line says, or None if it is another private line."""
    return json.loads(line) if line.startswith(_PROGRESS) else None


def program() -> dict[str, Any]:
    """Return how this program is started: the interpreter, the folder that the package is in, and the build."""
    package = os.path.dirname(__file__)  # noqa: PTH120
    return {"executable": sys.executable, "folder": os.path.dirname(package), "build": build()}  # noqa: PTH120


def build() -> dict[str, Any]:
    """Return which code this process runs: the version, a fingerprint of the sources, and their newest time."""
    newest, sources = 0, []
    package = os.path.dirname(__file__)  # noqa: PTH120 - os.walk is three times as fast as Path.rglob
    for folder, folders, files in os.walk(package):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in files:
            if name.endswith(".py"):
                state = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118
                newest = max(newest, state.st_mtime_ns)
                sources.append(f"{folder[len(package) :]}/{name} {state.st_size} {state.st_mtime_ns}")
    return {
        "version": VERSION,
        "fingerprint": _digest("\n".join(sorted(sources))),
        "newest": newest,
    }


def is_newer(this: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Tell whether one build should take over from another: a later version, or the same with later sources."""
    if this["fingerprint"] == other["fingerprint"]:
        return False
    return (_version(this), this["newest"]) > (_version(other), other["newest"])


def again(identities: list[Any]) -> bytes:
    """Return the line that announces requests which were sent to another hub before."""
    return json.dumps({"hub": "again", "ids": identities}, separators=(",", ":")).encode() + b"\n"


def prepare_runtime_directory(directory: Path) -> None:
    """Create the socket's folder, or make sure that it is this user's alone.

    Raises:
        InvalidSettingsError: If it cannot be created, or is open to others.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = directory.lstat()
    except OSError as error:
        raise InvalidSettingsError(
            f"The folder of the hub's socket cannot be created ({error.strerror}).",
            hint="Set XDG_RUNTIME_DIR to a folder that you own, or start with --direct.",
        ) from error
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid() or state.st_mode & 0o077:
        raise InvalidSettingsError(
            f"{directory} is open to other users, so the hub's socket cannot be in it.",
            hint="Remove it or make it yours alone (chmod 700), or set XDG_RUNTIME_DIR.",
        )


def _runtime_directory(environment: Mapping[str, str]) -> Path:
    named = environment.get("XDG_RUNTIME_DIR", "")
    # A socket's path has at most 107 bytes, so a long one cannot be used.
    if named.startswith("/") and len(named) <= 60 and os.path.isdir(named):  # noqa: PLR2004, PTH112
        return Path(named) / paths.APPLICATION
    return Path("/tmp") / f"{paths.APPLICATION}-{os.getuid()}"  # noqa: S108 - checked to be this user's alone


def _version(build: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(int(part) for part in str(build["version"]).split(".") if part.isdigit())


def _digest(text: str) -> str:
    # Enough to tell names apart, and free: hashlib would load a cryptographic library into every front.
    data = text.encode()
    return f"{zlib.crc32(data):08x}{zlib.crc32(data[::-1]):08x}"
