"""What replies say of an experience besides what it has: what became of its files, and what superseded it."""

from collections.abc import Iterable
from dataclasses import dataclass

from learning_memory_server.journal.kinds import without_empty
from learning_memory_server.lessons.effects import Effects
from learning_memory_server.lessons.files.freshness import Freshness
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Ghap


@dataclass(frozen=True, slots=True)
class EntryNotes:
    """The notes on experiences, for every caller."""

    effects: Effects
    freshness: Freshness

    def of(self, entries: Iterable[Ghap], folder: str) -> dict[str, dict[str, str]]:
        """Return the notes of experiences, by id, as their files were when they were looked at last."""
        successors = self.effects.successors()
        return {
            each.id: without_empty({"freshness": self.words(each, folder), "superseded_by": successors.get(each.id)})
            for each in entries
        }

    async def present(self, entries: Iterable[Ghap], caller: Caller) -> dict[str, dict[str, str]]:
        """Return the notes of experiences after looking at their files for at most `timeouts.FRESHNESS` seconds."""
        entries = list(entries)
        await self.freshness.judge(entries, caller.project, caller.folder)
        return self.of(entries, caller.folder)

    def words(self, entry: Ghap, folder: str) -> str:
        """Return what became of an experience's files in about five words, if there is something to say."""
        fate = self.freshness.find(entry, folder)
        return fate.words if fate else ""
