"""What resolved entries add up to, kept as they come and go: counting 100,000 of them takes seconds."""

from collections import Counter
from collections.abc import Iterable
from threading import Lock

from learning_memory_server.index.document import is_on
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.vocabulary import Axis, OutcomeStatus, Tier


class Tally:
    """Counts of entries. One thread may count many, while another adds or removes single ones."""

    def __init__(self) -> None:
        self.axes = Counter[Axis]()
        self.tiers = Counter[Tier]()
        self.outcomes = Counter[OutcomeStatus]()
        self.first = Stated()
        self.last = Stated()
        self._changing = Lock()

    def count(self, entries: Iterable[Ghap], times: int = 1) -> None:
        """Add entries; with -1, remove them."""
        for entry in entries:
            tier, status = entry.tier, entry.outcome.status
            axes = [axis for axis in Axis if is_on(axis, entry)]
            with self._changing:
                self.tiers[tier] += times
                self.outcomes[status] += times
                for axis in axes:
                    self.axes[axis] += times
                if status is not OutcomeStatus.ABANDONED:
                    held = status is OutcomeStatus.CONFIRMED
                    self.first.add(entry.first_confidence, held, times)
                    self.last.add(entry.last_confidence, held, times)


class Stated:
    """Sums over judged entries with a stated confidence."""

    def __init__(self) -> None:
        self.count = 0
        self._confidence = self._held = self._squares = 0.0

    def add(self, confidence: float | None, held: bool, times: int) -> None:
        """Add an entry; with -1, remove it."""
        if confidence is not None:
            self.count += times
            self._confidence += times * confidence
            self._held += times * held
            self._squares += times * (confidence - held) ** 2

    def means(self) -> tuple[float, float, float] | None:
        """Return the mean confidence, the share that held, and the Brier score; None without entries."""
        if not self.count:
            return None
        return self._confidence / self.count, self._held / self.count, self._squares / self.count
