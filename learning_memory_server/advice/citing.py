"""The ids that an agent names as helpful or misleading when it resolves its entry."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.capture.memories.store import MemoryLog
from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.lessons.values.log import ValueLog
from learning_memory_server.model import limits
from learning_memory_server.model.advice import AdviceKind, Citation, Effect
from learning_memory_server.model.lines import one_line, shortened
from learning_memory_server.model.value import Value
from learning_memory_server.sharing.shared import SharedLessons


@dataclass(frozen=True, slots=True)
class Cited:
    """The valid citations, and a sentence for each id that is not valid."""

    found: list[Citation] = field(default_factory=list)
    not_recorded: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Citing:
    """Sorts the ids that an agent names. Invalid ids raise no error."""

    collector: ObservationCollector
    values: ValueLog
    shared: SharedLessons
    memories: MemoryLog

    def sort(self, ghap_id: str, helped: Sequence[str], misled: Sequence[str]) -> Cited:
        """Return the valid citations for an entry, helpful or misleading. An entry cannot cite itself."""
        cited = Cited()
        for name in dict.fromkeys((*helped[: limits.CITED_MAX], *misled[: limits.CITED_MAX])):
            try:
                kind = self._kind(name)
            except JournalUnavailableError:
                # The entry is resolved nevertheless.
                cited.not_recorded.append(f"{name}: the journal cannot be read, so it is not known what this is.")
                continue
            if name in helped and name in misled:
                cited.not_recorded.append(f"{name}: it is in both helped and misled.")
            elif kind and name != ghap_id:
                cited.found.append(Citation(name, kind, Effect.HELPED if name in helped else Effect.MISLED))
            else:
                shown = shortened(one_line(name), limits.ID_MAX) or "An empty id"
                cited.not_recorded.append(f"{shown}: there is no other entry, value or memory with this id.")
        if more := ", ".join((*helped[limits.CITED_MAX :], *misled[limits.CITED_MAX :])):
            cited.not_recorded.append(
                f"{shortened(more, limits.NARRATIVE_MAX)}: only {limits.CITED_MAX} of each list count."
            )
        return cited

    def first_value(self, names: Iterable[str]) -> Value | None:
        """Return the first value among these ids, None without one, and while values cannot be read."""
        with suppress(JournalUnavailableError):
            return next(filter(None, map(self.values.find, names)), None)
        return None

    def _kind(self, name: str) -> AdviceKind | None:
        if self.collector.look_up([name]).found or self.shared.entries.get(name):
            return AdviceKind.EXPERIENCE
        if self.values.find(name):
            return AdviceKind.VALUE
        return AdviceKind.MEMORY if self.memories.find(name) else None
