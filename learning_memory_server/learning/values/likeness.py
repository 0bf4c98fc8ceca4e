"""Find values that say nearly the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from learning_memory_server.errors import EmbeddingUnavailableError, StorageUnavailableError
from learning_memory_server.index.document import Collection, point_id

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.index.index import VectorIndex
    from learning_memory_server.model.value import Value

ALIKE: Final = 0.8
"""The minimum cosine at which a value is shown as similar. With all-MiniLM-L6-v2, 13 of 15 pairs of principles that say
the same in other words reach it (3 of them 0.9), and 1 of 12 pairs that differ: there, one forbids what the other asks
for, which is worth showing as well."""
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Likeness:
    """A value, and the cosine of its text to the text in question."""

    value: Value
    similarity: float


async def values_like(
    index: VectorIndex, vector: NDArray[np.float32], values: Sequence[Value]
) -> tuple[Likeness, ...]:
    """Return at most five values similar to a text, most similar first.

    Values that are not indexed yet are left out; without an engine, the result is empty.
    """
    by_point = {point_id("value", value.id): value for value in values}
    if not by_point:
        return ()
    try:
        hits = await index.nearest(Collection.VALUES, vector, limit=_SHOWN, ids=by_point.keys())
    except (StorageUnavailableError, EmbeddingUnavailableError):
        return ()
    return tuple(Likeness(by_point[hit.id], hit.score) for hit in hits if hit.score >= ALIKE)
