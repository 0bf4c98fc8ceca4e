"""The judgements on experiences, in the journal: which values each one counts for."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from learning_memory_server.journal.record import JournalRecord
from learning_memory_server.observation.documents import is_on
from learning_memory_server.observation.query import EntryQuery

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.domain.value import Value
    from learning_memory_server.journal.log import Log
    from learning_memory_server.observation.collector import ObservationCollector

    Near = dict[str, float]
    """How near an experience is to the centre of each value that it counts for, as a cosine, by the value's id."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found out about an experience.

    Args:
        near: The values that it counts for.
        of: How many values it was compared with; see `Earlier`.
    """

    near: Near = field(default_factory=dict)
    of: int = 0


class WitnessLog:
    """The judgements in the journal. Read once, at the first use.

    A line is about an experience: `{"near": {"value_...": 0.71}, "of": 3}`. A later one has all that an earlier one has.
    Lines of earlier versions say nothing of `of`, and such an experience is judged once more.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._judged: dict[str, Judged] | None = None

    def of_values(self) -> dict[str, list[str]]:
        """Return the ids of the experiences that count for each value that has any."""
        found: dict[str, list[str]] = {}
        for ghap_id, judged in self._loaded().items():
            for value_id in judged.near:
                found.setdefault(value_id, []).append(ghap_id)
        return found

    def add(self, found: Mapping[str, Judged], at: datetime) -> None:
        """Write down what is not written yet.

        Raises:
            JournalUnavailableError: If it could not be written; then it is not known here either.
        """
        known, nothing = self._loaded(), Judged()
        merged = {
            ghap_id: Judged({**judged.near, **known.get(ghap_id, nothing).near}, judged.of)
            for ghap_id, judged in found.items()
        }
        new = {ghap_id: judged for ghap_id, judged in merged.items() if judged != known.get(ghap_id, nothing)}
        self._log.append(
            [
                JournalRecord("evidence", ghap_id, at, {"near": judged.near, "of": judged.of})
                for ghap_id, judged in new.items()
            ]
        )
        known.update(new)

    def count_unjudged(
        self, shown: Sequence[Value], values: Sequence[Value], collector: ObservationCollector
    ) -> int:
        """Return how many experiences may count for the values that are shown, and are not judged yet.

        Args:
            shown: The values in question.
            values: All values.
            collector: Where the experiences are.
        """
        if not shown:
            return 0
        known, nothing = self._loaded(), Judged()
        earlier = Earlier(values)
        axes = {value.cluster_id.axis for value in shown}
        later = collector.list_resolved(EntryQuery(since=min(value.created_at for value in shown)))
        return sum(
            earlier.than(entry) > known.get(entry.id, nothing).of
            for entry in later
            if any(is_on(axis, entry) for axis in axes)
        )

    def _loaded(self) -> dict[str, Judged]:
        if self._judged is None:
            self._judged = {record.id: record.decoded(_judged) for record in self._log.read().records}
        return self._judged


class Earlier:
    """Counts the values that were there before an experience was resolved, and that it is no member of."""

    def __init__(self, values: Sequence[Value]) -> None:
        self._times = sorted(value.created_at for value in values)
        self._of_member: dict[str, list[datetime]] = {}
        for value in values:
            for ghap_id in value.evidence.member_ids:
                self._of_member.setdefault(ghap_id, []).append(value.created_at)

    def than(self, entry: Ghap) -> int:
        """Return the number for a resolved entry: how many values it has to be compared with."""
        end = entry.outcome.resolved_at
        # A clock that was set back makes a value older than its members.
        return bisect_left(self._times, end) - sum(at < end for at in self._of_member.get(entry.id, ()))


def _judged(data: dict[str, Any]) -> Judged:
    near = {str(value_id): float(cosine) for value_id, cosine in data["near"].items()}
    return Judged(near, int(data.get("of", 0)))
