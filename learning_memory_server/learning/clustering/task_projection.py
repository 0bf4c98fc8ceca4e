"""What a surprise or a root cause says apart from its task.

These texts name the task, too, and a vector says the topic first: clusters of root causes were clusters of tasks. The
task's directions are removed: the vector of the strategy axis, which has the goal, and what the whole story says apart
from the text itself. A root cause counts together with its surprise: both texts name the mistake, while the hypothesis
is in one of them and the outcome in the other. All of these vectors are in the index already.

On 300 entries with known causes and 205 tasks, adjusted mutual information of the clusters with the cause (explicit
causes only) and with the task (`benchmarks/causes.py`), of all entries, and the mean of 40 draws of 240 of them:

    root causes as they are              .08 (.17)  .36     .08 (.16)  .31
    without the task                     .34 (.49)  .10     .22 (.37)  .06
    without the task, with the surprise  .31 (.50)  .03     .24 (.40)  .06
    surprises as they are                .11 (.21)  .35     .11 (.23)  .27
    without the task                     .31 (.48)  .02     .22 (.39)  .05

The explicit figure of a draw deviates by .09, so only means are comparable. The surprise adds .06, .03 and .04 to it in
draws of 200, 240 and 270, and from -.02 to .02 in draws of 60 to 180. A vector of the category and the description
alone would give .27 (.41) and .06, but would have to be stored as well, because searches need the whole text.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from learning_memory_server.learning.clustering.neighbours import unit_rows

_LEAST_LEFT: Final = 0.1
"""The least length that is left of a vector. Below, the text says nothing but its task, and stays as it is."""


def without_task(
    vectors: NDArray[np.float32],
    strategy: NDArray[np.float32],
    story: NDArray[np.float32],
    surprises: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """Return the part of each vector that is orthogonal to its task, scaled to length 1.

    Args:
        vectors: Shape (n, d): the texts.
        strategy: Shape (n, d): the same entries on the strategy axis.
        story: Shape (n, d): the same entries on the full axis.
        surprises: Shape (n, d): for root causes, the same entries on the surprise axis; zeros where there is none.
    """
    units, first = unit_rows(vectors), unit_rows(strategy)
    if surprises is not None:
        units = unit_rows(units + unit_rows(surprises))
    second = _without(unit_rows(story), units)
    # Rounding would be scaled up where nothing is left.
    second = np.where(np.linalg.norm(second, axis=1, keepdims=True) > _LEAST_LEFT, second, 0)
    second = unit_rows(_without(unit_rows(second), first))
    left = _without(_without(units, first), second)
    return unit_rows(np.where(np.linalg.norm(left, axis=1, keepdims=True) > _LEAST_LEFT, left, units))


def _without(rows: NDArray[np.float32], directions: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows less their projections on directions of length 1, or 0."""
    return np.asarray(rows - np.vecdot(rows, directions)[:, None] * directions)
