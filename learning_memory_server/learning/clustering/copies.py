"""Near copies: the same text written again, or almost. Each text counts once, however often it was written.

Without this, 4,000 near copies of 1,000 requests made 193 clusters of 50 topics, with an ARI of .34 instead of .84: the
copies of one text are denser than any topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from learning_memory_server.learning.clustering.neighbours import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from learning_memory_server.learning.clustering.neighbours import Neighbours

NEAR_COPY: Final = 0.95
"""The cosine from which two texts count as one. With .92, purity falls from .85 to .79 on 1,000 banking requests; .98
misses copies with one word changed. Without copies, .95 is within .01 ARI of no rule."""


def text_of(neighbours: Neighbours) -> NDArray[np.int64]:
    """Return the number of each row's text, shape (n,): linked near copies share one, in order of their first row."""
    from scipy.sparse import csr_array  # noqa: PLC0415
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    count = len(neighbours.rows)
    row, place = np.nonzero(neighbours.similarities >= NEAR_COPY)
    links = csr_array((np.ones(len(row)), (row, neighbours.rows[row, place])), shape=(count, count))
    component = connected_components(links, directed=False)[1]
    _, first, number = np.unique(component, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[number], dtype=np.int64)


def means_of(units: NDArray[np.float32], text: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the mean of each text's rows, scaled to length 1."""
    sums = np.zeros((int(text.max()) + 1, units.shape[1]), dtype=np.float32)
    np.add.at(sums, text, units)
    return unit_rows(sums)
