"""The hub's process: lock the data, listen, and only then import what is heavy."""

import os
import sys
from contextlib import suppress
from typing import Final, NoReturn

from learning_memory_server.errors import AlreadyRunningError
from learning_memory_server.hub.listener import open_door
from learning_memory_server.system import paths
from learning_memory_server.system.ending import INTERRUPTED, run_and_exit
from learning_memory_server.system.imports import fast_imports
from learning_memory_server.system.ipc import discovery
from learning_memory_server.system.locking import hold

_DESCRIPTORS: Final = 65_536  # Open files that the hub may have, where the system permits so many


def main() -> NoReturn:
    """Run the hub, unless one is running already, then exit the process."""
    run_and_exit(_serve, "learning-memory-server hub")


def _serve() -> int:
    """Serve until the hub is not needed. Return the exit status."""
    place = discovery.HubPaths(os.environ)
    _raise_descriptor_limit()
    try:
        with hold(place.journal, place.storage, "the memory hub", socket=place.socket), open_door(place) as door:
            # Fronts can connect now; they wait for the ack during these imports.
            with fast_imports():
                from learning_memory_server.embedding.loading import load_ahead

                # First, so that it is done when the other imports are.
                packaged = load_ahead(paths.raw_settings(os.environ))
                from learning_memory_server.hub.hub import run
                from learning_memory_server.server.settings import load_settings

                settings = load_settings()
            return INTERRUPTED if run(place, door, settings, packaged) else 0
    except AlreadyRunningError as error:
        # Several fronts may start a hub at once, and this one is not needed.
        print(f"learning-memory-server hub: {error.message}", file=sys.stderr)  # noqa: T201
        return 0


def _raise_descriptor_limit() -> None:
    """Allow as many open files as the system permits, within reason: the engine and every session need some."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        # macOS refuses more than its own limit, which is not the hard one.
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
