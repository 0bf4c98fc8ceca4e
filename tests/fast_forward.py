"""Minutes of waiting in milliseconds."""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine


class _ImpatientSelector(selectors.SelectSelector):
    """Gives threads and sockets a moment, then pretends that the time asked for has passed."""

    patience = 0.05
    skipped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= self.patience:
            return super().select(timeout)
        ready = super().select(self.patience)
        if not ready:
            self.skipped += timeout - self.patience
        return ready


class FastForwardLoop(asyncio.SelectorEventLoop):
    """An event loop that does not wait: when nothing else is to be done, its time jumps to the next timer."""

    def __init__(self) -> None:
        self._impatient = _ImpatientSelector()
        super().__init__(self._impatient)

    def time(self) -> float:
        return super().time() + self._impatient.skipped


def fast_forward(scenario: Coroutine[Any, Any, None]) -> None:
    """Run a scenario on a `FastForwardLoop`: minutes of waiting take milliseconds."""
    with asyncio.Runner(loop_factory=FastForwardLoop) as runner:
        runner.run(scenario)
