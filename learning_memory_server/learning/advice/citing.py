"""What an agent says helped or misled it: what it was shown unasked, what it found by itself, and what is nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from learning_memory_server.model.advice import Citation, Effect, Kind
from learning_memory_server.model.limits import CITED_MAX, ID_MAX, NARRATIVE_MAX
from learning_memory_server.model.lines import one_line, shortened

if TYPE_CHECKING:
    from learning_memory_server.capture.entries.collector import ObservationCollector
    from learning_memory_server.capture.memories.log import MemoryLog
    from learning_memory_server.learning.advice.log import AdviceLog
    from learning_memory_server.learning.values.log import ValueLog
    from learning_memory_server.model.entry import Ghap


@dataclass(frozen=True, slots=True)
class Cited:
    """What an agent names when it resolves an entry."""

    shown: dict[str, Effect] = field(default_factory=dict)
    """The effects of what was shown for the entry unasked, by id. Only these say whether advice helps."""
    found: list[Citation] = field(default_factory=list)  # the rest of what exists
    not_recorded: list[str] = field(default_factory=list)  # a sentence for each other id


@dataclass(frozen=True, slots=True)
class Citing:
    """Sorts what an agent names. None of it is refused."""

    advice: AdviceLog
    collector: ObservationCollector
    values: ValueLog
    memories: MemoryLog

    def sort(self, entry: Ghap, helped: Sequence[str], misled: Sequence[str]) -> Cited:
        """Return which of the ids count for an entry, and as what."""
        shown = {item.id for each in self.advice.of(entry) if not each.withheld for item in each.items}
        cited = Cited()
        for name in dict.fromkeys((*helped[:CITED_MAX], *misled[:CITED_MAX])):
            effect = Effect.HELPED if name in helped else Effect.MISLED
            if name in helped and name in misled:
                cited.not_recorded.append(f"{name}: it is in both helped and misled.")
            elif name in shown:
                cited.shown[name] = effect
            elif (kind := self._kind(name)) and name != entry.id:
                cited.found.append(Citation(name, kind, effect))
            else:
                named = shortened(one_line(name), ID_MAX) or "An empty id"
                cited.not_recorded.append(f"{named}: there is no other entry, value or memory with this id.")
        if more := ", ".join((*helped[CITED_MAX:], *misled[CITED_MAX:])):
            cited.not_recorded.append(
                f"{shortened(more, NARRATIVE_MAX)}: only {CITED_MAX} of each list count."
            )
        return cited

    def _kind(self, name: str) -> Kind | None:
        if self.collector.look_up([name]).found:
            return Kind.EXPERIENCE
        if self.values.find(name):
            return Kind.VALUE
        return Kind.MEMORY if self.memories.find(name) else None
