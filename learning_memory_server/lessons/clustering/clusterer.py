"""Cluster unit vectors: near copies count once, then diffusion, HDBSCAN on the neighbour graph, and corrections.

Outliers become noise, groups are merged up to the best level of the hierarchy, and noise is readmitted by its
neighbours' vote. Weights move centroids only. Decision 11 has figures.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from learning_memory_server.index.ranking.threshold import NEAR_COPY
from learning_memory_server.lessons.clustering.density import (
    NEIGHBOURS,
    dense_groups,
    distance_graph,
    likeness_to_others,
    means_of,
    nearest_neighbours,
    pull_of,
    spread,
    text_of,
    unit_rows,
)
from learning_memory_server.lessons.clustering.merging import Groups, group_of, joined, readmitted

THIN_NOISE: Final = 0.5  # The share of noise above which a partition counts as thin


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """The points of one cluster."""

    members: NDArray[np.int64]  # Shape (m,), int64: the rows, most central first (cosine to the centroid, ties by row)
    similarities: NDArray[np.float32]  # shape (m,), float32: the cosine of each member to the centroid
    weights: NDArray[np.float64]  # shape (m,), float64: the weight of each member
    centroid: NDArray[np.float32]  # Shape (d,), float32: the weighted mean of the unit vectors, scaled to length 1


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
    near_miss: NearMiss | None = None  # Only for thin partitions; None if no smaller setting finds more clusters

    @property
    def is_thin(self) -> bool:
        """Whether there is something to explain: no cluster, or more than half of the points are noise."""
        return not self.clusters or len(self.noise) > THIN_NOISE * self.count


_SMALLEST_UP_TO: Final = 1_000  # The most points for the smallest groups: groups can be merged, but not split
_SIZE_POWER: Final = 0.7  # The growth of the group size with the store
_SMALLEST_SIZE: Final = 3
_DECIMALS: Final = 5  # Of the cosines by which members are ranked
_SMALLEST_GROUP: Final = 2  # The smallest cluster that HDBSCAN finds
_LEAST_SIMILARITY: Final = 0.2  # The minimum cosine (raw vectors) of a member to the mean of the others, without itself
_LEAST_SHARE: Final = 0.4  # The same as a share of the median over all groups: short texts are less alike
_OUTLYING: Final = 2.25  # Standard deviations of that cosine below the median that mark an outlier
_LEAST_DEVIATION: Final = 0.05  # The least deviation, for tight groups. Topics of real texts deviate by .1 or more
_SAME_TOPIC: Final = 0.8  # Centroids this similar are one topic, and points this similar to their mean, too
_SIZES_TRIED: Final = 12  # Maximum number of smaller cluster sizes tried to find a near miss


class Clusterer:
    """Finds clusters, deterministically, of rows in a fixed order: exact ties go to the earlier row.

    Args:
        min_cluster_size: At least 2; None means max(3, round(3 * (n / 1000) ** 0.7)).
        min_samples: The neighbours, at least 1, that a point needs nearby to lie in a dense region.
    """

    def __init__(self, min_cluster_size: int | None = None, min_samples: int = 3) -> None:
        self._min_cluster_size = min_cluster_size
        self._min_samples = min_samples

    def effective_size(self, count: int) -> int:
        """Return the `min_cluster_size` used for `count` points."""
        if self._min_cluster_size is not None:
            return self._min_cluster_size
        return max(_SMALLEST_SIZE, round(_SMALLEST_SIZE * math.pow(count / _SMALLEST_UP_TO, _SIZE_POWER)))

    def fit(self, vectors: NDArray[np.float32], weights: NDArray[Any], near_copy: float = NEAR_COPY) -> Partition:
        """Cluster rows of shape (n, d), n of which may be 0; `weights` of shape (n,) are for centroids and rankings."""
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        vectors = np.asarray(vectors, dtype=np.float32)
        weights = np.asarray(weights, dtype=np.float64)
        # One thread: BLAS threads waiting for each other on a busy machine cost seconds, and splitting sums among
        # them would make the result depend on the number of cores.
        with threadpool_limits(limits=1):
            return self._partition(unit_rows(vectors), weights, near_copy)

    def _partition(self, units: NDArray[np.float32], weights: NDArray[np.float64], near_copy: float) -> Partition:
        count = len(units)
        size = self.effective_size(count)
        near_miss = None
        groups: Groups = []
        if count > 0 and _are_all_alike(units):
            groups = [np.arange(count)] if count >= size else []
        elif count > _SMALLEST_GROUP:
            found = _Density(units, self._min_samples, self.effective_size, near_copy)
            groups = found.groups(size)
            if not groups or sum(map(len, groups)) < count / 2:
                near_miss = found.near_miss(size, len(groups))
        clusters = sorted(
            (_cluster(units, weights, rows) for rows in groups),
            key=lambda cluster: (-len(cluster.members), cluster.members.min()),
        )
        noise = np.setdiff1d(np.arange(count), np.concatenate([np.empty(0, np.int64), *groups]))
        return Partition(tuple(clusters), noise, count, size, self._min_samples, near_miss)


class _Density:
    """The part of a clustering that is computed once for all cluster sizes."""

    def __init__(
        self, units: NDArray[np.float32], min_samples: int, effective_size: Callable[[int], int], near_copy: float
    ) -> None:
        self._rows = self._units = units
        wanted = max(NEIGHBOURS, min_samples)
        neighbours = nearest_neighbours(units, wanted)
        self._text = text_of(neighbours, near_copy)
        texts = int(self._text.max()) + 1
        if texts < len(units):
            self._units = means_of(units, self._text)
            neighbours = nearest_neighbours(self._units, wanted)
        self._largest_size = effective_size(texts)
        self._neighbours = neighbours
        self._pull = pull_of(neighbours)
        self._points = spread(self._units, neighbours, self._pull)
        self._graph = distance_graph(self._points, neighbours) if texts > _SMALLEST_GROUP else None
        self._min_samples = min_samples

    def groups(self, size: int) -> Groups:
        """Return the rows of each group, and of each text outside all groups that is repeated `size` times."""
        texts = self._groups_of_texts(min(size, self._largest_size))
        place = group_of(texts, len(self._units))[self._text]
        groups = [np.flatnonzero(place == position) for position in range(len(texts))]
        counts = np.bincount(self._text[place == len(texts)])
        repeated = [np.flatnonzero(self._text == text) for text in np.flatnonzero(counts >= size)]
        return _merged(self._rows, [*groups, *repeated]) if repeated else groups

    def _groups_of_texts(self, size: int) -> Groups:
        if self._graph is None:
            return []
        groups = dense_groups(self._graph, size, self._min_samples)
        groups = _merged(self._units, _without_outliers(self._units, groups, size))
        groups = joined(self._units, self._points, groups, self._neighbours, self._pull)
        return readmitted(self._units, groups, self._neighbours)

    def near_miss(self, size: int, found: int) -> NearMiss | None:
        step = max(1, size // _SIZES_TRIED)
        for smaller in range(size - 1, _SMALLEST_GROUP - 1, -step):
            groups = self.groups(smaller)
            if len(groups) > found:
                return NearMiss(smaller, tuple(sorted(map(len, groups), reverse=True)))
        return None


def _are_all_alike(units: NDArray[np.float32]) -> bool:
    """Whether all points are so similar that a density step could only split one topic (or equal points)."""
    return bool((units @ _unit(units.mean(axis=0))).min() >= _SAME_TOPIC)


def _merged(units: NDArray[np.float32], groups: Groups) -> Groups:
    """Merge groups that are alike, the most similar first."""
    if not groups:
        return []
    kept = list(groups)
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
    """Drop members far less similar to the rest of their group than members usually are, and groups below `size`."""
    likeness = [likeness_to_others(units[rows]) for rows in groups]
    everywhere = np.concatenate([np.empty(0, np.float32), *likeness])
    everywhere = everywhere[everywhere >= _LEAST_SIMILARITY]
    if len(everywhere) == 0:
        return []
    # The outliers sought here would pull the mean down, not the median.
    least = max(_LEAST_SIMILARITY, _LEAST_SHARE * float(np.median(everywhere)))
    everywhere = everywhere[everywhere >= least]
    reach = _OUTLYING * max(float(everywhere.std()), _LEAST_DEVIATION)
    least = max(least, float(np.median(everywhere)) - reach)
    kept = [rows[alike >= least] for rows, alike in zip(groups, likeness, strict=True)]
    return [rows for rows in kept if len(rows) >= size]


def _alike(sums: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosine of every pair of rows, -1 on the diagonal."""
    units = unit_rows(sums)
    alike = units @ units.T
    np.fill_diagonal(alike, -1)
    return np.asarray(alike)


def _cluster(units: NDArray[np.float32], weights: NDArray[np.float64], rows: NDArray[np.int64]) -> Cluster:
    centroid = _unit(weights[rows] @ units[rows].astype(np.float64))
    # The last digits differ between processors, and would order near copies differently.
    similarities = (units[rows] @ centroid).round(_DECIMALS)
    order = np.lexsort((rows, -similarities))
    return Cluster(rows[order], similarities[order], weights[rows][order], centroid)


def _unit(vector: NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(unit_rows(vector[None])[0])
