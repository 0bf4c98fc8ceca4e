"""Sessions that a client has cleared: it calls them by another name since, which their fronts do not know."""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from learning_memory_server.system import files, timeouts
from learning_memory_server.system.recent import Recent

CLEARED: Final = "cleared-sessions.json"
"""The file, in the storage folder: a hub may end between two hooks."""
_WAITING: Final = 32  # Cleared sessions that have not begun again: the last ones


class _Waiting(NamedTuple):
    """A session that has ended to be cleared, and has not begun again."""

    folder: str
    group: int | None
    session: str
    at: float  # in seconds since 1970


class ClearedSessions:
    """Tells which session a new name means.

    Clients do not say it. So it is the session that was cleared a moment ago in the same folder and the same group of
    processes, or else the only one in the folder. Of several, none is taken: each keeps what it has.
    """

    def __init__(self, file: Path, now: Callable[[], float] = time.time) -> None:
        self._file = file
        self._now = now
        self._waiting: list[_Waiting] = []
        self._names: Recent[str, str] = Recent()
        # A file that is not as it was written costs only the names.
        with suppress(OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
            kept = json.loads(files.content(file))
            self._waiting = [
                _Waiting(str(folder), group, str(name), float(at)) for folder, group, name, at in kept["waiting"]
            ]
            for name, session in kept["names"].items():
                self._names[str(name)] = str(session)

    def session(self, name: str) -> str:
        """Return the session that a client's name means."""
        return self._names.get(name, name)

    def end(self, name: str, folder: str, group: int | None) -> str:
        """Note that a session ends to be cleared, and return it."""
        session = self.session(name)
        self._waiting = [each for each in self._fresh() if each.session != session]
        self._waiting = [*self._waiting[1 - _WAITING :], _Waiting(folder, group, session, self._now())]
        self._save()
        return session

    def begin(self, name: str, folder: str, group: int | None) -> str:
        """Return the session that a cleared one goes on as under a new name."""
        self._waiting = self._fresh()
        here = [each for each in self._waiting if each.folder == folder]
        alike = [each for each in here if group is not None and each.group == group] or here
        if len(alike) != 1:
            return self.session(name)
        self._waiting.remove(alike[0])
        self._names[name] = alike[0].session
        self._save()
        return alike[0].session

    def _fresh(self) -> list[_Waiting]:
        return [each for each in self._waiting if self._now() - each.at < timeouts.CLEARED]

    def _save(self) -> None:
        # Without the file, only a restart between two hooks is noticed.
        with suppress(OSError):
            files.replace(self._file, json.dumps({"waiting": self._waiting, "names": self._names}).encode())
