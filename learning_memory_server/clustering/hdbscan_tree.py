"""hdbscan's compiled tree functions, loaded without the rest of hdbscan.

`import hdbscan` takes a second of CPU time and 130 MB, nearly all for scikit-learn, joblib and scipy.stats. Its
compiled tree modules need only numpy and load in 2 ms. They are private, so the version is pinned.
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
        edges: Shape (n - 1, 3): two points and their distance, shortest edge first.

    Returns:
        Shape (n - 1, 4): the two nodes joined, their distance, and the size of the union.
    """
    tree: NDArray[np.float64] = _compiled("_hdbscan_linkage").label(edges)
    return tree


def labels_of(
    tree: NDArray[np.float64], min_cluster_size: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return each point's group by excess of mass (-1 for noise), shape (n,), and each group's persistence."""
    compiled = _compiled("_hdbscan_tree")
    condensed = compiled.condense_tree(tree, min_cluster_size)
    labels, _, persistence = compiled.get_clusters(condensed, compiled.compute_stability(condensed), "eom")
    return labels, persistence


def _compiled(name: str) -> Any:  # noqa: ANN401 - hdbscan has no types
    """Return a module of hdbscan without running `hdbscan/__init__.py`, unless that has already run."""
    full = f"hdbscan.{name}"
    if full in sys.modules:
        return sys.modules[full]
    spec = None if "hdbscan" in sys.modules else find_spec("hdbscan")
    if spec is None:
        return import_module(full)
    # Every import, including those in the compiled modules, looks up the parent first. A later `import hdbscan` gets
    # the real package, with the same compiled modules.
    sys.modules["hdbscan"] = module_from_spec(spec)
    try:
        return import_module(full)
    finally:
        del sys.modules["hdbscan"]
