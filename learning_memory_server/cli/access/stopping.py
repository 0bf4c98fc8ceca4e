"""Stopping a hub: it is asked, and if it does not answer, its process is sent a signal."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from learning_memory_server.cli.access.hub_client import find_hub
from learning_memory_server.errors import DeadlineExceededError, LearningMemoryError, StorageUnavailableError
from learning_memory_server.system.ipc.discovery import Place
from learning_memory_server.system.ipc.socket_security import has_hubs
from learning_memory_server.system.locking import holder, is_holder

if TYPE_CHECKING:
    from learning_memory_server.cli.access.hub_client import HubClient

_END_SECONDS: Final = 30.0
"""How long a hub that was asked may take to end: its calls get ten seconds, then the index is flushed."""
_TERM_SECONDS: Final = 15.0
"""How long a hub that does not answer may take to end: as long as its calls and its flush."""
_KILLED_SECONDS: Final = 10.0
"""How long the kernel may take to end a hub."""
_LOOK_SECONDS: Final = 0.05


def stop_running_hub(term_seconds: float = _TERM_SECONDS) -> int | None:
    """Stop the hub that has locked the data of the environment's settings, and return its process id; None if none has.

    It is asked through its socket. If it cannot be reached or does not end, the process that has locked the data is
    sent a signal. Nothing that it has acknowledged is lost.

    Args:
        term_seconds: How long it may take to end after SIGTERM, before it is killed.

    Raises:
        DeadlineExceededError: If it does not end.
        LockUnavailableError: If the lock cannot be looked at.
        StorageUnavailableError: If it cannot be made sure which process has locked the data.
    """
    # Without Unix sockets there are no hubs.
    if not has_hubs():
        return None
    place = Place(os.environ)
    # Whatever is wrong with the socket or with what listens there, the lock decides which process is the hub.
    with suppress(LearningMemoryError):
        hub = find_hub(place)
        if hub and (pid := _ask_to_end(hub)):
            return pid
    return _end_holder(place, term_seconds)


def _ask_to_end(hub: HubClient) -> int | None:
    """Ask the hub to end, and return its process id once it has released the data; None if that takes too long."""
    until = time.monotonic() + _END_SECONDS
    pid: int = hub.control("stop")["pid"]
    while (holder(hub.place.journal) or {}).get("pid") == pid:
        if time.monotonic() > until:
            return None
        time.sleep(_LOOK_SECONDS)
    return pid


def _end_holder(place: Place, term_seconds: float) -> int | None:
    who = holder(place.journal)
    if who is None or "socket" not in who:
        return None
    pid = who.get("pid")
    for number, seconds in ((signal.SIGTERM, term_seconds), (signal.SIGKILL, _KILLED_SECONDS)):
        if not isinstance(pid, int) or not is_holder(place.journal, pid):
            if holder(place.journal) is None:
                return pid if isinstance(pid, int) else None
            raise StorageUnavailableError(
                f"A hub (process {pid}) has locked the data and does not answer, and whether it is really that process "
                "could not be found out.",
                hint="End the hub in the place where it was started, such as a container.",
            )
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if (holder(place.journal) or {}).get("pid") != pid:
                return pid
            time.sleep(_LOOK_SECONDS)
    raise DeadlineExceededError(
        f"The hub (process {pid}) was killed and has not ended.",
        hint="It waits for the disk or another device.",
    )
