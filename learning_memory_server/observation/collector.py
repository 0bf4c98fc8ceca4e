"""The life of a GHAP entry, from its start to its resolution, over the journal."""

from __future__ import annotations

from bisect import insort
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from learning_memory_server.domain.ghap import Ghap, Resolution, new_ghap_id
from learning_memory_server.errors import JournalUnavailableError, NoActiveGhapError, NotFoundError
from learning_memory_server.indexing.document import point_id
from learning_memory_server.journal.codec import ghap_from_data, ghap_to_data
from learning_memory_server.journal.forgetting import Forgetting
from learning_memory_server.journal.record import JournalRecord
from learning_memory_server.observation.query import EntryQuery

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from learning_memory_server.domain.caller import Caller
    from learning_memory_server.domain.ghap import Lesson, RootCause
    from learning_memory_server.domain.moment import Clock
    from learning_memory_server.domain.vocabulary import Domain, OutcomeStatus, Strategy
    from learning_memory_server.journal.journal import Journal


_NAMED: Final = 5
"""How many open entries a message names, the newest."""


@dataclass(frozen=True, slots=True)
class Started:
    """A new entry, and the one of the same caller that it left open."""

    entry: Ghap
    orphan: Ghap | None


class ObservationCollector:
    """Open and resolved entries. Every change is on the disk before the call returns.

    "Current" belongs to a caller: an agent's present entry is never another agent's. The journal is read
    once, at the first use. Nothing here awaits: a change is complete or has not begun, whatever is
    cancelled, and writes by parallel sessions cannot interleave.

    Args:
        journal: Where entries live. The process must hold its lock to change them.
        clock: Tells the time.
    """

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self._loaded = False
        self._open: dict[str, Ghap] = {}
        self._resolved: dict[str, Ghap] = {}
        self._by_time: list[Ghap] = []
        self._by_request: dict[str, str] = {}
        self._forgotten: set[str] = set()

    def start(  # noqa: PLR0913 - a GHAP has six parts
        self,
        caller: Caller,
        *,
        domain: Domain,
        strategy: Strategy,
        goal: str,
        hypothesis: str,
        action: str,
        prediction: str,
    ) -> Started:
        """Open an entry. The caller's open one, if any, stays open as an orphan."""
        self.load()
        if done := self._done(caller):
            return Started(done, None)
        now = self._clock()
        ghap_id = new_ghap_id(now)
        while ghap_id in self._open or ghap_id in self._resolved or ghap_id in self._forgotten:
            ghap_id = new_ghap_id(now)
        entry = Ghap(
            id=ghap_id,
            project=caller.project,
            agent_session=caller.session,
            created_at=now,
            domain=domain,
            strategy=strategy,
            goal=goal,
            hypothesis=hypothesis,
            action=action,
            prediction=prediction,
            requests=_with(caller),
        )
        orphan = self._current(caller)
        self._save_open(entry)
        if orphan is not None:
            self._save_open(replace(orphan, orphaned=True))
        return Started(entry, orphan)

    def update(  # noqa: PLR0913 - each part can change by itself
        self,
        caller: Caller,
        ghap_id: str | None = None,
        *,
        hypothesis: str | None = None,
        action: str | None = None,
        prediction: str | None = None,
        strategy: Strategy | None = None,
        note: str | None = None,
    ) -> Ghap:
        """Change an open entry: the caller's current one, or the one named.

        A caller without a current entry adopts the one it names, if it is of its project.

        Raises:
            NoActiveGhapError: If none is named and the caller has none.
            NotFoundError: If the one named is not open.
        """
        self.load()
        if done := self._done(caller):
            return done
        entry = self._get_open(caller, ghap_id)
        if self._current(caller) is None and entry.project == caller.project:
            entry = replace(entry, agent_session=caller.session, orphaned=False)
        entry = entry.revised(
            at=self._clock(),
            hypothesis=hypothesis,
            action=action,
            prediction=prediction,
            strategy=strategy,
            note=note,
        )
        entry = replace(entry, requests=_with(caller, entry))
        self._save_open(entry)
        return entry

    def resolve(  # noqa: PLR0913 - an outcome has five parts
        self,
        caller: Caller,
        ghap_id: str | None = None,
        *,
        status: OutcomeStatus,
        result: str,
        surprise: str | None = None,
        root_cause: RootCause | None = None,
        lesson: Lesson | None = None,
    ) -> Ghap:
        """Close an open entry: the caller's current one, or the one named.

        Raises:
            InvalidInputError: If a falsified hypothesis comes without its explanation.
            NoActiveGhapError: If none is named and the caller has none.
            NotFoundError: If the one named is not open.
        """
        self.load()
        if (done := self._done(caller)) and done.resolution:
            return done
        entry = self._get_open(caller, ghap_id)
        now = self._clock()
        resolution = Resolution(status, result, now, surprise, root_cause, lesson)
        resolution.require_explanation()
        resolved = replace(entry, orphaned=False, resolution=resolution, requests=_with(caller, entry))
        self._journal.entries.append([_record(resolved, now)])
        self._keep(resolved)
        # The entry is safe: a leftover open file is removed at the next start, and no reason to fail.
        with suppress(JournalUnavailableError):
            self._journal.close_entry(resolved.id)
        return resolved

    def add_resolved(self, entries: Sequence[Ghap]) -> list[Ghap]:
        """Take resolved entries from elsewhere and return those that were new, by id.

        What was forgotten here is never new: `are_forgotten` tells which those are.
        """
        self.load()
        known = self._resolved.keys() | self._open.keys() | self._forgotten
        new = list({entry.id: entry for entry in entries if entry.id not in known}.values())
        now = self._clock()
        self._journal.entries.append([_record(entry, now) for entry in new])
        for entry in new:
            self._keep(entry)
        return new

    def add_open(self, entries: Sequence[Ghap]) -> list[Ghap]:
        """Take open entries from elsewhere as orphans, and return those that were new, by id."""
        self.load()
        known = self._resolved.keys() | self._open.keys() | self._forgotten
        new = {entry.id: replace(entry, orphaned=True) for entry in entries if entry.id not in known}
        for entry in new.values():
            self._save_open(entry)
        return list(new.values())

    def look_up(self, ids: Iterable[str]) -> Forgetting[Ghap]:
        """Return what `forget` would return, and change nothing."""
        self.load()
        return Forgetting.of(ids, {**self._resolved, **self._open}, self._forgotten)

    def look_up_project(self, project: str) -> Forgetting[Ghap]:
        """Return what there is of a project, as what would be forgotten."""
        self.load()
        entries = (*self._by_time, *self._open.values())
        return self.look_up(entry.id for entry in entries if entry.project == project)

    def forget(self, ids: Iterable[str], at: datetime, *, unknown_too: bool = False) -> Forgetting[Ghap]:
        """Forget entries, open ones as well; they are gone from every reading once this returns.

        That is final: their ids never come back. Their points are the caller's to remove from the index.

        Args:
            ids: Which.
            at: When.
            unknown_too: Write unknown ids down as well, so that what they name elsewhere is never taken here.

        Raises:
            JournalUnavailableError: If it could not be written down; then nothing is forgotten.
        """
        forgetting = self.look_up(ids)
        gone = [entry.id for entry in forgetting.found] + list(forgetting.unknown if unknown_too else ())
        self._journal.entries.forget("ghap", gone, at)
        self._forgotten.update(gone)
        self._by_time = [entry for entry in self._by_time if entry.id not in gone]
        for ghap_id in gone:
            self._resolved.pop(ghap_id, None)
            if self._open.pop(ghap_id, None):
                # The tombstone is written: a leftover open file is removed at the next start.
                with suppress(JournalUnavailableError):
                    self._journal.close_entry(ghap_id)
        return forgetting

    def points_of(self, forgetting: Forgetting[Ghap]) -> list[str]:
        """Return the ids of the points of what was forgotten, now or before."""
        gone = [*(entry.id for entry in forgetting.found), *forgetting.before]
        return [point_id("ghap", ghap_id) for ghap_id in gone]

    def all_forgotten(self) -> frozenset[str]:
        """Return the ids of everything that is forgotten."""
        self.load()
        return frozenset(self._forgotten)

    def are_forgotten(self, ids: Iterable[str]) -> set[str]:
        """Return those of the ids that are forgotten."""
        self.load()
        return self._forgotten.intersection(ids)

    def find_current(self, caller: Caller) -> Ghap | None:
        """Return the caller's current entry, if it has one."""
        self.load()
        return self._current(caller)

    def list_orphans(self, caller: Caller) -> list[Ghap]:
        """Return the project's other open entries, newest first."""
        self.load()
        current = self._current(caller)
        others = (e for e in self._open.values() if e.project == caller.project and e is not current)
        return sorted(others, key=lambda entry: (entry.created_at, entry.id), reverse=True)

    def list_resolved(self, query: EntryQuery | None = None) -> list[Ghap]:
        """Return the resolved entries that match, newest first by their resolution."""
        self.load()
        wanted = query or EntryQuery()
        return [entry for entry in reversed(self._by_time) if wanted.matches(entry)]

    def load(self) -> None:
        """Read the journal, once."""
        if self._loaded:
            return
        # A later line about the same entry supersedes an earlier one.
        content = self._journal.entries.read()
        self._resolved = {record.id: record.decoded(ghap_from_data) for record in content.records}
        self._forgotten = content.forgotten_ids("ghap")
        self._by_time = sorted(self._resolved.values(), key=_resolution_order)
        self._open = {
            entry.id: entry
            for entry in self._journal.open_entries()
            if entry.id not in self._resolved and entry.id not in self._forgotten
        }
        # A crash in `start` can leave two entries of one caller that are not orphaned; the newest is meant.
        newest = {
            (entry.project, entry.agent_session): entry for entry in self._open.values() if not entry.orphaned
        }
        for entry in list(self._open.values()):
            if not entry.orphaned and newest[entry.project, entry.agent_session] is not entry:
                self._open[entry.id] = replace(entry, orphaned=True)
        for entry in (*self._resolved.values(), *self._open.values()):
            self._by_request.update(dict.fromkeys(entry.requests, entry.id))
        self._loaded = True

    def _current(self, caller: Caller) -> Ghap | None:
        mine = (
            entry
            for entry in reversed(self._open.values())
            if entry.agent_session == caller.session
            and entry.project == caller.project
            and not entry.orphaned
        )
        return next(mine, None)

    def _get_open(self, caller: Caller, ghap_id: str | None) -> Ghap:
        if ghap_id is None:
            entry = self._current(caller)
            if entry is None:
                others = ", ".join(entry.id for entry in self.list_orphans(caller)[:_NAMED])
                raise NoActiveGhapError(
                    "You have no open GHAP entry.",
                    hint=f"Call start_ghap, or name one of the project's open entries as ghap_id: {others}."
                    if others
                    else "Call start_ghap first.",
                )
            return entry
        if ghap_id in self._open:
            return self._open[ghap_id]
        if ghap_id in self._resolved:
            status = self._resolved[ghap_id].outcome.status
            raise NotFoundError(
                f"{ghap_id} is resolved already ({status}) and stays as it is.",
                hint="Call start_ghap for a new hypothesis.",
            )
        if ghap_id in self._forgotten:
            raise NotFoundError(f"{ghap_id} was forgotten.", hint="Call start_ghap for a new hypothesis.")
        raise NotFoundError(
            f"There is no entry {ghap_id}.", hint="Call get_active_ghap to see the open entries."
        )

    def _done(self, caller: Caller) -> Ghap | None:
        """Return the entry that this very call has changed before, if its answer was lost and it is sent again."""
        ghap_id = self._by_request.get(caller.request) if caller.request and caller.again else None
        return (self._open.get(ghap_id) or self._resolved.get(ghap_id)) if ghap_id else None

    def _save_open(self, entry: Ghap) -> None:
        self._journal.save_open(entry)
        self._open[entry.id] = entry
        self._by_request.update(dict.fromkeys(entry.requests, entry.id))

    def _keep(self, entry: Ghap) -> None:
        self._open.pop(entry.id, None)
        self._resolved[entry.id] = entry
        self._by_request.update(dict.fromkeys(entry.requests, entry.id))
        insort(self._by_time, entry, key=_resolution_order)


def _with(caller: Caller, entry: Ghap | None = None) -> tuple[str, ...]:
    before = entry.requests if entry else ()
    return (*before, caller.request) if caller.request else before


def _record(entry: Ghap, at: datetime) -> JournalRecord:
    return JournalRecord("ghap", entry.id, at, ghap_to_data(entry))


def _resolution_order(entry: Ghap) -> tuple[datetime, str]:
    return entry.outcome.resolved_at, entry.id
