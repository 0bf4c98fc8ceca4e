"""Lessons on the topic of a prompt, a task, a goal with a hypothesis, or a failed command."""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Final

from learning_memory_server.advice import constants
from learning_memory_server.advice.candidates import Candidate, Observed
from learning_memory_server.advice.finder import Found, LessonFinder, named_among
from learning_memory_server.advice.log import AdviceLog
from learning_memory_server.advice.matters import newest_about
from learning_memory_server.advice.names import Names
from learning_memory_server.advice.scorer import Scored, bar_at_error, bar_at_prompt, bar_at_start, best
from learning_memory_server.advice.ties import Ties
from learning_memory_server.index.ranking.terms import terms
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.trigger import Trigger

_AT_TEXTS: Final = frozenset({TriggerKind.PROMPT, TriggerKind.SUBAGENT_START, TriggerKind.ERROR})


@dataclass(frozen=True, slots=True)
class LessonsSource:
    """Offers lessons that are near enough or share a name. Of lessons about the same matter, it offers the newest."""

    finder: LessonFinder
    names: Names
    log: AdviceLog
    ties: Ties
    kinds: ClassVar = _AT_TEXTS | {TriggerKind.ENTRY_START, TriggerKind.ENTRY_UPDATE}
    needs_confirmed: ClassVar = True

    async def candidates(self, trigger: Trigger, observed: Observed, caller: Caller) -> list[Candidate]:
        """Return candidates; see `Source`."""
        if not self.finder.lessons.has_any(caller.project):
            return []
        if trigger.entry is not None:
            return await self._at_entry(trigger.entry, caller)
        return await self._at_text(trigger, observed, caller)

    async def _at_entry(self, entry: Ghap, caller: Caller) -> list[Candidate]:
        """Return the lessons for a goal and a hypothesis."""
        belief = f"{entry.goal}\n{entry.hypothesis}"
        found = await self.finder.find([belief, f"{belief}\n{entry.action}\n{entry.prediction}"], caller, entry.id)
        bar = bar_at_start(found.stored)
        return await self._newest(best(found.scored, bar), found, bar, caller)

    async def _at_text(self, trigger: Trigger, observed: Observed, caller: Caller) -> list[Candidate]:
        """Return the best lesson for a prompt, a task or a failed command. For most texts there is none."""
        is_error = trigger.kind is TriggerKind.ERROR
        text = (observed.question if is_error else trigger.text)[: constants.PROMPT_MAX]
        named = [each for each in self.names.about(text, caller) if not self._is_worn(each)]
        if not named and len(set(terms(text))) < constants.TERMS_LEAST:
            return []
        if observed.tools and not self.finder.is_known(observed.tools, caller.project):
            return []
        line = text.rpartition("\n")[2] if is_error else ""
        texts = (text, line) if len(set(terms(line))) >= constants.LINE_TERMS_LEAST else (text,)
        found = await self.finder.find(texts, caller, patience=observed.patience)
        # An agent knows its own entries.
        found = replace(found, scored=[each for each in found.scored if each.entry.agent_session != caller.session])
        bar = bar_at_error(found.stored) if is_error else bar_at_prompt(found.stored)
        chosen = best(found.scored, bar)[:1] or named_among(found.scored, {each.id for each in named})[:1]
        if not chosen or (observed.tools and not self.finder.has_term(chosen[0].entry, observed.tools)):
            return []
        is_run = is_error and self.names.runs(text, chosen[0].entry, caller)
        if not (is_run or await self._bears(chosen[0].entry, text, found, caller)):
            return []
        candidates = await self._newest(chosen, found, bar, caller)
        is_silent = partial(self.ties.is_silent, line=observed.line, command=trigger.command, caller=caller)
        return [each for each in candidates if not (is_error and is_silent(each.entry))]

    def _is_worn(self, entry: Ghap) -> bool:
        """Whether a lesson was shown so often without helping that a shared name is no longer enough."""
        is_shown = self.log.times_shown(entry.id) >= constants.TWICE
        return is_shown and not self.finder.lessons.effects.has_helped(entry.id)

    async def _bears(self, entry: Ghap, text: str, found: Found, caller: Caller) -> bool:
        """Whether a lesson is relevant apart from the name that it shares with a text."""
        rest = self.names.besides(text, caller)
        if rest != text:
            found = await self.finder.find([rest], caller)
        mine = next((each for each in found.scored if each.entry.id == entry.id), None)
        return mine is not None and mine.score >= (constants.NAMED if mine.by_terms else bar_at_start(found.stored))

    async def _newest(self, chosen: list[Scored], found: Found, bar: float, caller: Caller) -> list[Candidate]:
        """Return candidates for lessons, each replaced by the newest on its matter with at least half the score."""

        def newest(scored: Scored) -> Ghap:
            near = (each.entry for each in found.scored if each.score >= constants.NEWER * scored.score)
            return newest_about(scored.entry, near)

        candidates = [Candidate(newest(each), each.reason(bar), score=each.score) for each in chosen]
        await self.finder.lessons.freshness.judge((each.entry for each in candidates), caller.project, caller.folder)
        return candidates
