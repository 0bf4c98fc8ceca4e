"""The sources of a project's suggestions: instruction files, memories, and a person's answers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from learning_memory_server.model.memory import Memory
from learning_memory_server.model.rule import Rule, Suggestion
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.rules.suggesting import suggestions
from learning_memory_server.rules.suggesting.files import sentences_of


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of a project's suggestions other than past sessions."""

    project: str
    folder: Path | None  # the project's root with its instruction files; None if unknown
    gate: RedactionGate  # redacts the texts
    environment: Mapping[str, str]  # contains the location of the client's files
    now: datetime  # to compare with the time of postponed answers
    rules: Sequence[Rule] = ()  # all rules of the log: answers and imported ones
    memories: Iterable[Memory] = ()  # some are preferences from earlier versions

    async def suggested(self, skipped: list[str] | None = None, *, is_dated: bool = True) -> list[Suggestion]:
        """Return the suggestions from files, memories and imports, answered or not; `is_dated` looks up dates in git.

        Files that are not read are appended to `skipped`, each with the reason.
        """
        said = sentences_of(self.folder, self.environment, skipped, is_dated=is_dated)
        found = await suggestions.of_files(said, self.project, self.gate)
        found += suggestions.of_preferences(self.memories, self.project)
        return found + suggestions.of_imported(self.rules, self.project)

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
