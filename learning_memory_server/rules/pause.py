"""The time for which a person has switched rules off, in a file: it holds when the server starts again."""

import json
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import structlog

from learning_memory_server.system import files

PAUSE: Final = "rules-off.json"  # The file, in the data folder
_ALWAYS: Final = datetime.max.replace(tzinfo=UTC)

log = structlog.get_logger()


class RulePause:
    """Until when rules are off: in all sessions, or to the end of those that ran when they were switched off."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._until: datetime | None = None
        self._sessions: set[str] = set()  # hashes of their names
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            kept = json.loads(files.content(path))
            self._sessions = set(map(str, kept["sessions"]))
            self._until = datetime.fromisoformat(kept["until"]) if kept["until"] else None

    def until(self, session: str) -> datetime | None:
        """Return until when rules are off in a session, None if they are not."""
        return _ALWAYS if session in self._sessions else self._until

    def begin(self, until: datetime | None, running: Iterable[str]) -> None:
        """Switch rules off until a time, which may be past; None: in the sessions that run, to their end."""
        if until is None:
            self._sessions |= set(running)
        else:
            self._until, self._sessions = until, set()
        self._save()

    def end(self, session: str) -> None:
        """Forget a session that has ended."""
        if session in self._sessions:
            self._sessions.discard(session)
            self._save()

    def _save(self) -> None:
        kept = {"until": self._until and self._until.isoformat(), "sessions": sorted(self._sessions)}
        try:
            files.replace(self._path, json.dumps(kept).encode())
        except OSError as error:
            # Off they are, until this server ends
            log.warning("rules.pause_not_kept", reason=type(error).__name__)
