"""Values that say nearly the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from learning_memory_server.errors import EmbeddingUnavailableError, StorageUnavailableError
from learning_memory_server.indexing.document import Collection, point_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.domain.value import Value
    from learning_memory_server.indexing.index import VectorIndex

ALIKE: Final = 0.8
"""The cosine from which a text is near enough to another to be shown. With all-MiniLM-L6-v2, 13 of 15 pairs of principles
that say the same in other words have it (3 of them 0.9), and one of 12 that differ: a pair of which one forbids what the
other asks for, which is worth seeing as well."""
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Likeness:
    """A value, and the cosine of its text to the one that is asked about."""

    value: Value
    similarity: float


async def values_like(
    index: VectorIndex, vector: NDArray[np.float32], values: Sequence[Value]
) -> tuple[Likeness, ...]:
    """Return the values that are most like a text, the most alike first; five at most.

    Values that are not in the index yet are left out, and all of them while there is no engine.

    Args:
        index: Where the values' vectors are.
        vector: Shape (d,), the text as a document.
        values: Those that come into question.
    """
    by_point = {point_id("value", value.id): value for value in values}
    if not by_point:
        return ()
    try:
        store = await index.open()
        hits = await store.search(Collection.VALUES, vector, limit=_SHOWN, ids=by_point.keys())
    except (StorageUnavailableError, EmbeddingUnavailableError):
        return ()
    return tuple(Likeness(by_point[hit.id], hit.score) for hit in hits if hit.score >= ALIKE)
