"""hdbscan's compiled tree functions, without the rest of hdbscan.

`import hdbscan` takes a second of processor time and 130 MB, nearly all of it for the scikit-learn, joblib and
scipy.stats of parts that are not used here. The compiled modules of its tree need numpy only, so they are loaded by
themselves: 2 ms. The version is pinned, because nobody promised that they stay as they are.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def label(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the single-linkage tree of a spanning tree.

    Args:
        edges: Shape (n - 1, 3): two points and their distance, shortest first.

    Returns:
        Shape (n - 1, 4): the two nodes joined, their distance, and the size of the union.
    """
    tree: NDArray[np.float64] = _compiled("_hdbscan_linkage").label(edges)
    return tree


def labels_of(
    tree: NDArray[np.float64], min_cluster_size: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Cut a single-linkage tree by excess of mass, as `HDBSCAN` does.

    Returns:
        The group of each point, -1 for noise, of shape (n,), and the persistence of each group.
    """
    compiled = _compiled("_hdbscan_tree")
    condensed = compiled.condense_tree(tree, min_cluster_size)
    labels, _, persistence = compiled.get_clusters(condensed, compiled.compute_stability(condensed), "eom")
    return labels, persistence


def _compiled(name: str) -> Any:  # noqa: ANN401 - hdbscan has no types
    """Return a module of the package without running the package's own `__init__`, unless that has run already."""
    full = f"hdbscan.{name}"
    if full in sys.modules:
        return sys.modules[full]
    spec = None if "hdbscan" in sys.modules else find_spec("hdbscan")
    if spec is None:
        return import_module(full)
    # An import asks for the parent first, also those that the compiled modules make. Whoever imports all of hdbscan
    # later gets it, with the same compiled modules.
    sys.modules["hdbscan"] = module_from_spec(spec)
    try:
        return import_module(full)
    finally:
        del sys.modules["hdbscan"]
