"""Where fronts and the hub meet, and the protocol between them. Importing this takes a few milliseconds.

A connection begins with one line from the front, the hello, and one from the hub, the ack. After that every line is a
JSON-RPC message, except private lines, which begin with `PRIVATE`. A front sends `ping` while it waits for an answer,
and the hub replies `pong`, which distinguishes a busy hub from one that hangs. A newer front asks an older hub to
`drain`. A front that reconnects after a hub was lost lists the requests that it sends `again`.

A command begins in the same way, with the role `command`, and closes the connection after the ack: it only makes sure
of the hub. Each of its operations has a connection of the role `control`. A client's hook has one of the role `hook`:
what the client gives to it follows in the first line, and the hub's only line is what it prints.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from learning_memory_server import locations, paths, peers
from learning_memory_server.errors import UntrustedSocketError
from learning_memory_server.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

PROTOCOL_VERSION: Final = 1
"""Raise it when the private lines or the first two change so that an older front or hub could not follow. A hub refuses
a front of another version."""
PRIVATE: Final = b'{"hub":'
PING: Final = b'{"hub":"ping"}\n'
PONG: Final = b'{"hub":"pong"}\n'
DRAIN: Final = b'{"hub":"drain"}\n'
"""Asks the hub to shut down for a newer one."""
_PROGRESS: Final = b'{"hub":"progress"'
FRAME_MAX: Final = 64 * 1024 * 1024
"""Bytes of the longest JSON-RPC message."""

LOG: Final = "hub.log"
"""The hub's log, in the storage folder."""

_PACKAGE: Final = __name__.partition(".")[0]
_RECORD: Final = "hub.json"
_OF_THE_CALLER: Final = ("project", "log_level", "commands_start_hub")
"""Settings in which a front may differ from its hub."""


class Place:
    """The data that a hub owns, and the socket it listens on.

    Paths are resolved, so that data reached through a symbolic link has the same hub.

    Attributes:
        journal: The journal folder.
        storage: The folder of everything else.
        socket: The hub's socket.
        settings: A digest of every setting of the hub.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        raw = paths.raw_settings(environment)
        self.journal = resolved(paths.journal_path(raw, environment))
        self.storage = resolved(paths.storage_path(raw, environment))
        self.project = str(raw["project"]) if raw.get("project") else None
        for name in (*_OF_THE_CALLER, "journal_path", "storage_path"):
            raw.pop(name, None)
        self.socket = Path(locations.socket_file(str(self.journal), str(self.storage), environment))
        self.settings = locations.digest(
            json.dumps({name: str(value) for name, value in raw.items()}, sort_keys=True)
        )

    def sockets(self) -> list[Path]:
        """Return the sockets where the hub may listen: this one, and the one that the holder of the journal names."""
        found = [self.socket]
        try:
            written = json.loads((self.journal / paths.LOCK).read_bytes())
            named = Path(written["socket"])
            # A dead process may have named it, so a folder that is not this user's is no reason to stop.
            peers.check_folder(named.parent)
            found.append(named)
        except (OSError, ValueError, KeyError, TypeError, UntrustedSocketError):
            return found
        return list(dict.fromkeys(found))

    def newest_program(self) -> dict[str, Any]:
        """Return the program to start as the hub: this one, or a newer one that was the hub of this data before.

        A front that was started before an upgrade keeps running, and must not bring the old hub back.
        """
        own = program()
        recorded = self._recorded_program()
        # In the same folder, an upgrade or downgrade has replaced what was recorded.
        if (
            recorded
            and recorded["folder"] != own["folder"]
            and is_newer(recorded["build"], own["build"])
            and os.access(recorded["executable"], os.X_OK)
            and os.path.isdir(os.path.join(recorded["folder"], _PACKAGE))  # noqa: PTH112, PTH118
        ):
            return recorded
        return own

    def record_program(self) -> None:
        """Record this program as the one to start, unless a newer one is recorded; see `newest_program`.

        Raises:
            OSError: If the storage folder cannot be written.
        """
        own = program()
        if self.newest_program()["folder"] == own["folder"]:
            temporary = self.storage / f"{_RECORD}.{os.getpid()}"
            temporary.write_text(json.dumps(own), "utf-8")
            temporary.replace(self.storage / _RECORD)

    def _recorded_program(self) -> dict[str, Any] | None:
        try:
            with open(self.storage / _RECORD, "rb") as file:  # noqa: PTH123 - for its descriptor
                state = os.fstat(file.fileno())
                recorded = json.loads(file.read())
            build = recorded["build"]
            found = {
                "executable": str(recorded["executable"]),
                "folder": str(recorded["folder"]),
                "build": {**build, "version": str(build["version"]), "newest": int(build["newest"])},
            }
        except (OSError, ValueError, KeyError, TypeError):
            return None
        # What another user could have written is not run.
        return found if state.st_uid == os.geteuid() and not state.st_mode & 0o022 else None


def progress(doing: str, done: int, total: int) -> bytes:
    """Return the private line that reports a command's progress."""
    content = json.dumps({"doing": doing, "done": done, "total": total})
    return _PROGRESS + b"," + content.encode()[1:] + b"\n"


def read_progress(line: bytes) -> dict[str, Any] | None:
    """Return the progress in a private line, or None if it is another private line."""
    return json.loads(line) if line.startswith(_PROGRESS) else None


def resolved(path: str | Path) -> Path:
    """Return the path without symbolic links."""
    return Path(os.path.realpath(path))


def program() -> dict[str, Any]:
    """Return how to start this program: the interpreter, the folder of the package, and the build."""
    package = os.path.dirname(__file__)  # noqa: PTH120
    return {"executable": sys.executable, "folder": os.path.dirname(package), "build": build()}  # noqa: PTH120


def build() -> dict[str, Any]:
    """Return which code this process runs: the version, a fingerprint of the sources, and their latest time."""
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
        "fingerprint": locations.digest("\n".join(sorted(sources))),
        "newest": newest,
    }


def is_newer(this: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether one build should take over from another: a later version, or the same with later sources."""
    if this["fingerprint"] == other["fingerprint"]:
        return False
    return (_version(this), this["newest"]) > (_version(other), other["newest"])


def again(identities: list[Any]) -> bytes:
    """Return the private line that lists requests that were sent to another hub before."""
    return json.dumps({"hub": "again", "ids": identities}, separators=(",", ":")).encode() + b"\n"


def _version(build: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(int(part) for part in str(build["version"]).split(".") if part.isdigit())
