"""Choose advice: sources offer, filters drop, only the newest about a matter stays, and a budget limits.

Nothing is recorded here, so everything that asks what an agent would see can ask this.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import structlog

from learning_memory_server.advice import text
from learning_memory_server.advice.budget import BUDGETS, NOTHING
from learning_memory_server.advice.candidates import Candidate, Observed
from learning_memory_server.advice.filters import Situation, is_in_force, passes
from learning_memory_server.advice.finder import NotReadyError
from learning_memory_server.advice.matters import newest_of_each
from learning_memory_server.advice.sources.open_entries import OpenEntriesSource, limited
from learning_memory_server.advice.sources.place import PlaceSource
from learning_memory_server.advice.sources.rules import RulesSource
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.model.advice import AdviceKind, TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.trigger import Trigger

if TYPE_CHECKING:
    from learning_memory_server.advice.lessons import Lessons
    from learning_memory_server.advice.names import Names
    from learning_memory_server.advice.sources.base import Source
    from learning_memory_server.lessons.notes import EntryNotes
    from learning_memory_server.rules.applying import Rules

log = structlog.get_logger()


@dataclass(eq=False)
class Room:
    """Chooses what is shown."""

    sources: Sequence[Source]  # in the order in which their candidates come
    lessons: Lessons
    entry_notes: EntryNotes
    has_deadline: bool = True  # whether what is late is not shown

    async def offered(self, trigger: Trigger, observed: Observed, caller: Caller) -> list[Candidate]:
        """Return the candidates that the sources offer in time. If a source fails, those of earlier sources remain.

        Raises:
            NotReadyError: If the model or the index is not ready, and this is a call whose reply should say so.
        """
        is_told = caller.is_told or trigger.kind is TriggerKind.SESSION_START
        sources = [each for each in self.sources if is_told or not each.needs_confirmed]
        budget, offered = BUDGETS.get(trigger.kind, NOTHING), list[Candidate]()
        situation = Situation(trigger, caller, self.lessons)
        try:
            async with asyncio.timeout(budget.seconds + observed.patience if self.has_deadline else None):
                for source in sources:
                    # A lesson about the very error is all that an error needs, whether or not it is shown again.
                    is_enough = budget.items == 1 and any(
                        each.kind is not AdviceKind.RULE and is_in_force(each, situation) for each in offered
                    )
                    if trigger.kind in source.kinds and not is_enough:
                        offered += await source.candidates(trigger, observed, caller)
        except NotReadyError as error:
            log.info("advice.skipped", reason=type(error).__name__)
            if trigger.is_of_entry:
                raise
        except (LearningMemoryError, TimeoutError) as error:
            log.info("advice.skipped", reason=type(error).__name__)
        return offered

    def passing(self, offered: Sequence[Candidate], situation: Situation) -> list[Candidate]:
        """Return the candidates that are shown."""
        matters = newest_of_each(each for each in offered if is_in_force(each, situation))
        passing = [each for each in matters if passes(each, situation)]
        if situation.trigger.kind is TriggerKind.SESSION_START:
            passing = text.fitting(limited(passing), self.notes(situation.caller))
        budget = BUDGETS.get(situation.trigger.kind, NOTHING)
        rules = [each for each in passing if each.kind is AdviceKind.RULE][: budget.rules]
        others = [each for each in passing if each.kind is not AdviceKind.RULE]
        return [*rules, *others[: max(0, budget.items - (len(rules) if budget.is_shared else 0))]]

    def of_person(self) -> Room:
        """Return a room that offers what persons say themselves, and no lessons."""
        return replace(self, sources=[each for each in self.sources if not each.needs_confirmed])

    async def context(self, caller: Caller, place: str, tool: str = text.TOOL, *, has_rules: bool = True) -> str:
        """Return what a client that shows nothing at prompts would be shown at a start; see `Observed` for `place`."""
        trigger = Trigger(TriggerKind.SESSION_START, has_no_prompts=True)
        offered = await self.offered(trigger, Observed(place=place), caller)
        candidates = self.passing(offered, Situation(trigger, caller, self.lessons, has_rules=has_rules))
        said = text.context(candidates, self.notes(caller), tool)
        return f"{said}{text.UNCONFIRMED}" if text.hides(offered, caller) else said

    def notes(self, caller: Caller) -> text.Notes:
        """Return what says of an entry what became of its files."""
        return partial(self.entry_notes.words, folder=caller.folder)


def room_of_starts(lessons: Lessons, names: Names, entry_notes: EntryNotes, rules: Rules) -> Room:
    """Return a room that chooses only what a session's start shows, for which it needs no model and no index."""
    return Room(
        (RulesSource(rules), OpenEntriesSource(lessons.collector), PlaceSource(lessons, names)), lessons, entry_notes
    )
