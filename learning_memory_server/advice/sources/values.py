"""Values in force near a goal and a hypothesis."""

from dataclasses import dataclass
from typing import ClassVar

from learning_memory_server.advice import constants
from learning_memory_server.advice.candidates import Candidate, Observed
from learning_memory_server.advice.finder import LessonFinder
from learning_memory_server.lessons.values.log import ValueLog, VerdictLog, nearest_values, weigh_all
from learning_memory_server.model.advice import Reason, TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.trigger import Trigger


@dataclass(frozen=True, slots=True)
class ValuesSource:
    """Offers the nearest uncontradicted value when an entry is started or updated."""

    finder: LessonFinder
    values: ValueLog
    verdicts: VerdictLog
    kinds: ClassVar = frozenset({TriggerKind.ENTRY_START, TriggerKind.ENTRY_UPDATE})
    needs_confirmed: ClassVar = True

    async def candidates(self, trigger: Trigger, _observed: Observed, caller: Caller) -> list[Candidate]:
        """Return candidates; see `Source`."""
        entry, lessons = trigger.entry, self.finder.lessons
        current = self.values.current(project=lessons.within(caller.project))
        if entry is None or not current:
            return []
        belief = f"{entry.goal}\n{entry.hypothesis}"
        found = await self.finder.find([belief], caller, entry.id)
        standings = weigh_all(current, self.values, self.verdicts, lessons.collector)
        answers = lessons.answers
        trusted = (
            each.value
            for each in standings
            if each.is_in_force
            and not (each.contradicting or each.value.imported)
            and entry.id not in each.supporting
            and not (answers and answers.is_never(each.value.id))
        )
        # The vector of the belief is cached.
        vector = await self.finder.index.embeddings.embed_query(belief)
        near = await nearest_values(self.finder.index, vector, trusted, 1)
        return [
            Candidate(each.value, Reason.SIMILAR, score=each.similarity)
            for each in near
            if each.similarity - found.usual >= constants.VALUE
        ]
