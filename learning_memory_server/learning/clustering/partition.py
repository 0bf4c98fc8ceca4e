"""The result of a clustering: clusters, noise, and what a smaller cluster size would have found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

THIN_NOISE: Final = 0.5
"""The share of noise above which a partition counts as thin."""


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """The points of one cluster."""

    members: NDArray[np.int64]
    """Shape (m,), int64: the rows, most central first (cosine to the centroid, ties by row)."""
    similarities: NDArray[np.float32]  # shape (m,), float32: the cosine of each member to the centroid
    weights: NDArray[np.float64]  # shape (m,), float64: the weight of each member
    centroid: NDArray[np.float32]
    """Shape (d,), float32: the weighted mean of the unit vectors, scaled to length 1."""

    @property
    def size(self) -> int:
        """The number of members."""
        return len(self.members)


@dataclass(frozen=True, slots=True)
class NearMiss:
    """The largest smaller `min_cluster_size` that would have found more clusters."""

    min_cluster_size: int
    sizes: tuple[int, ...]  # the sizes of the clusters it would have found, largest first


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """The result of one clustering."""

    clusters: tuple[Cluster, ...]  # largest first, ties by lowest row
    noise: NDArray[np.int64]  # rows in no cluster, ascending
    count: int  # the number of points
    min_cluster_size: int  # the effective setting: as configured, or derived from `count`
    min_samples: int
    near_miss: NearMiss | None = None
    """Looked for only if the partition is thin; None if no smaller setting finds more clusters."""

    @property
    def is_thin(self) -> bool:
        """Whether there is something to explain: no cluster, or more than half of the points are noise."""
        return not self.clusters or len(self.noise) > THIN_NOISE * self.count

    def labels(self) -> NDArray[np.int64]:
        """Return the index of each row's cluster in `clusters`, or -1 for noise. Shape (count,)."""
        labels = np.full(self.count, -1, dtype=np.int64)
        for position, cluster in enumerate(self.clusters):
            labels[cluster.members] = position
        return labels
