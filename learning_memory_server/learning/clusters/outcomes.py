"""How the members of a cluster ended, in numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeVar

from learning_memory_server.model.vocabulary import OutcomeStatus, RootCauseCategory

if TYPE_CHECKING:
    from learning_memory_server.model.entry import Ghap

Kind = TypeVar("Kind", OutcomeStatus, RootCauseCategory)

RECENT: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How the members ended, and when."""

    by_status: Mapping[OutcomeStatus, int]  # the number of members per outcome, most frequent first
    by_root_cause: Mapping[RootCauseCategory, int]
    """The number of members per root cause, most frequent first; members without one do not count."""
    times: Sequence[datetime]  # when they were resolved, in order

    @classmethod
    def of(cls, members: Sequence[Ghap]) -> Outcomes:
        """Return the outcomes of at least one resolved entry."""
        ends = [member.outcome for member in members]
        return cls(
            _ranked(Counter(end.status for end in ends)),
            _ranked(Counter(end.root_cause.category for end in ends if end.root_cause)),
            sorted(end.resolved_at for end in ends),
        )

    def recent(self, now: datetime) -> int:
        """Return how many were resolved within `RECENT` before now."""
        return len(self.times) - bisect_left(self.times, now - RECENT)


def _ranked(counts: Counter[Kind]) -> dict[Kind, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
