"""Advice at the moment of belief: what to show, what to withhold, and what came of it."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.advice.ranking import AT_MOST
from learning_memory_server.domain.advice import Advice, Channel, Effect, Item, Kind, advice_id
from learning_memory_server.errors import (
    EmbeddingUnavailableError,
    InvalidInputError,
    StorageUnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from learning_memory_server.advice.finder import AdviceFinder
    from learning_memory_server.advice.log import AdviceLog
    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.domain.moment import Clock
    from learning_memory_server.domain.value import Value
    from learning_memory_server.observation.collector import ObservationCollector
    from learning_memory_server.values.log import ValueLog

WITHIN: Final = 0.05
"""Seconds that advice may add to a call. What is late is not shown: the entry is started, and its reply should not wait."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Related:
    """What to show: experiences, then values."""

    experiences: tuple[Ghap, ...] = ()
    values: tuple[Value, ...] = ()


class Advisor:
    """Shows what was learned before, at most two things, and keeps in the journal what it showed.

    Args:
        finder: Finds what bears on an entry.
        log: Where advice is kept.
        collector: Where the entries are.
        values: The values.
        clock: Tells the time.
        withheld: The share of entries for which advice is withheld, so that its effect can be measured.
        within: Seconds that it may take; None for no limit.
        chance: Returns a random number from 0 to 1.
    """

    def __init__(  # noqa: PLR0913 - what is found, where it is kept, and what decides
        self,
        finder: AdviceFinder,
        log: AdviceLog,
        collector: ObservationCollector,
        values: ValueLog,
        clock: Clock,
        *,
        withheld: float = 0.0,
        within: float | None = WITHIN,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._finder = finder
        self._log = log
        self._collector = collector
        self._values = values
        self._clock = clock
        self._withheld = withheld
        self._within = within
        self._chance = chance

    async def advise(self, entry: Ghap, channel: Channel) -> Related:
        """Return what to show for an entry's present hypothesis, and record it.

        The same call again shows the same, and what was shown for an earlier hypothesis of the entry is not repeated.
        Silence if nothing is near enough, or the model or the engine are not ready or late.

        Raises:
            JournalUnavailableError: If it could not be recorded.
        """
        before = self._log.of(entry)
        this = advice_id(entry.id, entry.iteration_count, channel)
        if known := next((advice for advice in before if advice.id == this), None):
            return self._shown(known)
        seen = {item.id for advice in before for item in advice.items}
        items = [item for item in await self._find(entry) if item.id not in seen][:AT_MOST]
        if not items:
            return Related()
        # The same for every channel and hypothesis of an entry: otherwise what was withheld once is shown next time.
        probability = before[0].probability if before else self._withheld
        is_withheld = before[0].withheld if before else bool(probability) and self._chance() < probability
        advice = Advice(
            entry.id,
            entry.iteration_count,
            channel,
            tuple(items),
            entry.project,
            self._clock(),
            withheld=is_withheld,
            probability=probability,
        )
        self._log.add(advice)
        return self._shown(advice)

    def checked(self, entry: Ghap, helped: Sequence[str], misled: Sequence[str]) -> dict[str, Effect]:
        """Return the effects that an agent states, by id.

        Raises:
            InvalidInputError: If one was not shown for the entry, or is in both lists.
        """
        shown = {
            item.id: None for advice in self._log.of(entry) if not advice.withheld for item in advice.items
        }
        for field, names in (("helped", helped), ("misled", misled)):
            if unknown := [name for name in names if name not in shown]:
                raise InvalidInputError(
                    f"{field}: {', '.join(unknown)} was not shown for {entry.id}.",
                    hint=f"Shown were {', '.join(shown)}."
                    if shown
                    else f"Nothing was shown: leave {field} out.",
                )
        if both := [name for name in helped if name in misled]:
            raise InvalidInputError(f"helped, misled: {', '.join(both)} cannot be in both.")
        return {**dict.fromkeys(helped, Effect.HELPED), **dict.fromkeys(misled, Effect.MISLED)}

    def record(self, entry: Ghap, effects: dict[str, Effect]) -> None:
        """Keep the effects that were checked. Without any, nothing changes.

        Raises:
            JournalUnavailableError: If they could not be written.
        """
        if effects:
            self._log.mark(entry, effects, self._clock())

    async def _find(self, entry: Ghap) -> list[Item]:
        try:
            async with asyncio.timeout(self._within):
                ranked = await self._finder.rank(entry, self._log.effects())
        except (EmbeddingUnavailableError, StorageUnavailableError, TimeoutError) as error:
            log.info("advice.skipped", reason=type(error).__name__)
            return []
        if ranked is None:
            return []
        return [
            *(Item(each.id, Kind.EXPERIENCE) for each in ranked.chosen()),
            *(Item(each.id, Kind.VALUE) for each in ranked.chosen_values()),
        ]

    def _shown(self, advice: Advice) -> Related:
        """Return what a record says was shown, as far as it still exists."""
        if advice.withheld:
            return Related()
        ids = [item.id for item in advice.items]
        entries = self._collector.look_up(ids).found
        values = (self._values.find(name) for name in ids)
        return Related(entries, tuple(value for value in values if value))
