"""What a text is judged by: how a cluster's members lie around their centre.

A member's distance is taken to the centroid of the others (leave one out): measured to a centroid that contains
it, it comes out too short, and a rule built on that rejects nearly everything genuine in small clusters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from learning_memory_server.clustering.neighbours import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray


LEAST_DEVIATION: Final = 0.05
"""Members that are nearly copies of each other do not tell how far their kind reaches. 95 % of topics have more."""
_NEAREST: Final = 3
_SAMPLE: Final = 64
"""Members at most that are kept, so that what is kept grows with the clusters and not with the store."""


@dataclass(frozen=True, slots=True, eq=False)
class ClusterEvidence:
    """What judging needs to know of a cluster, computed once from its members.

    Args:
        name: The cluster's id, used in reasons.
        centroid: Shape (d,), float32, length 1: the weighted mean of the members.
        size: How many members there are.
        loo_mean: The mean distance of a member to the centroid of the others.
        loo_deviation: The standard deviation of those distances.
        mean: The mean distance of a member to the centroid, itself included.
        deviation: The standard deviation of those distances.
        sample: Shape (at most 64, d), float16, rows of length 1: members, evenly chosen in the order given.
    """

    name: str
    centroid: NDArray[np.float32]
    size: int
    loo_mean: float
    loo_deviation: float
    mean: float
    deviation: float
    sample: NDArray[np.float16]

    def nearness(self, unit: NDArray[np.float32]) -> float:
        """Return the mean of two cosines: to the centroid, and on average to the three nearest of `sample`.

        The centroid says where the topic is, the nearest members how far it reaches in this direction.

        Args:
            unit: Shape (d,), length 1.
        """
        cosines = np.sort(self.sample.astype(np.float32) @ unit)
        return float((self.centroid @ unit + cosines[-_NEAREST:].mean()) / 2)

    @classmethod
    def of(cls, name: str, vectors: NDArray[np.float32], weights: NDArray[Any]) -> ClusterEvidence:
        """Compute the evidence.

        Args:
            name: The cluster's id.
            vectors: Shape (m, d), m at least 1; any length but zero.
            weights: Shape (m,), each above 0.

        Raises:
            ValueError: If there are no members.
        """
        if len(vectors) == 0:
            raise ValueError(f"{name} has no members to be judged by")
        members = unit_rows(vectors).astype(np.float64)
        shares = np.asarray(weights, dtype=np.float64)[:, None] * members
        total = shares.sum(axis=0)
        centroid = _units(total[None])
        inside = _distances(members, centroid)
        outside = _distances(members, _units(total - shares)) if len(members) > 1 else inside
        return cls(
            name=name,
            centroid=centroid[0].astype(np.float32),
            size=len(members),
            loo_mean=float(outside.mean()),
            loo_deviation=float(outside.std()),
            mean=float(inside.mean()),
            deviation=float(inside.std()),
            sample=members[:: math.ceil(len(members) / _SAMPLE)].astype(np.float16),
        )


def _units(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1))


def _distances(points: NDArray[Any], centres: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(1 - (points * centres).sum(axis=1), dtype=np.float64)
