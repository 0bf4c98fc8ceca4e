"""A fit, and where those belong that came after it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from learning_memory_server.clustering.placement import VOTERS, Placement, place
from learning_memory_server.indexing.document import point_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from learning_memory_server.clustering.axis_fit import AxisFit
    from learning_memory_server.clustering.material import AxisSource

_OUTGROWN: Final = 0.25
"""With more newcomers than this share, placing them takes as long as a fit, and finds none of the new topics."""
_NEVER_OUTGROWN_BY: Final = 10
_ASKED: Final = 2 * VOTERS + 5
"""How many neighbours of a newcomer are asked for: those that are not placed yet have no vote."""


class FitWithNewcomers:
    """A fit that goes on being used while experiences come.

    Args:
        fit: The fit.
    """

    def __init__(self, fit: AxisFit) -> None:
        self.fit = fit
        self.placed: dict[str, Placement] = {}
        self._number_of_point: dict[str, int | None] | None = None

    def is_outgrown(self, names: Iterable[str]) -> bool:
        """Tell whether too many have come to place all of them.

        Args:
            names: The ids of all experiences there are.
        """
        waiting = sum(name not in self.fit.numbers and name not in self.placed for name in names)
        return waiting > max(_NEVER_OUTGROWN_BY, _OUTGROWN * len(self.fit.numbers))

    async def take_in(self, source: AxisSource, names: Iterable[str]) -> None:
        """Place those who are not placed yet, oldest first; the earlier ones vote on the later ones.

        Args:
            source: Where their vectors are; who has none yet is placed when there is one.
            names: The ids of all experiences there are.

        Raises:
            EmbeddingUnavailableError, StorageUnavailableError: If there is no index.
        """
        waiting = sorted(name for name in names if name not in self.fit.numbers and name not in self.placed)
        vectors = await source.vectors_of(waiting) if waiting else {}
        if not vectors:
            return
        if self._number_of_point is None:
            self._number_of_point = await asyncio.to_thread(_points, self.fit.numbers)
        numbers = self._number_of_point
        centroids = {cluster.id.number: cluster.evidence.centroid for cluster in self.fit.clusters}
        for name in waiting:
            if name not in vectors:
                continue
            hits = await source.nearest(vectors[name], _ASKED)
            voters = [(numbers[hit.id], hit.score) for hit in hits if hit.id in numbers]
            self.placed[name] = placement = place(vectors[name], voters, centroids)
            numbers[point_id("ghap", name)] = placement.number
            # A search takes a millisecond with 10,000 experiences, and holds the interpreter.
            await asyncio.sleep(0)


def _points(numbers: Mapping[str, int | None]) -> dict[str, int | None]:
    return {point_id("ghap", name): number for name, number in numbers.items()}
