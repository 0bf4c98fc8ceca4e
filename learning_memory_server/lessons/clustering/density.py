"""The density step: diffuse points along the neighbour graph, then run HDBSCAN over it.

HDBSCAN: Campello, Moulavi and Sander, "Density-Based Clustering Based on Hierarchical Density Estimates", 2013, on
graph edges only. Neighbours are by cosine, exact, in blocks of bounded RAM. Near copies count as one text. Decision 11
has figures.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array


NEIGHBOURS: Final = 15  # Neighbours kept for each point. 10 to 30 are within .02 ARI of one another.

_BLOCK_FLOATS: Final = 4_000_000  # Similarities in a block: 16 MB
_MOST_THREADS: Final = 4  # Each thread works on one block
_GROUP: Final = 32  # Columns whose maximum bounds the search for the nearest; wider groups give a looser bound


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """The nearest other points of each point, nearest first, ties by row."""

    rows: NDArray[np.int64]  # Shape (n, k), int64: the rows of the neighbours. A point is never its own neighbour.
    similarities: NDArray[np.float32]  # shape (n, k), float32: their cosine similarities


def unit_rows(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Return the rows scaled to length 1; a zero row stays zero."""
    matrix = np.asarray(vectors, dtype=np.float32)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix / np.where(norms > 0, norms, 1), dtype=np.float32)


def likeness_to_others(units: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosine of each row to the mean of the others, for at least two rows of length 1."""
    return np.asarray(np.vecdot(units, unit_rows(units.sum(axis=0) - units)))


def nearest_neighbours(units: NDArray[np.float32], k: int = NEIGHBOURS, threads: int | None = None) -> Neighbours:
    """Find the k nearest neighbours of rows of length 1, at most n - 1, in one thread per processor, at most 4."""
    count = len(units)
    k = max(0, min(k, count - 1))
    rows = np.zeros((count, k), dtype=np.int64)
    similarities = np.zeros((count, k), dtype=np.float32)
    if k == 0:
        return Neighbours(rows, similarities)

    def find(some: NDArray[np.int64]) -> None:
        block = units[some] @ units.T
        block[np.arange(len(some)), some] = -np.inf
        rows[some], similarities[some] = _largest(block, k)

    height = max(1, _BLOCK_FLOATS // count)
    with ThreadPoolExecutor(threads or min(os.cpu_count() or 1, _MOST_THREADS)) as pool:
        list(pool.map(find, np.split(np.arange(count), range(height, count, height))))
    return Neighbours(rows, similarities)


def _largest(block: NDArray[np.float32], k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the columns and values of the k largest entries of each row, largest first, ties by column.

    The k-th largest maximum over column groups is a lower bound of the k-th largest entry, so few are sorted.
    """
    height, width = block.shape
    whole = width // _GROUP * _GROUP
    if whole // _GROUP >= 2 * k:
        # Groups are strided, not contiguous, so that the maximum reads full cache lines.
        maxima = block[:, :whole].reshape(height, _GROUP, -1).max(axis=1)
        bound = np.partition(maxima, maxima.shape[1] - k, axis=1)[:, maxima.shape[1] - k]
    else:
        bound = np.partition(block, width - k, axis=1)[:, width - k]
    places = np.flatnonzero(block >= bound[:, None])
    row, column = np.divmod(places, width)
    value = block.ravel()[places]
    order = np.lexsort((column, -value, row))
    first = np.searchsorted(row, np.arange(height))
    chosen = order[first[:, None] + np.arange(k)]
    return column[chosen], value[chosen]


def text_of(neighbours: Neighbours, near_copy: float) -> NDArray[np.int64]:
    """Return the number of each row's text, shape (n,): linked near copies share one, in order of their first row."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count = len(neighbours.rows)
    row, place = np.nonzero(neighbours.similarities >= near_copy)
    links = csr_array((np.ones(len(row)), (row, neighbours.rows[row, place])), shape=(count, count))
    component = connected_components(links, directed=False)[1]
    _, first, number = np.unique(component, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[number], dtype=np.int64)


def means_of(units: NDArray[np.float32], text: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the mean of each text's rows, scaled to length 1."""
    sums = np.zeros((int(text.max()) + 1, units.shape[1]), dtype=np.float32)
    np.add.at(sums, text, units)
    return unit_rows(sums)


_WIDE_DIMENSIONS: Final = 64
_NARROW_DIMENSIONS: Final = 32  # 20 to 64 are within .01 ARI of one another; more topics need more dimensions
_ROUNDS: Final = 2  # Rounds of diffusion. 1 to 3 are within .02 ARI of one another.
_PULLING: Final = 8  # Neighbours that pull a point
_SHORTEST: Final = 1e-3  # The minimum edge length: zero is no edge in scipy and infinite density in HDBSCAN
_BRIDGE: Final = 2.0  # The length of a bridge: the diameter of the unit sphere, longer than any other edge


def spread(units: NDArray[np.float32], neighbours: Neighbours, pull: NDArray[np.float32]) -> NDArray[np.float32]:
    """Pull every point towards its neighbours, in at most 32 columns; rows have length 1, or are all zeros."""
    points = unit_rows(_principal(units, _WIDE_DIMENSIONS))
    rows = neighbours.rows[:, : pull.shape[1]]
    for _ in range(_ROUNDS):
        moved = points.copy()
        for place in range(rows.shape[1]):
            moved += pull[:, place, None] * points[rows[:, place]]
        points = unit_rows(moved)
    return unit_rows(_principal(points, _NARROW_DIMENSIONS))


def pull_of(neighbours: Neighbours) -> NDArray[np.float32]:
    """Return the weights of each point's nearest neighbours, shape (n, at most 8); each row sums to 1.

    A weight is the squared cosine times the Jaccard index of the two neighbourhoods (Jarvis and Patrick, 1973).
    """
    rows = neighbours.rows[:, :_PULLING]
    pull = np.square(np.maximum(neighbours.similarities[:, :_PULLING], 0))
    around = np.column_stack([np.arange(len(rows)), rows])
    for place in range(rows.shape[1]):
        shared = (around[:, :, None] == around[rows[:, place]][:, None, :]).sum(axis=(1, 2))
        pull[:, place] *= shared / (2 * around.shape[1] - shared)
    pull /= np.maximum(pull.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return np.asarray(pull, dtype=np.float32)


def _principal(points: NDArray[np.float32], dimensions: int) -> NDArray[np.float32]:
    """Project onto the leading principal components, exactly: an approximate solver draws random numbers."""
    from sklearn.decomposition import PCA

    exact = PCA(min(dimensions, *points.shape), svd_solver="covariance_eigh")
    # Equal points have no variance, by which scikit-learn divides.
    with np.errstate(invalid="ignore"):
        return np.asarray(exact.fit_transform(points), dtype=np.float32)


def distance_graph(points: NDArray[np.float32], neighbours: Neighbours) -> csr_array:
    """Return the neighbour graph with the points' distances: symmetric, and connected by bridges."""
    from scipy.sparse import csr_array

    count, k = neighbours.rows.shape
    lengths = np.empty((count, k), dtype=np.float64)
    for place in range(k):
        lengths[:, place] = np.linalg.norm(points - points[neighbours.rows[:, place]], axis=1)
    graph = csr_array(
        (np.maximum(lengths, _SHORTEST).ravel(), neighbours.rows.ravel(), np.arange(0, count * k + 1, k)),
        shape=(count, count),
    )
    graph = graph.maximum(graph.T)
    return graph + _bridges(graph)


def _bridges(graph: csr_array) -> csr_array:
    """Return the edges that connect each smaller component to the largest, so that small ones drop out."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    component = connected_components(graph, directed=False)[1]
    _, first, sizes = np.unique(component, return_index=True, return_counts=True)
    hub, *others = first[np.lexsort((first, -sizes))]
    ends = (np.full(len(others), hub), np.asarray(others, dtype=np.int64))
    bridges = csr_array((np.full(len(others), _BRIDGE), ends), shape=graph.shape)
    return bridges + bridges.T


def dense_groups(graph: csr_array, min_cluster_size: int, min_samples: int) -> list[NDArray[np.int64]]:
    """Return the rows of each group that HDBSCAN finds by excess of mass, ascending; all other rows are noise.

    Args:
        graph: From `distance_graph`.
        min_cluster_size: The size of the smallest group, at least 2.
        min_samples: A core distance is to the `min_samples`-th nearest point, counting itself, as in the paper.
    """
    # The point itself is not stored in its row, so it is not counted there; every row has its `k` neighbours.
    others = max(1, min(min_samples - 1, int(np.diff(graph.indptr).min())))
    hdbscan = load_hdbscan()(min_cluster_size=min_cluster_size, min_samples=others, metric="precomputed")
    labels = hdbscan.fit(graph).labels_
    return [np.flatnonzero(labels == group) for group in range(int(labels.max()) + 1)]


def load_hdbscan() -> Callable[..., Any]:
    """Return the class of the package hdbscan; scikit-learn's, which finds the same groups, where hdbscan is missing.

    Importing either takes .1 s or more, so only the process that fits calls this.
    """
    try:
        import hdbscan
    except ImportError:
        import sklearn.cluster

        return partial(sklearn.cluster.HDBSCAN, copy=True)
    constructor: Callable[..., Any] = hdbscan.HDBSCAN
    return constructor
