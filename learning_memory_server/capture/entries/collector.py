"""The life of a GHAP entry in the journal, from its start to its resolution."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from structlog.contextvars import bound_contextvars

from learning_memory_server.capture.entries.open_entries import OpenEntries
from learning_memory_server.capture.entries.timeline import Timeline
from learning_memory_server.errors import InvalidInputError, JournalUnavailableError, NotFoundError
from learning_memory_server.index.document import documents_of, point_id
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.journal.records import Records
from learning_memory_server.model import limits
from learning_memory_server.model.entry import Ghap, Resolution, new_ghap_id
from learning_memory_server.model.lines import one_line
from learning_memory_server.system.ram import without_collections

if TYPE_CHECKING:
    from learning_memory_server.index.document import Document
    from learning_memory_server.index.writer import IndexWriter
    from learning_memory_server.journal.journal import Journal
    from learning_memory_server.journal.records import Forgetting
    from learning_memory_server.model.caller import Caller
    from learning_memory_server.model.entry import Anchor, Beginning, Changes, Met, Outcome, Run
    from learning_memory_server.model.moment import Clock


@dataclass(frozen=True, slots=True)
class Started:
    """A new entry, and the caller's earlier entry if it is still open."""

    entry: Ghap
    orphan: Ghap | None


class Belief(NamedTuple):
    """An agent's belief, stated after the outcome is known; `same_as` is the id of an entry with the same belief."""

    goal: str
    hypothesis: str
    same_as: str = ""


class ObservationCollector(Records[Ghap]):
    """The resolved entries as records, and the open entries. Every change is on disk before the call returns.

    Each agent has its own current entry, if the client identifies agents. Nothing here awaits, so a change is never
    half done, and parallel sessions cannot interleave their writes.
    """

    def __init__(self, journal: Journal, clock: Clock, is_live: Callable[[str], bool] = lambda _session: False) -> None:
        super().__init__(journal.entries)
        self._journal = journal
        self._clock = clock
        self._has_timeline = False
        self._loading = Lock()
        self._open = OpenEntries(journal, is_live)
        self._timeline = Timeline()

    def start(self, caller: Caller, **beginning: Unpack[Beginning]) -> Started:
        """Open an entry. The caller's current entry, if any, stays open as an orphan."""
        if done := self._done(caller):
            return Started(done, None)
        now = self._clock()
        entry = self._made(caller, now, first_confidence=beginning.get("confidence"), **beginning)
        orphan = self._open.current(caller)
        self._open.save(entry)
        if orphan is not None:
            # The new entry is safe, so this must not fail: a start reads the newer of two as current.
            with suppress(JournalUnavailableError):
                self._open.save(replace(orphan, orphaned=True))
        return Started(entry, orphan)

    def update(self, caller: Caller, ghap_id: str | None = None, **changes: Unpack[Changes]) -> Ghap:
        """Change an open entry: the caller's current one, or a given one, which the caller adopts if needed."""
        if done := self._done(caller):
            return done
        entry = self._get_open(caller, ghap_id)
        is_free = entry.project == caller.project and not self._open.owner(entry, caller).is_elsewhere
        # A misdirected hook must not take over an entry from the agent that works on it.
        is_free &= caller.agent is not None or not entry.agent or entry.agent_session != caller.session
        if is_free and self._open.current(caller) is None:
            entry = replace(entry, agent_session=caller.session, agent=caller.agent or "", orphaned=False)
        entry = entry.revised(self._clock(), **changes)
        entry = replace(entry, requests=caller.noted(entry.requests))
        self._open.save(entry)
        return entry

    def add_run(self, caller: Caller, run: Run) -> Ghap | None:
        """Add the result of a test or build to the caller's current entry, and return the entry, if unambiguous."""
        entry = self.still_open.current(caller)
        if entry is None or self._open.is_ambiguous(caller):
            return None
        entry = replace(entry, runs=(*entry.runs, run)[-limits.RUNS_MAX :])
        self._open.save(entry)
        return entry

    def get_target(self, caller: Caller, ghap_id: str | None = None) -> Ghap:
        """Return the entry that `update` or `resolve` would change, or has already changed in a repeated call."""
        return self._done(caller) or self._get_open(caller, ghap_id)

    def resolve(
        self,
        caller: Caller,
        ghap_id: str | None = None,
        met: Callable[[Ghap, Caller], tuple[Met, ...]] = lambda _entry, _caller: (),
        **outcome: Unpack[Outcome],
    ) -> Ghap:
        """Resolve an open entry with the errors from `met`. Raises as `update`; a falsified entry requires a reason."""
        if (done := self._done(caller)) and done.resolution:
            return done
        entry = self._get_open(caller, ghap_id)
        now = self._clock()
        resolution = _resolution(now, outcome)
        resolved = replace(entry, orphaned=False, resolution=resolution, requests=caller.noted(entry.requests))
        resolved = replace(resolved, errors=met(resolved, caller))
        self.add(resolved, at=now)
        self._open.by_id.pop(resolved.id, None)
        # The entry is saved, so this must not fail: a leftover open file is removed at the next start.
        with suppress(JournalUnavailableError):
            self._journal.close_entry(resolved.id)
        return resolved

    def record(self, caller: Caller, belief: Belief, **outcome: Unpack[Outcome]) -> Ghap:
        """Write a resolved entry for a belief with a known outcome; open entries stay open. Raises as `resolve`."""
        if (done := self._done(caller)) and done.resolution:
            return done
        now = self._clock()
        resolution = _resolution(now, outcome)
        entry = self._made(
            caller,
            now,
            goal=belief.goal,
            hypothesis=belief.hypothesis,
            resolution=resolution,
            afterwards=True,
            same_as=belief.same_as,
        )
        self.add(entry, at=now)
        return entry

    def believed_again(self, ghap_id: str) -> Belief:
        """Return the belief of a resolved entry of this store, for another entry with the same belief."""
        try:
            entry = self.get(ghap_id)
        except NotFoundError as error:
            raise NotFoundError(f"same_as: {error.message}", hint=error.hint, arguments=["same_as"]) from None
        if entry.resolution is None:
            raise InvalidInputError(
                f"same_as: {ghap_id} is still open.",
                hint="To close it, call resolve_ghap with its id as ghap_id.",
                arguments=["same_as"],
            )
        if entry.imported:
            raise InvalidInputError(
                f"same_as: {ghap_id} was imported from another store.",
                hint="Give goal and hypothesis in your own words.",
                arguments=["same_as"],
            )
        return Belief(entry.goal, entry.hypothesis, ghap_id)

    def split(self, ghap_id: str) -> Ghap:
        """Undo, for a person, that an entry is the same as another one. Return the changed entry."""
        entry = self.get(ghap_id)
        if not entry.repeats:
            raise InvalidInputError(f"{ghap_id} is not the same as another entry, as far as its agent says.")
        entry = replace(entry, split=True)
        self.add(entry, at=entry.outcome.resolved_at)
        return entry

    def repeating(self, ghap_ids: Iterable[str]) -> list[str]:
        """Return the ids of other entries that took their goal and hypothesis from these entries, split or not."""
        sources = dict.fromkeys(ghap_ids)
        given = len(sources)
        # An entry comes after the entry that it repeats.
        for entry in self.timeline:
            if entry.same_as in sources:
                sources.setdefault(entry.id)
        return list(sources)[given:]

    def anchor(self, ghap_id: str, anchors: tuple[Anchor, ...]) -> None:
        """Store the files that a resolved entry is about, unless the entry was deleted in the meantime."""
        if (entry := self.find(ghap_id)) and anchors:
            self.add(replace(entry, anchors=anchors), at=entry.outcome.resolved_at)

    def add(self, *things: Ghap, at: datetime | None = None) -> None:
        """Append resolved entries to the log; see `Records.add`."""
        timeline, before = self.timeline, [self.find(each.id) for each in things]
        super().add(*things, at=at)
        for entry in filter(None, before):
            timeline.remove(entry)
        for entry in things:
            timeline.add(entry)

    def add_resolved(self, entries: Sequence[Ghap]) -> list[Ghap]:
        """Import resolved entries, and return those whose ids were neither known nor deleted here."""
        known = self.still_open.by_id
        return self.add_new((entry for entry in entries if entry.id not in known), self._clock())

    def add_open(self, entries: Sequence[Ghap]) -> list[Ghap]:
        """Import open entries as orphans, and return those whose ids were new."""
        unknown = self.look_up(entry.id for entry in entries).unknown
        new = {entry.id: replace(entry, orphaned=True) for entry in entries if entry.id in unknown}
        for entry in new.values():
            self._open.save(entry)
        return list(new.values())

    def rewrite_open(self, ids: Collection[str], change: Callable[[Ghap], Ghap]) -> int:
        """Change the open entries with these ids on disk and in memory, and return the number of altered entries."""
        held = [entry for entry in self.still_open.by_id.values() if entry.id in ids]
        altered = [changed for entry in held if (changed := change(entry)) != entry]
        for entry in altered:
            self._open.save(entry)
        return len(altered)

    def replace_loaded(self, *things: Ghap) -> None:
        """Replace resolved entries whose log lines were rewritten. Their times must be unchanged."""
        super().replace_loaded(*things)
        self._timeline = Timeline(self.all())

    def documents(self) -> Iterator[Document]:
        """Yield the documents of resolved entries on all axes, for the index."""
        for entry in self.list_resolved():
            yield from documents_of(entry)

    def points(self, name: str) -> Iterable[str]:
        """Return the point id of an entry, which is the same on all axes."""
        return (point_id("ghap", name),)

    def _forgettable(self, name: str) -> Ghap | None:
        return self.still_open.by_id.get(name) or self.find(name)

    def look_up_project(self, project: str) -> Forgetting[Ghap]:
        """Return a preview of forgetting a whole project. Nothing is changed."""
        entries = (*self.timeline, *self._open.by_id.values())
        return self.look_up(entry.id for entry in entries if entry.project == project)

    def forget(self, ids: Iterable[str], at: datetime, *, unknown_too: bool = False) -> Forgetting[Ghap]:
        """Delete entries permanently, open ones included; see `Records.forget`. The caller must remove their points."""
        forgetting = super().forget(ids, at, unknown_too=unknown_too)
        for entry in forgetting.found:
            if entry.resolution:
                self._timeline.remove(entry)
            if self._open.by_id.pop(entry.id, None):
                # The tombstone is on disk: a leftover open file is removed at the next start.
                with suppress(JournalUnavailableError):
                    self._journal.close_entry(entry.id)
        return forgetting

    def get(self, ghap_id: str) -> Ghap:
        """Return an entry, open or resolved."""
        looked = self.look_up([ghap_id])
        if looked.found:
            return looked.found[0]
        if looked.before:
            raise NotFoundError(f"{ghap_id} was forgotten.")
        raise NotFoundError(
            f"There is no entry {ghap_id}.", hint="list_ghap_entries and search_experiences show the ids."
        )

    def list_resolved(self, query: EntryQuery | None = None) -> list[Ghap]:
        """Return the matching resolved entries, most recently resolved first."""
        wanted = query or EntryQuery()
        found = self.timeline.newest(wanted.project)
        # Most queries have no filter other than the project.
        is_narrower = wanted != EntryQuery(project=wanted.project)
        return [entry for entry in found if wanted.matches(entry)] if is_narrower else list(found)

    @property
    def still_open(self) -> OpenEntries:
        """The open entries, read-only."""
        self.load()
        return self._open

    @property
    def timeline(self) -> Timeline:
        """The resolved entries by time, read-only. A change of the entries may replace the object."""
        self.load()
        return self._timeline

    def load(self) -> None:
        """Read the journal once. Other threads wait for it."""
        if self._has_timeline:
            return
        with self._loading, without_collections():
            if not self._has_timeline:
                self._timeline = Timeline(self.all())
                self._open.load(entry for entry in self._journal.open_entries() if not self.has_had(entry.id))
                self._has_timeline = True

    def _made(self, caller: Caller, now: datetime, **fields: Any) -> Ghap:
        """Return a new entry of a caller."""
        return Ghap(
            id=self._new_id(now),
            project=caller.project,
            agent_session=caller.session,
            agent=caller.agent or "",
            created_at=now,
            requests=caller.noted(),
            **fields,
        )

    def _new_id(self, now: datetime) -> str:
        ghap_id = new_ghap_id(now)
        while not self.look_up([ghap_id]).unknown:
            ghap_id = new_ghap_id(now)
        return ghap_id

    def _get_open(self, caller: Caller, ghap_id: str | None) -> Ghap:
        if ghap_id is None:
            return self.still_open.get_current(caller)
        if ghap_id in self.still_open.by_id:
            return self._open.by_id[ghap_id]
        if resolved := self.find(ghap_id):
            raise NotFoundError(
                f"{ghap_id} is already resolved ({resolved.outcome.status}) and cannot be changed.",
                hint="Call start_ghap for a new hypothesis.",
            )
        if self.look_up([ghap_id]).before:
            raise NotFoundError(f"{ghap_id} was forgotten.", hint="Call start_ghap for a new hypothesis.")
        raise NotFoundError(f"There is no entry {ghap_id}.", hint="Call get_active_ghap to see the open entries.")

    def _done(self, caller: Caller) -> Ghap | None:
        """Return the entry that an earlier attempt of a repeated call has changed, None for any other call."""
        if not (caller.request and caller.again):
            return None
        still_open = (entry for entry in self.still_open.by_id.values() if caller.request in entry.requests)
        return next(still_open, None) or self.find_by_request(caller.request)


def _resolution(at: datetime, outcome: Outcome) -> Resolution:
    """Return the resolution of an entry. Raises InvalidInputError for a falsified entry without a reason."""
    kept = outcome.copy()
    kept["words"] = one_line(outcome.get("words", ""))[: limits.PERSON_WORDS_MAX]
    resolution = Resolution(resolved_at=at, **kept)
    resolution.require_explanation()
    return resolution


@dataclass(frozen=True, slots=True)
class ObservationPersister:
    """Writes resolved entries to the index. The writer retries failed writes later."""

    writer: IndexWriter

    async def persist(self, entry: Ghap) -> bool:
        """Index the entry. Return whether it is in the index now; otherwise it is pending."""
        # Also for the log lines of later attempts.
        with bound_contextvars(ghap_id=entry.id):
            return await self.writer.write(documents_of(entry))
