"""What experience says of a value: which of it bears the value out, and which went the other way.

The rule. An experience counts for a value if it was among the members that the value was judged from, or if it was
resolved later, in a situation like theirs (see `circles`).

- On the axes full and strategy it bears the value out if it ended as most of those members did, and contradicts it if
  it ended the other way. "Check the pool's size first", learned from falsified hypotheses, is borne out by the next
  falsified one; "clearing the cache works", learned from confirmed ones, is contradicted by it.
- On the axes surprise and root_cause it bears the value out by happening again, however it ended: that is what
  such a value warns of. Nothing contradicts it there, so it is strong by recurrence alone.
- What was abandoned counts for nothing, nor does what is forgotten. Where as many members were confirmed as falsified,
  the value says nothing about an outcome, and nothing counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from learning_memory_server.domain.support import Support
from learning_memory_server.domain.value import ValueOrder
from learning_memory_server.domain.vocabulary import Axis, OutcomeStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.domain.value import Value
    from learning_memory_server.observation.collector import ObservationCollector
    from learning_memory_server.values.log import ValueLog

_RECURRING: Final = (Axis.SURPRISE, Axis.ROOT_CAUSE)


@dataclass(frozen=True, slots=True)
class Standing:
    """A value as it stands now.

    Args:
        value: The value.
        supporting: The ids of the experiences that bear it out, oldest first.
        contradicting: The ids of those that went the other way, oldest first.
        contested_since: When the experience was resolved that made it contested, if it is.
        superseded_by: The id of the value that took its place, if one did.
    """

    value: Value
    supporting: tuple[str, ...] = ()
    contradicting: tuple[str, ...] = ()
    contested_since: datetime | None = None
    superseded_by: str | None = None

    @property
    def support(self) -> Support:
        """How much speaks for and against it."""
        return Support(len(self.supporting), len(self.contradicting))


def weigh(
    value: Value, witnesses: Iterable[str], entries: Mapping[str, Ghap], superseded_by: str | None = None
) -> Standing:
    """Return how a value stands; the module says by which rule.

    Args:
        value: The value.
        witnesses: The ids of later experiences in situations like its members'.
        entries: The resolved entries that are known, at least those that the value needs, by id.
        superseded_by: The id of the value that took its place, if one did.
    """
    heard = [entries[name] for name in {*value.evidence.member_ids, *witnesses} if name in entries]
    heard.sort(key=lambda entry: (entry.outcome.resolved_at, entry.id))
    expected = value.evidence.outcome
    if value.evidence.radius is None and expected is None:
        # It was accepted before outcomes were written down.
        members = set(value.evidence.member_ids)
        expected = usual_outcome(entry for entry in heard if entry.id in members)
    recurs = value.cluster_id.axis in _RECURRING
    supporting: list[str] = []
    contradicting: list[str] = []
    contested_since = None
    for entry in heard:
        status = entry.outcome.status
        if status is OutcomeStatus.ABANDONED or not (recurs or expected):
            continue
        (supporting if recurs or status is expected else contradicting).append(entry.id)
        if not Support(len(supporting), len(contradicting)).is_contested:
            contested_since = None
        elif contested_since is None:
            contested_since = entry.outcome.resolved_at
    return Standing(value, tuple(supporting), tuple(contradicting), contested_since, superseded_by)


def weigh_all(
    values: Sequence[Value],
    log: ValueLog,
    witnesses: Mapping[str, Sequence[str]],
    collector: ObservationCollector,
) -> list[Standing]:
    """Return how values stand, in their order.

    Args:
        values: Which.
        log: All values.
        witnesses: The ids of the later experiences that count for each value, by its id.
        collector: Where the experiences are.
    """
    cited = {name for value in values for name in value.evidence.member_ids}
    cited.update(name for value in values for name in witnesses.get(value.id, ()))
    entries = {entry.id: entry for entry in collector.look_up(cited).found if entry.resolution}
    successors = log.successors()
    return [weigh(value, witnesses.get(value.id, ()), entries, successors.get(value.id)) for value in values]


def usual_outcome(entries: Iterable[Ghap]) -> OutcomeStatus | None:
    """Return whether more of the entries were confirmed or falsified; None if as many were the one as the other."""
    ends = [entry.outcome.status for entry in entries]
    confirmed, falsified = ends.count(OutcomeStatus.CONFIRMED), ends.count(OutcomeStatus.FALSIFIED)
    if confirmed == falsified:
        return None
    return OutcomeStatus.CONFIRMED if confirmed > falsified else OutcomeStatus.FALSIFIED


def ordered(standings: Iterable[Standing], by: ValueOrder) -> list[Standing]:
    """Return them with the largest clusters, the strongest or the newest first, and the newer first among equals."""
    newest = sorted(standings, key=lambda each: (each.value.created_at, each.value.id), reverse=True)
    if by is ValueOrder.CLUSTER_SIZE:
        newest.sort(key=lambda each: len(each.value.evidence.member_ids), reverse=True)
    elif by is ValueOrder.STRENGTH:
        newest.sort(key=lambda each: each.support.strength, reverse=True)
    return newest
