"""The compiled parts of hdbscan work the same outside the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hdbscan._hdbscan_linkage import label as their_label
from hdbscan.hdbscan_ import _tree_to_labels

from learning_memory_server.clustering.hdbscan_tree import label, labels_of

ALONE = """
import sys
import numpy as np
from learning_memory_server.clustering.hdbscan_tree import label, labels_of
tree = label(np.array([(0, 1, 0.1), (1, 2, 0.1), (3, 4, 0.1), (4, 5, 0.1), (2, 3, 0.9)]))
print(labels_of(tree, 3)[0].tolist())
print(sorted({"hdbscan", "sklearn", "scipy", "joblib"} & set(sys.modules)))
import hdbscan
print(hdbscan.HDBSCAN(min_cluster_size=3).fit(np.repeat([[0.0], [9.0]], 5, axis=0)).labels_.tolist())
print(hdbscan.hdbscan_.label is sys.modules["hdbscan._hdbscan_linkage"].label)
"""


@pytest.mark.parametrize("seed", range(5))
def test_a_tree_and_its_groups_are_the_same_as_the_packages(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = 200
    # Each point is attached to an earlier one: a spanning tree.
    edges = np.column_stack(
        [np.arange(1, count), [random.integers(point) for point in range(1, count)], random.random(count - 1)]
    )
    edges = edges[edges[:, 2].argsort()]

    tree = label(edges)
    labels, persistence = labels_of(tree, 4)

    np.testing.assert_array_equal(tree, their_label(edges))
    theirs, _, their_persistence, *_ = _tree_to_labels(None, tree, 4, cluster_selection_method="eom")
    np.testing.assert_array_equal(labels, theirs)
    np.testing.assert_array_equal(persistence, their_persistence)
    assert labels.max() > 0


@pytest.mark.slow
def test_the_rest_of_the_package_is_not_imported_but_can_be_later() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALONE],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "[0, 0, 0, 1, 1, 1]",
        "[]",
        "[0, 0, 0, 0, 0, 1, 1, 1, 1, 1]",
        "True",
    ]
