"""The hub's process: hold the data, listen, and only then import what is heavy."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

from learning_memory_server import rendezvous
from learning_memory_server.errors import AlreadyRunningError, LearningMemoryError
from learning_memory_server.journal.lock import hold
from learning_memory_server.server.hurry import hurried

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BACKLOG = 128


def main() -> NoReturn:
    """Be the hub, unless there is one; return to nobody."""
    # Everything that is created from here on is for this user alone.
    os.umask(0o077)
    status = 0
    try:
        place = rendezvous.Place(os.environ)
        rendezvous.prepare_runtime_directory(place.socket.parent)
        with (
            hold((place.journal, place.storage), "the memory hub", socket=place.socket),
            _listening(place.socket) as listener,
        ):
            place.record_program()
            # Fronts can connect from now on; they wait for the ack while this is imported.
            with hurried():
                from learning_memory_server.server.hub.hub import run  # noqa: PLC0415

            run(place, listener)
    except AlreadyRunningError as error:
        # Everybody may start a hub, and this one came second.
        print(f"learning-memory-server hub: {error.message}", file=sys.stderr)  # noqa: T201
    except LearningMemoryError as error:
        print(f"learning-memory-server hub: {error.sentence}", file=sys.stderr)  # noqa: T201
        status = 1
    sys.stderr.flush()
    # Everything is closed. A plain exit would wait for a model that is still being imported.
    os._exit(status)


@contextmanager
def _listening(path: Path) -> Iterator[socket.socket]:
    """Listen on the socket while the block runs. Only who holds the data may replace a stale one."""
    listener = socket.socket(socket.AF_UNIX)
    with suppress(FileNotFoundError):
        path.unlink()
    listener.bind(str(path))
    path.chmod(0o600)
    listener.listen(_BACKLOG)
    inode = path.stat().st_ino
    try:
        yield listener
    finally:
        listener.close()
        with suppress(FileNotFoundError):
            if path.stat().st_ino == inode:
                path.unlink()
