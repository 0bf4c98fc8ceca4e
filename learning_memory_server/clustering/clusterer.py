"""Clusters of unit vectors: neighbours, diffusion, HDBSCAN on the neighbour graph, then five corrections.

The corrections: points that do not belong become noise, groups that are alike are merged, groups are joined to the
level that is parted best, noise that its neighbours vouch for is taken back, and who is nearer to another group than to
its own becomes noise.

Weights never enter the density step or decide who is a member: repeating points by weight measured an ARI of
.03 against .58. They move centroids, and with them rank members.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from learning_memory_server.clustering.density import dense_groups, linkage_tree, pull_of, spread
from learning_memory_server.clustering.merging import joined, readmitted, without_misplaced
from learning_memory_server.clustering.neighbours import (
    NEIGHBOURS,
    Neighbours,
    likeness_to_others,
    nearest_neighbours,
    unit_rows,
)
from learning_memory_server.clustering.partition import Cluster, NearMiss, Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from learning_memory_server.clustering.levels import Groups

_SMALLEST_UP_TO: Final = 1_000
"""Points among which the smallest groups are looked for: groups can be joined afterwards and are never parted."""
_SIZE_POWER: Final = 0.7
"""How much larger the groups of larger stores are. Among 18,000 requests of 150 kinds, groups of 23 gave 130 clusters,
an ARI of .65, and 98 % kept their number when a tenth was added; with the power of one half (13 points) there were 340,
.56 and 60 %."""
_SMALLEST_SIZE: Final = 3
_SMALLEST_GROUP: Final = 2
"""The fewest points that hdbscan calls a cluster."""
_LEAST_SIMILARITY: Final = 0.3
"""A member less alike to the mean of the other members (cosine of the raw vectors) is noise that density let in.
With itself in that mean, any three unrelated points pass: in stores of 20 points with 20 % outliers this way
measured an ARI of .62 against .53, with 49 % against 8 % of the outliers called noise."""
_OUTLYING: Final = 2.25
"""How many standard deviations below the median, over the members of all groups, that cosine is an outlier's. 2.25
costs .01 ARI in stores without outliers and calls 56 % of them noise in stores with 20 %, against 45 % without it;
with 2 to 2.5 that is within .04."""
_LEAST_DEVIATION: Final = 0.05
"""Where all groups are tight, a slightly looser one is no outlier. Topics of real texts deviate by .1 and more."""
_SAME_TOPIC: Final = 0.8
"""Centroids this alike are one topic that density split; points all this alike to their mean are one, too."""
_SIZES_TRIED: Final = 12
"""How many smaller cluster sizes are tried at most in search of a near miss."""


class Clusterer:
    """Finds clusters. Deterministic; give rows in a fixed order (by id), since exact ties fall to the earlier row.

    Args:
        min_cluster_size: The fewest points of a cluster, at least 2; None derives it as
            max(3, round(3 * (n / 1000) ** 0.7)).
        min_samples: How many neighbours a point must have near to lie in a dense region; at least 1.
    """

    def __init__(self, min_cluster_size: int | None = None, min_samples: int = 3) -> None:
        self._min_cluster_size = min_cluster_size
        self._min_samples = min_samples

    @property
    def neighbours_needed(self) -> int:
        """How many neighbours of each row `fit` looks at."""
        return max(NEIGHBOURS, self._min_samples)

    def effective_size(self, count: int) -> int:
        """Return the `min_cluster_size` that holds for `count` points."""
        if self._min_cluster_size is not None:
            return self._min_cluster_size
        return max(_SMALLEST_SIZE, round(_SMALLEST_SIZE * math.pow(count / _SMALLEST_UP_TO, _SIZE_POWER)))

    def fit(
        self, vectors: NDArray[np.float32], weights: NDArray[Any], neighbours: Neighbours | None = None
    ) -> Partition:
        """Cluster the rows.

        Args:
            vectors: Shape (n, d); any length but zero. n may be 0.
            weights: Shape (n,), each above 0: how much a row counts in centroids and rankings.
            neighbours: Those of the rows, where they are known: finding them is most of the time from 10,000 rows on.
        """
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # noqa: PLC0415

        vectors = np.asarray(vectors, dtype=np.float32)
        weights = np.asarray(weights, dtype=np.float64)
        # One thread: BLAS threads that wait for one another under load cost seconds, and the way a sum is
        # divided among them would let the machine's core count change the outcome.
        with threadpool_limits(limits=1):
            return self._partition(unit_rows(vectors), weights, neighbours)

    def _partition(
        self, units: NDArray[np.float32], weights: NDArray[np.float64], neighbours: Neighbours | None
    ) -> Partition:
        count = len(units)
        size = self.effective_size(count)
        near_miss = None
        groups: Groups = []
        if count > 0 and _are_all_alike(units):
            groups = [np.arange(count)] if count >= size else []
        elif count > _SMALLEST_GROUP:
            if neighbours is None:
                neighbours = nearest_neighbours(units, self.neighbours_needed)
            found = _Density(units, neighbours, self._min_samples)
            groups = found.groups(size)
            if not groups or sum(map(len, groups)) < count / 2:
                near_miss = found.near_miss(size, len(groups))
        clusters = sorted(
            (_cluster(units, weights, rows) for rows in groups),
            key=lambda cluster: (-cluster.size, cluster.members.min()),
        )
        noise = np.setdiff1d(np.arange(count), np.concatenate([np.empty(0, np.int64), *groups]))
        return Partition(tuple(clusters), noise, count, size, self._min_samples, near_miss)


class _Density:
    """What is computed once and read at several cluster sizes."""

    def __init__(self, units: NDArray[np.float32], neighbours: Neighbours, min_samples: int) -> None:
        self._units = units
        self._neighbours = neighbours
        self._pull = pull_of(neighbours)
        self._points = spread(units, neighbours, self._pull)
        self._tree = linkage_tree(self._points, neighbours, min_samples)

    def groups(self, size: int) -> Groups:
        groups = _refined(self._units, dense_groups(self._tree, size), size)
        groups = joined(self._units, self._points, groups, self._neighbours, self._pull)
        groups = readmitted(self._units, groups, self._neighbours)
        return without_misplaced(self._units, groups, self._neighbours, size)

    def near_miss(self, size: int, found: int) -> NearMiss | None:
        step = max(1, size // _SIZES_TRIED)
        for smaller in range(size - 1, _SMALLEST_GROUP - 1, -step):
            groups = self.groups(smaller)
            if len(groups) > found:
                return NearMiss(smaller, tuple(sorted(map(len, groups), reverse=True)))
        return None


def _are_all_alike(units: NDArray[np.float32]) -> bool:
    """Whether all points are alike, where a density step could only split hairs (or equal points)."""
    return bool((units @ _unit(units.mean(axis=0))).min() >= _SAME_TOPIC)


def _refined(units: NDArray[np.float32], groups: Groups, size: int) -> Groups:
    """Drop members that are unlike their group, groups that fall below `size`, and merge groups that are alike."""
    kept = _without_outliers(units, groups, size)
    if not kept:
        return []
    sums = np.stack([units[rows].sum(axis=0) for rows in kept])
    alike = _alike(sums)
    while alike.max() >= _SAME_TOPIC:
        first, second = sorted(divmod(int(alike.argmax()), len(kept)))
        kept[first] = np.sort(np.concatenate([kept[first], kept.pop(second)]))
        sums[first] += sums[second]
        sums = np.delete(sums, second, axis=0)
        alike = _alike(sums)
    return kept


def _without_outliers(units: NDArray[np.float32], groups: Groups, size: int) -> Groups:
    """Drop members that are far less like the others of their group than members are, and groups below `size`."""
    likeness = [likeness_to_others(units[rows]) for rows in groups]
    everywhere = np.concatenate([np.empty(0, np.float32), *likeness])
    everywhere = everywhere[everywhere >= _LEAST_SIMILARITY]
    if len(everywhere) == 0:
        return []
    # The mean is pulled down by the very outliers that are sought; the median is not.
    reach = _OUTLYING * max(float(everywhere.std()), _LEAST_DEVIATION)
    least = max(_LEAST_SIMILARITY, float(np.median(everywhere)) - reach)
    kept = [rows[alike >= least] for rows, alike in zip(groups, likeness, strict=True)]
    return [rows for rows in kept if len(rows) >= size]


def _alike(sums: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosine of every pair of rows, and -1 for a row with itself."""
    units = unit_rows(sums)
    alike = units @ units.T
    np.fill_diagonal(alike, -1)
    return np.asarray(alike)


def _cluster(units: NDArray[np.float32], weights: NDArray[np.float64], rows: NDArray[np.int64]) -> Cluster:
    centroid = _unit(weights[rows] @ units[rows].astype(np.float64))
    similarities = units[rows] @ centroid
    order = np.lexsort((rows, -similarities))
    return Cluster(rows[order], similarities[order], weights[rows][order], centroid)


def _unit(vector: NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(unit_rows(vector[None])[0])
