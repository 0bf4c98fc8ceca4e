"""What a value is judged by: how a cluster's members spread around their centroid.

A member's distance is measured to the centroid of the others (leave one out). Measured to a centroid that includes it,
the distance is too short, and a rule based on it rejects nearly everything genuine in small clusters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from learning_memory_server.learning.clustering.neighbours import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_DEVIATION: Final = 0.05
"""A floor for members that are near copies and do not show how far their topic reaches. 95 % of topics are above it."""
_NEAREST: Final = 3
_SAMPLE: Final = 64
"""Maximum number of members kept, so that the evidence grows with the number of clusters and not with the store."""


@dataclass(frozen=True, slots=True, eq=False)
class ClusterEvidence:
    """What a judgement needs to know about a cluster, computed once from its members."""

    name: str  # the cluster's id, quoted in reasons
    centroid: NDArray[np.float32]  # shape (d,), float32, length 1: the weighted mean of the members
    size: int  # the number of members
    loo_mean: float  # the mean distance of a member to the centroid of the others
    loo_deviation: float  # the standard deviation of those distances
    mean: float  # the mean distance of a member to the centroid of all
    deviation: float  # the standard deviation of those distances
    sample: NDArray[np.float16]
    """Shape (at most 64, d), float16, rows of length 1: every k-th member, in the order given."""

    def nearness(self, unit: NDArray[np.float32]) -> float:
        """Return the mean of the cosine to the centroid and the average cosine to the three nearest of `sample`.

        The centroid says where the topic is; the nearest members, how far it reaches in this direction.
        """
        cosines = np.sort(self.sample.astype(np.float32) @ unit)
        return float((self.centroid @ unit + cosines[-_NEAREST:].mean()) / 2)

    @classmethod
    def of(cls, name: str, vectors: NDArray[np.float32], weights: NDArray[Any]) -> ClusterEvidence:
        """Compute the evidence of a cluster."""
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
