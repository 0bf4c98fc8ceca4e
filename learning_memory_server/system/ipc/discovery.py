"""The meeting place of fronts and the hub, and their protocol. Importing this takes a few milliseconds.

A connection begins with one line from the front, the hello, and one from the hub, the ack. The rest are JSON-RPC
messages and private lines, which begin with `PRIVATE`: `ping` and `pong` while a call is awaited, `drain` to end a hub
for another, `again` for requests that a lost hub had.

The role `command` closes the connection after the ack; each of its operations has one of the role `control`. With the
role `hook`, the input is in the hello, and the hub's only line is the answer.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from learning_memory_server.system import locations, paths
from learning_memory_server.system.ipc import socket_security

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

PROTOCOL_VERSION: Final = 1  # Raise it when older fronts or hubs could not follow; other versions are refused
PRIVATE: Final = b'{"hub":'
PING: Final = b'{"hub":"ping"}\n'
PONG: Final = b'{"hub":"pong"}\n'
DRAIN: Final = b'{"hub":"drain"}\n'  # Asks the hub to shut down for a newer one
_PROGRESS: Final = b'{"hub":"progress"'

LOG: Final = "hub.log"  # The hub's log, in the storage folder


class HubPaths:
    """The data that a hub owns, and its sockets, without symbolic links; `settings` are the raw ones.

    `second_socket` is used if another user could use the folder of the first.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        raw = paths.raw_settings(environment)
        self.journal = resolved(paths.journal_path(raw, environment))
        self.storage = resolved(paths.storage_path(raw, environment))
        self.project = str(raw["project"]) if raw.get("project") else None
        sockets = locations.socket_files(str(self.journal), str(self.storage), environment)
        self.socket, self.second_socket = map(Path, sockets)
        # The file may hold a time, which is no JSON.
        self.settings: dict[str, Any] = json.loads(json.dumps(raw, default=str))

    def reason_to_refuse(self, hello: dict[str, Any]) -> str | None:
        """Return why its hub cannot serve a session, or run a command, that says this hello; None if it can."""
        if (version := hello.get("hello")) != PROTOCOL_VERSION:
            return f"it speaks version {PROTOCOL_VERSION} of the hub protocol, not {version}"
        try:
            theirs = resolved(hello["journal"]), resolved(hello["storage"])
        except (KeyError, TypeError, ValueError):
            return "it was not told which data, in paths that are text"
        if theirs != (self.journal, self.storage):
            return "it serves different data"
        return None

    def is_silent(self) -> bool:
        """Return whether the running hub did not answer a process, and has not answered since."""
        return modified_at(self.storage / locations.SILENT) > modified_at(self.journal / paths.LOCK)

    def sockets(self) -> list[Path]:
        """Return the sockets of the hub, also the one that the journal's lock names, in folders of this user alone."""
        from learning_memory_server.system import files

        found = [self.socket, self.second_socket]
        with suppress(OSError, ValueError, KeyError, TypeError):
            about = json.loads(files.content(self.journal / paths.LOCK))
            # A copied folder has the lock file of the first one.
            if about["folder"] == str(self.journal):
                found.append(Path(about["socket"]))
        return [path for path in dict.fromkeys(found) if socket_security.is_private(path.parent)]


_KINDS: Final = {"role": str, "build": dict, "directory": str, "session": str, "front": str, "variables": list}


def read_hello(line: bytes) -> dict[str, Any]:
    """Return a hello. Raises `ValueError` if it is none, or has a field of another kind than the hub reads."""
    hello = json.loads(line)
    is_hello = isinstance(hello, dict) and isinstance(hello.get("project"), str | None)
    if not is_hello or any(not isinstance(hello.get(name, kind()), kind) for name, kind in _KINDS.items()):
        raise ValueError("no hello")
    return hello  # type: ignore[no-any-return]


def modified_at(path: Path) -> float:
    """Return when a file was changed; 0 if there is none."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


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


def again(identities: list[Any]) -> bytes:
    """Return the private line that lists requests that were sent to another hub before."""
    return json.dumps({"hub": "again", "ids": identities}, separators=(",", ":")).encode() + b"\n"
