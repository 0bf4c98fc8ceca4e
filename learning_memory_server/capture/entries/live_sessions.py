"""Which agent sessions are running, as far as a hub knows."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from learning_memory_server.system import timeouts

if TYPE_CHECKING:
    from learning_memory_server.model.moment import Clock


class LiveSessions:
    """The sessions with a connected front, or a sign of life in the last half hour.

    A front that has lost its hub connects again only when its client calls. So that a hub which was just started takes
    nobody's entry for an orphan, it counts as heard of every session whose front was connected to the hub before it,
    if the process of that front still runs.
    """

    def __init__(self, clock: Clock, path: Path) -> None:
        self._clock = clock
        self._path = path
        self._fronts: defaultdict[str, list[int]] = defaultdict(list)
        self._heard: dict[str, datetime] = {}
        with suppress(OSError, ValueError, TypeError, AttributeError):
            for session, processes in json.loads(path.read_bytes()).items():
                if any(map(_runs, processes)):
                    self.heard(session)

    def is_live(self, session: str) -> bool:
        """Return whether a session is running."""
        heard = self._heard.get(session)
        return session in self._fronts or (
            heard is not None and self._clock() - heard <= timedelta(seconds=timeouts.SESSION_HEARD)
        )

    def heard(self, session: str) -> None:
        """Note a sign of life of a session."""
        self._heard[session] = self._clock()

    def ended(self, session: str) -> None:
        """Note that a session has ended, although its front may still be connected for a moment."""
        self._heard.pop(session, None)

    @contextmanager
    def connected(self, session: str, process: Any) -> Iterator[None]:  # noqa: ANN401 - whatever the front says
        """Take a session for a running one inside the block."""
        self._fronts[session].append(process)
        # Only a hint for the next hub: not worth waiting for the disk, and a full one matters elsewhere.
        with (
            suppress(OSError),
            os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file,
        ):
            json.dump(self._fronts, file)
        try:
            yield
        finally:
            self._fronts[session].remove(process)
            if not self._fronts[session]:
                del self._fronts[session]


def _runs(process: Any) -> bool:  # noqa: ANN401 - JSON
    try:
        os.kill(process, 0)
    except (OSError, OverflowError, TypeError):
        return False
    return True
