"""The open entries, their owners, and the running agent sessions, as far as a hub knows."""

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from learning_memory_server.errors import InvalidInputError, NoActiveGhapError
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model import limits
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.lines import one_line, shortened
from learning_memory_server.model.moment import Clock, as_seen
from learning_memory_server.system import files, timeouts
from learning_memory_server.system.recent import Recent


class EntryOwner(StrEnum):
    """The owner of an open entry, from a caller's point of view."""

    CALLER = "you"  # The caller, or an unknown agent of its session
    AGENT = "another agent of this session"
    SESSION = "another live session"
    NOBODY = "a session that has ended"

    @property
    def is_elsewhere(self) -> bool:
        """Whether another agent or session works on the entry."""
        return self in (EntryOwner.AGENT, EntryOwner.SESSION)


class OpenEntries:
    """The open entries, one file each, in the order of their starts. `is_live` returns whether a session runs."""

    def __init__(self, journal: Journal, is_live: Callable[[str], bool]) -> None:
        self._journal = journal
        self._is_live = is_live
        self.by_id: dict[str, Ghap] = {}

    def load(self, entries: Iterable[Ghap]) -> None:
        """Load these entries. If a crash left an agent with two current entries, the newest stays current."""
        self.by_id = {entry.id: entry for entry in entries}
        newest = {_agent(entry): entry for entry in self.by_id.values() if not entry.orphaned}
        for entry in list(self.by_id.values()):
            if not entry.orphaned and newest[_agent(entry)] is not entry:
                self.by_id[entry.id] = replace(entry, orphaned=True)

    def save(self, entry: Ghap) -> None:
        """Write an entry to disk, and keep it."""
        self._journal.save_open(entry)
        self.by_id[entry.id] = entry

    def current(self, caller: Caller) -> Ghap | None:
        """Return the caller's current entry, the newest that is not orphaned; None if there is none."""
        agent = caller.project, caller.session, caller.agent or ""
        mine = (each for each in reversed(self.by_id.values()) if not each.orphaned and _agent(each) == agent)
        return next(mine, None)

    def candidates(self, caller: Caller) -> list[Ghap]:
        """Return the open entries that may be the caller's, newest first.

        Empty if the agent is known, or if the client does not name its calls: then `current` decides.
        """
        return [] if caller.agent is not None or not caller.names_calls else self._of_session(caller)

    def is_ambiguous(self, caller: Caller) -> bool:
        """Whether the caller's entry is ambiguous, because the client does not identify its agents."""
        return len(self.candidates(caller)) > 1

    def left(self, caller: Caller) -> list[Ghap]:
        """Return the other open entries of the caller's session, newest first, if the client does not name calls."""
        current = self.current(caller)
        return [] if caller.names_calls else [each for each in self._of_session(caller) if each is not current]

    def known_to(self, caller: Caller) -> Ghap | None:
        """Return the caller's current entry, None if the call could mean another one."""
        return None if self.is_ambiguous(caller) or self.left(caller) else self.current(caller)

    def get_current(self, caller: Caller) -> Ghap:
        """Return the entry for a call without an id. Raises `NoActiveGhapError`, or `InvalidInputError` for several."""
        if len(here := self.candidates(caller)) > 1:
            raise InvalidInputError(
                f"ghap_id: required, because several entries are open in this session: {'; '.join(map(named, here))}.",
                hint="Call again with the ghap_id of your own entry.",
                arguments=["ghap_id"],
            )
        if entry := self.current(caller):
            return entry
        others = ", ".join(each.id for each in self.others(caller, elsewhere=False)[: limits.ENTRIES_NAMED])
        raise NoActiveGhapError(
            "You have no open GHAP entry.",
            hint=(
                f"Call start_ghap, or name one of the project's open entries as ghap_id: {others}."
                if others
                else "Call start_ghap first."
            )
            + " After the fact, give resolve_ghap a goal and a hypothesis.",
        )

    def owner(self, entry: Ghap, caller: Caller) -> EntryOwner:
        """Return the owner of an entry."""
        if entry.agent_session == caller.session:
            is_another = caller.agent and entry.agent and caller.agent != entry.agent
            return EntryOwner.AGENT if is_another else EntryOwner.CALLER
        return EntryOwner.SESSION if self._is_live(entry.agent_session) else EntryOwner.NOBODY

    def others(self, caller: Caller, *, elsewhere: bool) -> list[Ghap]:
        """Return the project's other open entries, newest first: with an active owner if `elsewhere`, else without."""
        current = self.current(caller)
        return [
            entry
            for entry in self._newest(caller)
            if entry is not current and self.owner(entry, caller).is_elsewhere == elsewhere
        ]

    def _of_session(self, caller: Caller) -> list[Ghap]:
        return [entry for entry in self._newest(caller) if entry.agent_session == caller.session]

    def _newest(self, caller: Caller) -> list[Ghap]:
        here = (entry for entry in self.by_id.values() if entry.project == caller.project)
        return sorted(here, key=lambda entry: (as_seen(entry.created_at), entry.id), reverse=True)


def named(entry: Ghap) -> str:
    """Return the id of an entry, and the beginning of its goal for recognition."""
    return f"{entry.id} ({shortened(one_line(entry.goal), limits.NAMED_GOAL_MAX)})"


def _agent(entry: Ghap) -> tuple[str, str, str]:
    return entry.project, entry.agent_session, entry.agent


SESSIONS: Final = "sessions.json"
"""The file in the storage folder with the sessions whose fronts are connected."""


class LiveSessions:
    """The sessions with a connected front, or with a sign of life in the last half hour.

    A session has ended when its last front has left. After a restart, the hub counts each session whose front was
    connected and still runs, so that their entries are not taken for orphans.
    """

    def __init__(self, clock: Clock, path: Path) -> None:
        self._clock = clock
        self._path = path
        self._fronts: defaultdict[str, list[int]] = defaultdict(list)
        self._heard: Recent[str, datetime] = Recent()
        self._left: Recent[str, Any] = Recent()
        with suppress(OSError, ValueError, TypeError, AttributeError, RecursionError):
            for session, processes in json.loads(files.content(path)).items():
                if running := list(filter(_runs, processes)):
                    self.heard(session)
                    self._left[session] = running[-1]

    def is_live(self, session: str) -> bool:
        """Whether a session is running."""
        heard = self._heard.get(session)
        return session in self._fronts or (
            heard is not None
            and self._clock() - heard <= timedelta(seconds=timeouts.SESSION_HEARD)
            and (session not in self._left or _runs(self._left[session]))
        )

    def heard(self, session: str) -> None:
        """Record a sign of life of a session."""
        self._heard[session] = self._clock()
        self._left.pop(session, None)

    def ended(self, session: str) -> None:
        """Record that a session has ended, although its front may still be connected for a moment."""
        self._heard.pop(session, None)

    @contextmanager
    def connected(self, session: str, process: Any) -> Iterator[None]:
        """Count a session as running while the block runs."""
        self._fronts[session].append(process)
        # Only a hint for the next hub: not worth waiting for the disk, and a full disk is reported elsewhere.
        with (
            suppress(OSError),
            os.fdopen(files.open_file(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as file,
        ):
            json.dump(self._fronts, file)
        try:
            yield
        finally:
            self._fronts[session].remove(process)
            if not self._fronts[session]:
                del self._fronts[session]
                if session in self._heard and process is not None:
                    self._left[session] = process


def _runs(process: Any) -> bool:
    try:
        os.kill(process, 0)
    except (OSError, OverflowError, TypeError):
        return False
    return True
