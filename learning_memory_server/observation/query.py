"""Which resolved entries are meant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from learning_memory_server.storage.base import Filter, TimeRange

if TYPE_CHECKING:
    from datetime import datetime

    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.domain.vocabulary import Domain, OutcomeStatus, Strategy


@dataclass(frozen=True, slots=True)
class EntryQuery:
    """Which resolved entries are meant; an absent part does not restrict."""

    domain: Domain | None = None
    outcome: OutcomeStatus | None = None
    strategy: Strategy | None = None
    project: str | None = None
    since: datetime | None = None

    def matches(self, entry: Ghap) -> bool:
        """Tell whether a resolved entry is meant. `since` compares the time of its resolution."""
        return (
            (self.domain is None or entry.domain is self.domain)
            and (self.outcome is None or entry.outcome.status is self.outcome)
            and (self.strategy is None or entry.strategy is self.strategy)
            and (self.project is None or entry.project == self.project)
            and (self.since is None or entry.outcome.resolved_at >= self.since)
        )

    def for_engine(self) -> Filter:
        """Return the same as the engine's filter."""
        exact = {
            "domain": self.domain,
            "outcome_status": self.outcome,
            "strategy": self.strategy,
            "project": self.project,
        }
        return Filter(
            matches=tuple((name, str(value)) for name, value in exact.items() if value is not None),
            times=(TimeRange("resolved_at", start=self.since),) if self.since else (),
        )
