"""The sources of a project's suggestions: files, memories, values, lessons that came again, and what was kept."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from learning_memory_server.lessons.values.log import Standing
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.memory import Memory
from learning_memory_server.model.rule import Rule, Suggestion
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.rules.suggesting import suggestions
from learning_memory_server.rules.suggesting.files import sentences_of


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of a project's suggestions other than past sessions."""

    project: str
    folder: Path | None  # the project's root, where its files of rules are; None if it is not known
    gate: RedactionGate  # removes secrets from what is shown
    environment: Mapping[str, str]  # says where the client keeps its files
    now: datetime  # for answers that were postponed
    rules: Sequence[Rule] = ()  # all rules of the log: answers, and what other stores brought
    memories: Iterable[Memory] = ()  # some are preferences that an earlier version kept
    values: Sequence[Standing] = ()
    came_again: Sequence[tuple[Ghap, Sequence[str]]] = ()  # entries that came again although shown, and in which ones

    async def suggested(self, skipped: list[str] | None = None, *, is_dated: bool = True) -> list[Suggestion]:
        """Return all suggestions but those from transcripts, answered or not; git dates lines of files.

        Files that are not read are appended to `skipped`, each with the reason.
        """
        said = sentences_of(self.folder, self.environment, skipped, is_dated=is_dated)
        found = await suggestions.of_files(said, self.project, self.gate)
        found += suggestions.of_preferences(self.memories, self.project)
        found += suggestions.of_kept(self.rules, self.project)
        found += suggestions.of_lessons(self.came_again, self.project)
        return found + suggestions.of_values(self.values, self.project)

    def left(self, found: Iterable[Suggestion]) -> list[Suggestion]:
        """Return the suggestions without an answer."""
        return suggestions.left(found, self.rules, self.now)

    async def waiting(self) -> list[Suggestion]:
        """Return the suggestions without an answer, with near copies merged."""
        return self.left(suggestions.distinct(await self.suggested(is_dated=False))[0])

    def accepted(self) -> list[Rule]:
        """Return the accepted rules of the project whose breaches can be found in transcripts."""
        # Rules limited to a folder depend on where a call runs, which transcripts do not show.
        return [
            each
            for each in self.rules
            if each.is_accepted and each.applies_in(self.project) and each.pattern and not each.folder
        ]
