"""Which share of hypotheses held, overall and among similar entries. Abandoned entries do not count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from learning_memory_server.model.support import wilson_interval
from learning_memory_server.model.vocabulary import OutcomeStatus

if TYPE_CHECKING:
    from learning_memory_server.model.entry import Ghap

ENOUGH: Final = 10
"""From this many judged entries on, their share is worth telling: the 95 % interval of five of ten is 0.24 to 0.76."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of the entries of a group were confirmed; the others were falsified."""

    name: str
    held: int
    total: int

    @property
    def share(self) -> float | None:
        """The share that held; None of an empty group."""
        return self.held / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share."""
        return wilson_interval(self.held, self.total)


def rate(entries: Iterable[Ghap], name: str = "all") -> Rate:
    """Return how many of the resolved entries held."""
    return _rate_of(Counter(entry.outcome.status for entry in entries), name)


def rates_by(entries: Iterable[Ghap], name_of: Callable[[Ghap], str]) -> list[Rate]:
    """Return how many held in each group that has a judged entry, the largest first."""
    groups: dict[str, list[Ghap]] = {}
    for entry in entries:
        groups.setdefault(name_of(entry), []).append(entry)
    rates = (rate(members, name) for name, members in groups.items())
    return sorted((one for one in rates if one.total), key=lambda one: (-one.total, one.name))


def track_record(entry: Ghap, alike: Mapping[OutcomeStatus, int]) -> str | None:
    """Return one line on what became of resolved entries like this one, or None if too few are judged."""
    past = _rate_of(alike, "alike")
    if past.total < ENOUGH:
        return None
    return (
        f"{past.held} of {past.total} earlier hypotheses held ({past.held / past.total:.0%}) "
        f"in this project with {entry.domain} and {entry.strategy}."
    )


def _rate_of(statuses: Mapping[OutcomeStatus, int], name: str) -> Rate:
    held = statuses.get(OutcomeStatus.CONFIRMED, 0)
    return Rate(name, held, held + statuses.get(OutcomeStatus.FALSIFIED, 0))
