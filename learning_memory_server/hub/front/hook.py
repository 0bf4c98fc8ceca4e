"""A client's hook as a command: stdin goes to the hub, and its answer to stdout. Failures are silent.

With a hub, it costs little more than the interpreter: it imports no `socket`, `signal` or `json`, and passes text on.
Without one, it starts one, and waits for it at the start of a session only.

A client can also run this file: `python -I -S .../front/hook.py`.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path.append(os.path.dirname(package))

from learning_memory_server.system import locations, steering, timeouts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, NoReturn

    from learning_memory_server.system.ipc import discovery

_INPUT_MAX: Final = 8 << 20  # Bytes of JSON above which long texts are shortened to both ends
_END: Final = 50_000
_READ_MAX: Final = 64 << 20
_CHUNK: Final = 1 << 16
_AT_START: Final = b'essionStart"'  # Part of the name of a session's first event, whose first letter is small in Cursor
_LOOK: Final = 0.01  # Seconds between looks for a hub that was just started
_FIRST: Final = (b'{"hookSpecificOutput":{', b'{"additionalContext":"', b'{"additional_context":"')
_LAST: Final = b"}\n"  # How an answer begins, in each form that a client takes, and ends that says something
_TYPE_AND_OTHERS: Final = 0o170077  # The bits of a mode that say what a file is, and what other users may do with it
_PRIVATE_FOLDER: Final = 0o040000


def main(client: str = "") -> NoReturn:
    """Answer one hook of a client (empty: Claude Code's protocol), and end the process, always with success."""
    try:
        # Whatever is created is for this user alone.
        os.umask(0o077)
        if given := _given():
            locations.write_all(1, _answer(given, client))
    finally:
        os._exit(0)


def _answer(given: bytes, client: str = "") -> bytes:
    """Return what the hub says to a hook's input, a JSON object; nothing if it says nothing."""
    steering.ignore_project(os.environ)
    raw = locations.settings_from_environment(os.environ)
    has_file = locations.CONFIG in os.environ or os.path.exists(locations.default_settings_file(os.environ))
    if sys.platform == "linux" and not has_file:
        journal = os.path.realpath(locations.journal_folder(raw, os.environ))
        storage = os.path.realpath(locations.storage_folder(raw, os.environ))
        if _is_silent(storage):
            return b""
        for socket in locations.socket_files(journal, storage, os.environ):
            if connection := _connect(socket):
                project = str(raw["project"]) if "project" in raw else None
                return _ask(connection, _hello(journal, storage, project, given, client), storage)
    # There is a settings file, or the hub listens elsewhere, or there is none: this takes another 20 ms.
    from learning_memory_server.system.ipc import discovery, programs, socket_security

    if not socket_security.has_hubs():
        return b""
    place = discovery.HubPaths(os.environ)
    if _is_silent(str(place.storage)):
        return b""
    answer = _ask_hub(place, timeouts.HOOK_HUB, given, client, str(place.storage))
    if answer is not None:
        return answer
    from learning_memory_server.hub.front.link import spawn_hub

    spawn_hub(place, programs.to_start(place.storage)[0])
    return _answer_of_new_hub(place, given, client) if _AT_START in given else b""


def _answer_of_new_hub(place: discovery.HubPaths, given: bytes, client: str) -> bytes:
    """Return what a hub says that has just been started; nothing if it is late."""
    from time import monotonic, sleep

    until = monotonic() + timeouts.HOOK_START
    while (left := until - monotonic()) > 0:
        # One that is starting is not silent.
        if (answer := _ask_hub(place, left, given, client, None)) is not None:
            return answer
        sleep(_LOOK)
    return b""


def _ask_hub(place: discovery.HubPaths, seconds: float, given: bytes, client: str, storage: str | None) -> bytes | None:
    """Return what the hub says, see `_ask`; None if none listens."""
    from learning_memory_server.system.ipc import socket_security

    for path in place.sockets():
        try:
            connection = socket_security.connect(path, seconds)
        except OSError:
            continue
        return _ask(connection, _hello(str(place.journal), str(place.storage), place.project, given, client), storage)
    return None


def _is_silent(storage: str) -> bool:
    """Return whether a process did not get an answer from the hub, which has not answered since."""
    from time import time

    try:
        return time() - os.stat(f"{storage}/{locations.SILENT}").st_mtime < timeouts.HOOK_SILENCE
    except OSError:
        return False


def _given() -> bytes:
    """Return what the client says, on one line; nothing if it says nothing in time."""
    import select

    parts, size = [], 0
    # A client that does not close stdin has said everything, too.
    while size < _READ_MAX and select.select([0], [], [], timeouts.HOOK_STDIN)[0] and (read := os.read(0, _CHUNK)):
        parts.append(read)
        size += len(read)
    # Line feeds are white space between the parts of JSON; inside of texts they are escaped.
    given = b"".join(parts).replace(b"\n", b" ").strip()
    if size <= _INPUT_MAX:
        return given
    import json

    return json.dumps(_shortened(json.loads(given))).encode()


def _shortened(given: Any) -> Any:
    """Return JSON-like data without the middle of each long text."""
    if isinstance(given, dict):
        return {name: _shortened(each) for name, each in given.items()}
    if isinstance(given, list):
        return [_shortened(each) for each in given]
    return f"{given[:_END]}\n{given[-_END:]}" if isinstance(given, str) and len(given) > 2 * _END else given


def _connect(path: str) -> Any:
    """Return a connection to a hub of this user, or None: what `peers.connect` does, on Linux and silently."""
    import _socket

    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.settimeout(timeouts.HOOK_HUB)
    try:
        folder = os.lstat(os.path.dirname(path))
        if folder.st_mode & _TYPE_AND_OTHERS == _PRIVATE_FOLDER and folder.st_uid == os.geteuid():
            connection.connect(path)
            # struct ucred: process, user, group.
            ucred = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
            if int.from_bytes(ucred[4:8], sys.byteorder) == os.geteuid():
                return connection
    except OSError:
        pass  # There is no hub, or not yet
    connection.close()
    return None


def _hello(journal: str, storage: str, project: str | None, given: bytes, client: str) -> bytes:
    directory = os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
    texts = {"role": "hook", "journal": journal, "storage": storage, "directory": directory, "client": client}
    parts = [f'"{name}":{_quoted(text)}' for name, text in texts.items()]
    parts.append(f'"project":{_quoted(project) if project else "null"}')
    parts.append(f'"attended":{"true" if locations.is_attended(os.environ) else "false"}')
    # Of a session whose client does not name it, or calls it by a new name, this tells which one it is.
    parts.append(f'"group":{os.getsid(0) if hasattr(os, "getsid") else "null"}')
    # JSON's last key of a name counts, so whatever the input is, it cannot be another role.
    return b'{"hello":1,"given":' + given + b"," + ",".join(parts).encode() + b"}\n"


def _quoted(text: str) -> str:
    from _json import encode_basestring_ascii

    quoted: str = encode_basestring_ascii(text)
    return quoted


def _ask(connection: Any, hello: bytes, storage: str | None) -> bytes:
    """Return the hub's complete answer without its line feed, else nothing; a late hub is noted as silent."""
    answer = b""
    try:
        connection.sendall(hello)
        while read := connection.recv(_CHUNK):
            answer += read
    except TimeoutError:
        if storage:
            locations.note_silence(storage)
        return b""
    except OSError:
        return b""
    finally:
        connection.close()
    return answer[:-1] if answer.startswith(_FIRST) and answer.endswith(_LAST) else b""


if __name__ == "__main__":
    main(*sys.argv[1:2])
