"""What the verdicts on a value add up to.

Only verdicts count: what an agent saw, with the value and the entry in front of it. A vector shows the topic of a text
and not whether it is true, and how an entry ended does not show what it says about a value. Verdicts on entries that
are not in this store, because they were forgotten or belong to a project that was not imported, do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from learning_memory_server.model.support import Status, Support
from learning_memory_server.model.value import Value, ValueOrder
from learning_memory_server.model.vocabulary import Stance

if TYPE_CHECKING:
    from learning_memory_server.capture.entries.collector import ObservationCollector
    from learning_memory_server.learning.values.log import ValueLog, VerdictLog


@dataclass(frozen=True, slots=True)
class Standing:
    """A value and the verdicts on it."""

    value: Value
    supporting: tuple[str, ...] = ()  # the ids of the entries that support it, in the order of their verdicts
    contradicting: tuple[str, ...] = ()
    """The ids of the entries that contradict it, in the order of their verdicts."""
    superseded_by: str | None = None  # the id of the value that superseded it, if any

    @property
    def support(self) -> Support:
        """The number of entries for and against it."""
        return Support(len(self.supporting), len(self.contradicting))

    @property
    def is_in_force(self) -> bool:
        """Whether to follow it: it is neither superseded nor contested."""
        return self.superseded_by is None and self.support.status is not Status.CONTESTED


def weigh_all(
    values: Sequence[Value], log: ValueLog, verdicts: VerdictLog, collector: ObservationCollector
) -> list[Standing]:
    """Return the standings of values, in their order."""
    given = verdicts.by_value()
    judged = {each.ghap_id for value in values for each in given.get(value.id, ())}
    known = {entry.id for entry in collector.look_up(judged).found}
    successors = log.successors()

    def entries(value: Value, stance: Stance) -> tuple[str, ...]:
        return tuple(
            each.ghap_id
            for each in given.get(value.id, ())
            if each.stance is stance and each.ghap_id in known
        )

    return [
        Standing(
            value,
            entries(value, Stance.SUPPORTS),
            entries(value, Stance.CONTRADICTS),
            successors.get(value.id),
        )
        for value in values
    ]


def ordered(standings: Iterable[Standing], by: ValueOrder) -> list[Standing]:
    """Return the standings with the best supported, the largest clusters or the newest first.

    By support, the lower bound of the interval counts, and contested values come last.
    """
    newest = sorted(standings, key=lambda each: (each.value.created_at, each.value.id), reverse=True)
    if by is not ValueOrder.NEWEST:
        newest.sort(key=lambda each: len(each.value.evidence.member_ids), reverse=True)
    if by is ValueOrder.SUPPORT:
        newest.sort(
            key=lambda each: (each.support.status is not Status.CONTESTED, each.support.interval[0]),
            reverse=True,
        )
    return newest
