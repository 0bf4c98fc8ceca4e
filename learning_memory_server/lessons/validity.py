"""Whether experiences still hold: what became of their files, and which later one contradicted them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.codec import without_empty
from learning_memory_server.lessons.files.freshness import Freshness
from learning_memory_server.lessons.finder import Ranked, may_tell
from learning_memory_server.lessons.shown import AdviceLog
from learning_memory_server.model.advice import Effect
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Ghap

_NEAR: Final = 0.05  # How far below the threshold an experience is judged: what is shown may be a little below it
_JUDGED: Final = 5  # The best candidates to judge, two of which are shown. With 20 files each, it takes 2 ms.


@dataclass(eq=False)
class Validity:
    """Decides which things may be shown unsolicited, and their notes, for every caller."""

    advice: AdviceLog
    collector: ObservationCollector
    freshness: Freshness = field(default_factory=Freshness)
    _successors: tuple[object, dict[str, str]] = field(default=(None, {}), init=False)

    def said(self) -> set[tuple[str, str, Effect]]:
        """Return for which entry each thing helped or misled, whether it was shown or cited."""
        cited = (
            (entry.id, each.id, each.effect) for entry in self.collector.timeline.citing for each in entry.outcome.cited
        )
        return self.advice.said().union(cited)

    def successors(self) -> Mapping[str, str]:
        """Return the experiences that misled more often than they helped, each with the id of its successor."""
        effects, timeline = self.advice.effects(), self.collector.timeline
        state = effects, timeline, timeline.changes
        if self._successors[0] != state:
            said = self.said()
            counts = Counter((name, effect) for _, name, effect in said)
            found = {
                earlier: later
                # Ids sort by time.
                for later, earlier, effect in sorted(said)
                if effect is Effect.MISLED
                and counts[earlier, Effect.MISLED] > counts[earlier, Effect.HELPED]
                and self._follows(later, earlier)
            }
            self._successors = state, found
        return self._successors[1]

    def _follows(self, later: str, earlier: str) -> bool:
        entry, before = self.collector.find(later), self.collector.find(earlier)
        return bool(entry and before and may_tell(entry) and entry.project == before.project)

    async def current(self, ranked: Ranked, project: str, folder: str) -> Ranked:
        """Return candidates without those that have a successor; the files of the best are judged.

        Changed files cost no rank: in `benchmarks.freshness`, more than half of the lessons about them are still true,
        and a loss puts an outdated lesson first more often than a true one.
        """
        successors = self.successors()
        experiences = [each for each in ranked.experiences if each.entry.id not in successors]
        best = sorted(experiences, key=lambda each: -each.score)[:_JUDGED]
        near = [each.entry for each in best if each.score >= ranked.least - _NEAR]
        await self.freshness.judge(near, project, folder)
        return replace(ranked, experiences=experiences)

    def words(self, entry: Ghap, folder: str) -> str:
        """Return what was judged last of an experience in about five words, if there is something to say."""
        judged = self.freshness.find(entry, folder)
        return judged.words if judged else ""

    def notes(self, entries: Iterable[Ghap], folder: str) -> dict[str, dict[str, str]]:
        """Return the notes of replies on experiences, by id, as far as these were judged."""
        successors = self.successors()
        return {
            each.id: without_empty({"freshness": self.words(each, folder), "superseded_by": successors.get(each.id)})
            for each in entries
        }

    async def judged_notes(self, entries: Iterable[Ghap], caller: Caller) -> dict[str, dict[str, str]]:
        """Return the same as the files are now, as far as that is known in time."""
        entries = list(entries)
        await self.freshness.judge(entries, caller.project, caller.folder)
        return self.notes(entries, caller.folder)
