"""Whether what agents were shown or found helped or misled them, and what follows from that."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.answers import Answers
from learning_memory_server.journal.records import Records
from learning_memory_server.model.advice import Advice, Effect
from learning_memory_server.model.entry import Ghap


def teaches(entry: Ghap, answers: Answers | None = None) -> bool:
    """Return whether an entry may be shown unasked: an own one unless a person says never, an imported one after a yes.

    For shared lessons, see `SharedLessons.allowed`.
    """
    is_own = not entry.imported or bool(answers and answers.is_yes(entry.id))
    return is_own and bool(entry.learned) and not (answers and answers.is_never(entry.id))


@dataclass(eq=False)
class Effects:
    """Counts what agents say when they resolve their entries."""

    advice: Records[Advice]
    collector: ObservationCollector
    _counts: tuple[object, dict[str, tuple[int, int]]] = field(default=(None, {}), init=False)
    _successors: tuple[object, dict[str, str]] = field(default=(None, {}), init=False)

    def stated(self) -> set[tuple[str, str, Effect]]:
        """Return the entries whose agents named a thing, with the thing and its effect."""
        cited = (
            (entry.id, each.id, each.effect) for entry in self.collector.timeline.citing for each in entry.outcome.cited
        )
        # Earlier journals have the effects in the lines about what was shown.
        own = (each for each in self.advice.all() if not each.imported)
        earlier = ((each.ghap_id, item.id, item.effect) for each in own for item in each.items if item.effect)
        return {*cited, *earlier}

    def counts(self) -> Mapping[str, tuple[int, int]]:
        """Return for how many entries each thing misled, and for how many it helped, by its id."""
        if self._counts[0] != (state := self._state()):
            stated = Counter((name, effect) for _, name, effect in self.stated())
            names = {name for name, _ in stated}
            counts = {name: (stated[name, Effect.MISLED], stated[name, Effect.HELPED]) for name in names}
            self._counts = state, counts
        return self._counts[1]

    def has_misled(self, name: str) -> bool:
        """Return whether a thing misled more often than it helped."""
        misled, helped = self.counts().get(name, (0, 0))
        return misled > helped

    def has_helped(self, name: str) -> bool:
        """Return whether a thing ever helped."""
        return self.counts().get(name, (0, 0))[1] > 0

    def successors(self) -> Mapping[str, str]:
        """Return the experiences that misled more often than they helped, each with the id of its successor."""
        if self._successors[0] != (state := self._state()):
            # Ids sort by time, so the last entry that was misled is the successor.
            found = {
                earlier: later
                for later, earlier, effect in sorted(self.stated())
                if effect is Effect.MISLED and self.has_misled(earlier) and self._follows(later, earlier)
            }
            self._successors = state, found
        return self._successors[1]

    def _follows(self, later: str, earlier: str) -> bool:
        entry, before = self.collector.find(later), self.collector.find(earlier)
        return bool(entry and before and teaches(entry) and entry.project == before.project)

    def _state(self) -> object:
        timeline = self.collector.timeline
        return timeline, timeline.changes, len(self.advice.forgotten_ids())
