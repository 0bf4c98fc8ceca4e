"""Which number each cluster has had, and what became of those that are gone."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from learning_memory_server.domain.cluster import ClusterId
from learning_memory_server.errors import NotFoundError
from learning_memory_server.journal.record import JournalRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from learning_memory_server.clustering.matching import Matching
    from learning_memory_server.domain.moment import Clock
    from learning_memory_server.domain.vocabulary import Axis
    from learning_memory_server.journal.log import Log


@dataclass(slots=True)
class Lineage:
    """The numbers that were given on one axis.

    Args:
        members: Who is in each cluster, by number, as of the last fit.
        gone: The last members of each number that no cluster has any more. A number never comes back.
        next_number: Above every number that was ever given.
    """

    members: dict[int, set[str]] = field(default_factory=dict)
    gone: dict[int, frozenset[str]] = field(default_factory=dict)
    next_number: int = 0

    def number_of(self) -> dict[str, int]:
        """Return the number of each member's cluster."""
        return {member: number for number, members in self.members.items() for member in members}

    def apply(self, moved: Mapping[str, int | None], next_number: int) -> None:
        """Take over what a fit has changed.

        Args:
            moved: The new number, or None, of everybody who has another than before.
            next_number: What the next new cluster gets.
        """
        before = self.number_of()
        left: dict[int, set[str]] = {}
        for member, number in moved.items():
            if member in before:
                self.members[before[member]].discard(member)
                left.setdefault(before[member], set()).add(member)
            if number is not None:
                self.members.setdefault(number, set()).add(member)
        for number, leavers in left.items():
            if not self.members[number]:
                del self.members[number]
                self.gone[number] = frozenset(leavers)
        self.next_number = max(self.next_number, next_number)

    def whereabouts(self, number: int, places: Mapping[str, int | None]) -> Whereabouts | None:
        """Return where the last members of a number are now; None if it was never given.

        Nothing has to be followed from one fit to the next: whatever happened in between, the members are where
        they are.

        Args:
            number: The number.
            places: The present number of each experience, or None for one in no cluster.
        """
        last = self.members.get(number) or self.gone.get(number)
        if last is None:
            return None
        present = [places[member] for member in last if member in places]
        found = Counter(place for place in present if place is not None)
        return Whereabouts(
            dict(sorted(found.items(), key=lambda item: (-item[1], item[0]))),
            present.count(None),
            len(last) - len(present),
        )


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where the last members of a cluster that is gone are now.

    Args:
        clusters: How many are in which present cluster, most first.
        loose: How many are in none.
        forgotten: How many are no more.
    """

    clusters: Mapping[int, int]
    loose: int
    forgotten: int

    def error(self, gone: ClusterId) -> NotFoundError:
        """Return what tells a client what became of the cluster, and which present one to ask for instead."""
        total = sum(self.clusters.values()) + self.loose
        heirs = [f"{ClusterId(gone.axis, number)} ({count})" for number, count in self.clusters.items()]
        forgotten = f" {_were(self.forgotten)} forgotten." if self.forgotten else ""
        if total == 0:
            story = f"{gone} is gone: all its members were forgotten."
            forgotten = ""
        elif self.loose == total:
            story = f"{gone} has dissolved: its {_members(total)} in no cluster now."
        elif self.loose * 2 > total:
            story = (
                f"{gone} has dissolved: {self.loose} of its {total} members are in no cluster now, "
                f"the others in {', '.join(heirs)}."
            )
        elif len(heirs) == 1:
            (heir,), share = self.clusters, total - self.loose
            story = (
                f"{gone} was merged into {ClusterId(gone.axis, heir)}, which has "
                f"{'all' if share == total else f'{share} of'} its {total} members."
            )
        else:
            story = f"{gone} has split: its members are now in {', '.join(heirs)}"
            story += f"; {self.loose} in no cluster." if self.loose else "."
        ways = [f"cluster_id {ClusterId(gone.axis, number)}" for number in self.clusters]
        hint = f"Call get_clusters with axis {gone.axis}."
        if ways:
            hint = f"Use {' or '.join(ways[:3])}, after a look at it with get_cluster_members."
        return NotFoundError(story + forgotten, hint=hint)


class LineageLog:
    """The lineages in the journal, read once at the first use.

    Reading and writing happen in a thread: with 10,000 experiences a line can have half a megabyte.

    Args:
        history: The log.
        clock: Tells the time.
    """

    def __init__(self, history: Log, clock: Clock) -> None:
        self._history = history
        self._clock = clock
        self._reading = asyncio.Lock()
        self._lineages: dict[str, Lineage] | None = None

    async def of(self, axis: Axis) -> Lineage:
        """Return the lineage of an axis. It is the caller's to read only.

        Raises:
            JournalUnavailableError: If the log cannot be read.
        """
        async with self._reading:
            if self._lineages is None:
                self._lineages = await asyncio.to_thread(self._read)
            return self._lineages.setdefault(axis, Lineage())

    def reread(self) -> None:
        """Read the log again at the next use."""
        self._lineages = None

    async def remember(self, axis: Axis, now: Mapping[int, frozenset[str]], matching: Matching) -> None:
        """Write down what a fit has changed: only who moved, so that lines stay short, and what split and merged.

        Splits and mergers are for who reads the journal; `whereabouts` tells from the members alone.

        Raises:
            JournalUnavailableError: If it could not be written; then nothing has changed.
        """
        lineage = await self.of(axis)
        moved = await asyncio.to_thread(self._write, axis, lineage.number_of(), now, matching)
        lineage.apply(moved, matching.next_number)

    def _write(
        self, axis: Axis, old: Mapping[str, int], now: Mapping[int, frozenset[str]], matching: Matching
    ) -> dict[str, int | None]:
        new = {member: number for number, members in now.items() for member in members}
        moved = {
            member: new.get(member)
            for member in sorted(old.keys() | new.keys())
            if old.get(member) != new.get(member)
        }
        data: dict[str, Any] = {
            "next_number": matching.next_number,
            "moved": moved,
            "split_from": {str(number): source for number, source in matching.split_from.items()},
            "merged_into": {str(number): target for number, target in matching.merged_into.items()},
        }
        if moved:
            self._history.append([JournalRecord("clusters", axis.value, self._clock(), data)])
        return moved

    def _read(self) -> dict[str, Lineage]:
        lineages: dict[str, Lineage] = {}
        for record in self._history.read().records:
            lineage = lineages.setdefault(record.id, Lineage())
            record.decoded(partial(_apply, lineage))
        return lineages


def _apply(lineage: Lineage, data: dict[str, Any]) -> None:
    lineage.apply(data["moved"], data["next_number"])


def _members(count: int) -> str:
    return "1 member is" if count == 1 else f"{count} members are"


def _were(count: int) -> str:
    return f"{count} was" if count == 1 else f"{count} were"
