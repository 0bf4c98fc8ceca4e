"""The time until which a person has switched rules off. It is stored in a file, so a restart of the server keeps it."""

import json
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import structlog

from learning_memory_server.system import files

PAUSE: Final = "rules-off.json"  # The file name in the data folder
_ALWAYS: Final = datetime.max.replace(tzinfo=UTC)

log = structlog.get_logger()


def is_over(off_until: datetime | None, now: datetime) -> bool:
    """Return whether rules that were off until a time, None if they never were, are shown again."""
    return off_until is None or now >= off_until


class RulePause:
    """The pause of rules: for all sessions until a time, or for the sessions that ran when it began."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._until: datetime | None = None
        self._sessions: set[str] = set()  # hashes of session names
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            kept = json.loads(files.content(path))
            self._sessions = set(map(str, kept["sessions"]))
            self._until = datetime.fromisoformat(kept["until"]) if kept["until"] else None

    def until(self, session: str) -> datetime | None:
        """Return the end of the pause for a session, None if rules are on."""
        return _ALWAYS if session in self._sessions else self._until

    @property
    def has_sessions(self) -> bool:
        """Whether rules are off in single sessions, until they end."""
        return bool(self._sessions)

    def begin(self, until: datetime | None, running: Iterable[str]) -> None:
        """Switch rules off until a time, possibly past; with None, in the running sessions until they end."""
        if until is None:
            self._sessions |= set(running)
        else:
            self._until, self._sessions = until, set()
        self._save()

    def end(self, session: str) -> None:
        """Drop a session that has ended."""
        if session in self._sessions:
            self._sessions.discard(session)
            self._save()

    def _save(self) -> None:
        kept = {"until": self._until and self._until.isoformat(), "sessions": sorted(self._sessions)}
        try:
            files.replace(self._path, json.dumps(kept).encode())
        except OSError as error:
            # Rules stay off until this server stops
            log.warning("rules.pause_not_kept", reason=type(error).__name__)
