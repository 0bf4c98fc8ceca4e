"""Whether an experience was made in a situation like those that a value was learned from, judged by vectors alone.

The situation is alike if two conditions hold, on the value's own axis:

- The experience's vector is no farther from the centre of the value's members than they usually are from the centre of
  the others: their mean distance plus one standard deviation, leave one out.
- No centre of a value from another neighbourhood is nearer. Centres of cosine 0.8 are one neighbourhood; clusters
  whose centres are so alike are merged, too.

Measured with all-MiniLM-L6-v2 on requests, with 6 to 25 of a topic as members: 79 to 83 % of further ones of the topic
are in, 0.3 to 0.7 % of those of 150 other topics (2 to 3 % where 77 topics share one bank), and of the nearest other
topic 22 to 39 %, or 2 to 6 % if that has a value of its own. Half a deviation has 70 % of the topic, and 13 to 25 % of
the nearest other. The bound on a value's text has 60 to 80 % of the nearest other: it is made to be used with all other
clusters at hand, and those of the day a value was stored are gone.

That an experience ended the other way hardly moves it: of 81 real ones, 95 % are in the circle of their 6 nearest on the
axis full, and 85 % if what happened is that of another one that ended the other way (93 and 72 % on strategy).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from learning_memory_server.clustering.evidence import LEAST_DEVIATION, ClusterEvidence
from learning_memory_server.clustering.neighbours import unit_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_SAME_PLACE: Final = 0.8
_ROUNDING: Final = 1e-6
"""Single precision leaves this much distance between two equal unit vectors."""


@dataclass(frozen=True, slots=True, eq=False)
class Circle:
    """Where experiences count for a value.

    Args:
        name: The value's id.
        centre: Shape (d,), length 1.
        radius: The largest distance, 1 - cosine, that counts.
    """

    name: str
    centre: NDArray[np.float32]
    radius: float

    @classmethod
    def around(cls, name: str, vectors: NDArray[np.float32]) -> Circle:
        """Make a value's circle from the vectors of its members, of shape (m, d), m at least 1."""
        proof = ClusterEvidence.of(name, vectors, np.ones(len(vectors)))
        return cls(name, proof.centroid, radius_of(proof))


def radius_of(proof: ClusterEvidence) -> float:
    """Return how far from a cluster's centre an experience may be to count."""
    return proof.loo_mean + max(proof.loo_deviation, LEAST_DEVIATION)


def containing(vectors: NDArray[np.float32], circles: Sequence[Circle]) -> list[dict[str, float]]:
    """Return for each vector the circles that it counts for, by name, and its cosine to their centres.

    Args:
        vectors: Shape (n, d); any length but zero.
        circles: Those of one axis.
    """
    if not circles:
        return [{} for _ in vectors]
    centres = np.stack([circle.centre for circle in circles])
    cosines = unit_rows(np.asarray(vectors, dtype=np.float32)) @ centres.T
    reaches = 1 - np.array([circle.radius for circle in circles]) - _ROUNDING
    together = centres @ centres.T >= _SAME_PLACE
    np.fill_diagonal(together, val=True)
    counts = (cosines >= reaches) & together[cosines.argmax(axis=1)]
    return [
        {circles[place].name: float(row[place]) for place in np.flatnonzero(mask).tolist()}
        for row, mask in zip(cosines, counts, strict=True)
    ]
