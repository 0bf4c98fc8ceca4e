"""Resolved entries by resolution time, with counts that are updated incrementally."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from threading import Lock

from learning_memory_server.index.document import is_on
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.moment import as_seen
from learning_memory_server.model.vocabulary import Axis, Domain, OutcomeStatus, Strategy, Tier

TallyKey = tuple[str, Domain | None, Strategy | None]


class Tally:
    """Counts of entries. Thread-safe: one thread may count many entries while another adds or removes single ones."""

    def __init__(self) -> None:
        self.axes = Counter[Axis]()
        self.tiers = Counter[Tier]()
        self.outcomes = Counter[OutcomeStatus]()
        self.predicted = Counter[OutcomeStatus]()  # without entries written afterwards
        self.first = Stated()
        self.last = Stated()
        self._changing = Lock()

    def count(self, entries: Iterable[Ghap], times: int = 1) -> None:
        """Add entries; with -1, remove them."""
        for entry in entries:
            tier, status = entry.tier, entry.outcome.status
            axes = [axis for axis in Axis if is_on(axis, entry)]
            with self._changing:
                self.tiers[tier] += times
                self.outcomes[status] += times
                for axis in axes:
                    self.axes[axis] += times
                if entry.afterwards:
                    continue
                self.predicted[status] += times
                if status is not OutcomeStatus.ABANDONED:
                    held = status is OutcomeStatus.CONFIRMED
                    self.first.add(entry.first_confidence, held, times)
                    self.last.add(entry.last_confidence, held, times)


class Stated:
    """Sums over judged entries with a stated confidence."""

    def __init__(self) -> None:
        self.count = 0
        self._confidence = self._held = self._squares = 0.0

    def add(self, confidence: float | None, held: bool, times: int) -> None:
        """Add an entry; with -1, remove it."""
        if confidence is not None:
            self.count += times
            self._confidence += times * confidence
            self._held += times * held
            self._squares += times * (confidence - held) ** 2

    def means(self) -> tuple[float, float, float] | None:
        """Return the mean confidence, the share of confirmed predictions, and the Brier score; None without entries."""
        if not self.count:
            return None
        return self._confidence / self.count, self._held / self.count, self._squares / self.count


class Timeline:
    """Resolved entries in the order of their resolution."""

    def __init__(self, entries: Iterable[Ghap] = ()) -> None:
        self._all = sorted(entries, key=_order)
        self.changes = 0  # the number of additions, removals and replacements
        self.tally: Tally | None = None  # updated once all entries have been counted
        self._by_project: defaultdict[str, list[Ghap]] = defaultdict(list)
        self._outcomes: defaultdict[TallyKey, Counter[OutcomeStatus]] = defaultdict(Counter)
        self._by_file: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        self.citing: list[Ghap] = []  # entries that cite what helped or misled them
        for entry in self._all:
            self._by_project[entry.project].append(entry)
            self._note(entry)

    def __iter__(self) -> Iterator[Ghap]:
        """Iterate over the entries, earliest first."""
        return iter(self._all)

    def newest(self, project: str | None = None) -> Iterator[Ghap]:
        """Iterate over the entries, latest first."""
        return reversed(self._all if project is None else self._by_project.get(project, []))

    def count(self, project: str | None = None) -> int:
        """Return the number of entries, of a project or in total."""
        return len(self._all if project is None else self._by_project.get(project, []))

    def outcomes(self, like: Ghap) -> Counter[OutcomeStatus]:
        """Return the number of entries by outcome, for the same project, domain and strategy as `like`."""
        return +self._outcomes.get(_kind(like), Counter())

    def projects(self) -> set[str]:
        """Return the projects with entries."""
        return {project for project, entries in self._by_project.items() if entries}

    def add(self, entry: Ghap) -> None:
        """Add an entry."""
        self.changes += 1
        insort(self._all, entry, key=_order)
        insort(self._by_project[entry.project], entry, key=_order)
        self._note(entry)
        if self.tally:
            self.tally.count([entry])

    def remove(self, entry: Ghap) -> None:
        """Remove an existing entry."""
        self.changes += 1
        for entries in (self._all, self._by_project[entry.project]):
            del entries[bisect_left(entries, _order(entry), key=_order)]
        self._outcomes[_kind(entry)][entry.outcome.status] -= 1
        self.citing = [each for each in self.citing if each.id != entry.id]
        for anchor in entry.anchors:
            with suppress(ValueError):
                self._by_file[entry.project, anchor.file].remove(entry.id)
        if self.tally:
            self.tally.count([entry], -1)

    def wrong_about(self, project: str, file: str) -> list[str]:
        """Return the ids of entries with a falsified hypothesis about a file, earliest first."""
        return self._by_file.get((project, file), [])

    def _note(self, entry: Ghap) -> None:
        self._outcomes[_kind(entry)][entry.outcome.status] += 1
        if entry.outcome.cited:
            self.citing.append(entry)
        if entry.outcome.status is OutcomeStatus.FALSIFIED:
            for anchor in entry.anchors:
                if not anchor.is_read:
                    self._by_file[entry.project, anchor.file].append(entry.id)


def _kind(entry: Ghap) -> TallyKey:
    return entry.project, entry.domain, entry.strategy


def _order(entry: Ghap) -> tuple[datetime, str]:
    return as_seen(entry.outcome.resolved_at), entry.id
