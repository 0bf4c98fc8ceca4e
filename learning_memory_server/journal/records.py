"""The records of one kind in a log, decoded: read once, looked up by id, forgotten permanently; and failures."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from threading import Lock
from typing import Any, Final, Generic, Protocol, TypeVar

import structlog

from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.kinds import RecordKind
from learning_memory_server.journal.log import Log
from learning_memory_server.model import limits
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.limits import FAILURES_KEPT
from learning_memory_server.model.moment import as_seen
from learning_memory_server.system.ram import without_collections


class Identified(Protocol):
    """Something that a log keeps: entries, values and memories have these in common."""

    @property
    def id(self) -> str: ...  # noqa: D102

    @property
    def project(self) -> str: ...  # noqa: D102


T = TypeVar("T", bound=Identified)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Forgetting(Generic[T]):
    """Forgotten things, now (`found`) and `before`, and `unknown` ids. Earlier ones may still be in the index."""

    found: tuple[T, ...] = ()
    before: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class Records(Generic[T]):
    """The things of one kind in a `log`, read once at first use. Writes are on the disk before they are visible.

    A line of unknown content hides only its own thing. A log that cannot be read raises
    `JournalUnavailableError`; if the kind `is_beside`, only writing and forgetting do, and there is nothing to read.
    """

    def __init__(self, log: Log) -> None:
        self.log = log
        self._codec: RecordKind[T] = log.kind
        self._by_id: dict[str, T] | None = None
        self._reading = Lock()
        self._tombstones: dict[str, dict[str, Any]] = {}
        self._hidden: set[str] = set()  # the ids of what is not understood
        self._is_lost = False  # whether the log could not be read

    def all(self) -> list[T]:
        """Return everything that is not forgotten, oldest first."""
        return list(self._readable().values())

    def find(self, name: str) -> T | None:
        """Return the thing with this id, or None."""
        return self._readable().get(name)

    def has_had(self, name: str) -> bool:
        """Return whether there is, or was, a thing with this id."""
        return name in self._readable() or name in self._tombstones or name in self._hidden

    def knows(self, payload: Mapping[str, Any]) -> bool:
        """Return whether a point of the index is of something that is, or was, there."""
        return self.has_had(str(payload.get(f"{self._codec.kind}_id")))

    def find_by_request(self, request: str) -> T | None:
        """Return the newest thing that a call wrote, or None. Lets a call that is sent again find what it did."""
        return next((each for each in reversed(self.all()) if request in _requests_of(each)), None)

    def forgotten_ids(self) -> AbstractSet[str]:
        """Return the ids of everything that is forgotten."""
        self._readable()
        return self._tombstones.keys()

    def add(self, *things: T, at: datetime | None = None) -> None:
        """Write things to the log, all or none; `at` is the time of the lines, by default of each thing."""
        loaded = self._loaded()
        self.log.append([JournalRecord.of(self._codec, each, at) for each in things])
        loaded.update((each.id, each) for each in things)

    def add_new(self, things: Iterable[T], at: datetime | None = None) -> list[T]:
        """Write and return the things with ids that are neither known nor forgotten; see `add`."""
        known = self._loaded().keys() | self._tombstones.keys() | self._hidden
        new = list({each.id: each for each in things if each.id not in known}.values())
        self.add(*new, at=at)
        return new

    def points_of(self, forgetting: Forgetting[T]) -> list[str]:
        """Return the point ids of things forgotten now or earlier."""
        gone = (*(each.id for each in forgetting.found), *forgetting.before)
        return [point for name in gone for point in self.points(name)]

    def forgotten(self) -> Iterator[str]:
        """Yield the point ids of everything that is forgotten."""
        return (point for name in self.forgotten_ids() for point in self.points(name))

    def points(self, _name: str) -> Iterable[str]:
        """Return the point ids of a thing that is forgotten: none, unless the kind is indexed."""
        return ()

    def look_up(self, ids: Iterable[str]) -> Forgetting[T]:
        """Return what `forget` would return, and change nothing. Duplicate ids count once."""
        wanted = dict.fromkeys(ids)
        self._loaded()
        known = {name: thing for name in wanted if (thing := self._forgettable(name))}
        others = [name for name in wanted if name not in known]
        before = tuple(name for name in others if name in self._tombstones)
        return Forgetting(tuple(known.values()), before, tuple(name for name in others if name not in self._tombstones))

    def look_up_project(self, project: str) -> Forgetting[T]:
        """Return what forgetting everything of a project would return, and change nothing."""
        return self.look_up(each.id for each in self.all() if each.project == project)

    def _forgettable(self, name: str) -> T | None:
        """Return what can be forgotten under an id."""
        return self.find(name)

    def forget(self, ids: Iterable[str], at: datetime, *, unknown_too: bool = False) -> Forgetting[T]:
        """Forget things permanently, or raise; with `unknown_too` also ids that must never be imported."""
        forgetting = self.look_up(ids)
        details = {each.id: self._tombstone_details(each) for each in forgetting.found}
        if unknown_too:
            details |= {name: self._tombstone_details(None) for name in forgetting.unknown}
        kind = self._codec.kind
        self.log.append([JournalRecord.tombstone(kind, name, at, said) for name, said in details.items()])
        self._forget_loaded(details)
        return forgetting

    def _forget_loaded(self, details: Mapping[str, dict[str, Any]]) -> None:
        """Forget things in RAM, once their tombstones are written."""
        if details:
            self._tombstones |= details
            for name in details:
                self._loaded().pop(name, None)
            self._replaced()

    def _tombstone_details(self, _thing: T | None) -> dict[str, Any]:
        """Return what else a tombstone says; None stands for an unknown id."""
        return {}

    def replace_loaded(self, *things: T) -> None:
        """Replace what has the same ids, without writing it: its lines were rewritten, or say the same."""
        if self._by_id is not None:
            self._by_id.update((each.id, each) for each in things if each.id in self._by_id)
        self._replaced()

    def _replaced(self) -> None:
        """Drop what a subclass has derived: things were forgotten or replaced."""

    def _loaded(self) -> dict[str, T]:
        if self._by_id is None:
            with self._reading, without_collections():
                if self._by_id is None:
                    self._by_id = self._read()
            if self._is_lost:
                self._is_lost = False
                self._replaced()
        return self._by_id

    def _readable(self) -> dict[str, T]:
        """Return what is loaded; nothing while the log of a kind that `is_beside` cannot be read."""
        try:
            return self._loaded()
        except JournalUnavailableError as error:
            if not self._codec.is_beside:
                raise
            if not self._is_lost:
                log.warning("journal.log_unreadable", kind=self._codec.kind, reason=error.message)
            self._is_lost = True
            self.log.known_damage = self.log.known_damage or 1
            return {}

    def _read(self) -> dict[str, T]:
        """Return the things, decoded line by line, which takes the least RAM."""
        by_id: dict[str, T] = {}
        refused = set[str]()
        tombstones: dict[str, dict[str, Any]] = {}
        for record in self.log.records():
            if record.is_tombstone:
                if record.kind == self._codec.kind:
                    tombstones[record.id] = record.data
                continue
            # A later line about the same id supersedes an earlier one.
            refused.discard(record.id)
            try:
                by_id[record.id] = record.decoded(self._codec.decode)
            except JournalUnavailableError:
                by_id.pop(record.id, None)
                refused.add(record.id)
        for name in tombstones:
            by_id.pop(name, None)
        self._hidden = refused - tombstones.keys()
        if self._hidden:
            log.warning("journal.not_understood", kind=self._codec.kind, count=len(self._hidden))
            self.log.known_damage = (self.log.known_damage or 0) + len(self._hidden)
        self._tombstones = tombstones
        return by_id


def _requests_of(thing: Any) -> Collection[str | None]:
    """Return the names of the calls that wrote a thing; see `Caller.request`."""
    return thing.requests if hasattr(thing, "requests") else (getattr(thing, "request", None),)


_SPARE: Final = 0.1  # By which share there may be more before the oldest are forgotten: each time costs a write

_Projects = dict[str, dict[str, dict[str, Failure]]]  # The failures by project, signature and id


class FailureLog(Records[Failure]):
    """The failures in the journal."""

    def __init__(self, log: Log, kept: int = limits.PROJECT_FAILURES_KEPT) -> None:
        super().__init__(log)
        self._kept = kept
        self._projects: _Projects | None = None

    def of(self, project: str, signature: str) -> list[Failure]:
        """Return what is known of an error, oldest first."""
        return sorted(self._grouped().get(project, {}).get(signature, {}).values(), key=_age)

    def of_project(self, project: str) -> list[Failure]:
        """Return all failures of a project, error by error."""
        return [each for error in self._grouped().get(project, {}).values() for each in error.values()]

    def errors(self, project: str | None = None) -> list[list[Failure]]:
        """Return the failures of each error, of one project or of all, oldest first."""
        projects = self._grouped().values() if project is None else [self._grouped().get(project, {})]
        return [sorted(error.values(), key=_age) for each in projects for error in each.values()]

    def add(self, *things: Failure, at: datetime | None = None) -> None:
        """Write failures to the log; see `Records.add`."""
        super().add(*things, at=at)
        if self._projects is not None:
            for each in things:
                _group(self._projects, each)

    def add_new(self, things: Iterable[Failure], at: datetime | None = None) -> list[Failure]:
        """Write and return those that are new here, or were only imported so far; see `Records.add_new`."""
        things = list(things)
        seen = [each for each in things if (known := self.find(each.id)) and known.imported > each.imported]
        self.add(*seen, at=at)
        return [*seen, *super().add_new(things, at)]

    def _replaced(self) -> None:
        self._projects = None

    def look_up(self, ids: Iterable[str]) -> Forgetting[Failure]:
        """Return what `forget` would return. The id of an error stands for all of its failures."""
        wanted = list(ids)
        has_error = any(name.startswith("failure_") and name.count("_") == 1 for name in wanted)
        named = {known[0].error: known for known in self.errors()} if has_error else {}
        names = ((each.id for each in named[name]) if name in named else (name,) for name in wanted)
        return super().look_up(chain.from_iterable(names))

    def add_worked(self, failures: Iterable[Failure], at: datetime) -> None:
        """Write to known failures which command worked next; the first one that did stays."""
        # Looked up when it is written: a failure may have been forgotten, or rewritten without a secret, meanwhile.
        found = [
            replace(known, worked=each.worked)
            for each in failures
            if (known := self.find(each.id)) and known.worked is None
        ]
        if found:
            self.add(*found, at=at)

    def record(self, failure: Failure) -> None:
        """Write a failing command, and forget the oldest ones over the bound, in one append.

        What the session has failed with before is written once more only if something about it is new.
        """
        if failure.id in self.forgotten_ids():
            return
        before = self.find(failure.id)
        if before and not before.imported:
            changed = replace(
                before,
                # With advice, the time counts: it says whether the agent still has it in its context.
                created_at=failure.created_at if failure.advice else before.created_at,
                line=failure.line or before.line,
                during=failure.during or before.during,
                advice=failure.advice or before.advice,
                again=failure.again or before.again,
                returned=before.returned or before.worked is not None,
            )
            if changed != before:
                self.add(changed, at=failure.created_at)
            return
        known = self.of(failure.project, failure.signature)
        failure = replace(failure, times=1 + max((max(len(known), each.times) for each in known), default=0))
        excess = self._excess(failure)
        at = failure.created_at
        tombstones = [JournalRecord.tombstone(self._codec.kind, name, at, {}) for name in excess]
        self.log.append([JournalRecord.of(self._codec, failure), *tombstones])
        self._forget_loaded({name: {} for name in excess})
        self._loaded()[failure.id] = failure
        if self._projects is not None:
            _group(self._projects, failure)

    def _excess(self, new: Failure) -> list[str]:
        """Return the ids of an error's oldest failures, and of its project's, if there are many more than are kept."""
        errors = self._grouped().get(new.project, {})
        known = [*errors.get(new.signature, {}).values(), new]
        excess = list[Failure]()
        if len(known) > (1 + _SPARE) * FAILURES_KEPT:
            excess += sorted(known, key=_age)[:-FAILURES_KEPT]
        if sum(map(len, errors.values())) + 1 > (1 + _SPARE) * self._kept:
            total = [*chain.from_iterable(error.values() for error in errors.values()), new]
            excess += sorted(total, key=_age)[: -self._kept]
        # One with advice stays: it is the only line that says what the agent was shown.
        return [name for name in dict.fromkeys(each.id for each in excess if not each.advice) if name != new.id]

    def _grouped(self) -> _Projects:
        if self._projects is None:
            self._projects = {}
            for each in self.all():
                _group(self._projects, each)
        return self._projects


def _group(projects: _Projects, failure: Failure) -> None:
    errors = projects.setdefault(failure.project, {})
    errors.setdefault(failure.signature, {})[failure.id] = failure


def _age(failure: Failure) -> tuple[datetime, int, str]:
    return as_seen(failure.created_at), failure.times, failure.id
