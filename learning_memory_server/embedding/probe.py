"""A check that a model made a collection's vectors: it must still embed a sentence as when the collection was created.

An identity says what a model claims to be. The probe shows what it does: the same weights may give other vectors in
another version of the server that runs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

PROBE: Final = (
    "The nightly import failed: after the 3rd retry, pool.close() was never called. 接続が閉じられない é"
)
"""Words, digits, code, and what tokenizers treat specially. Changing it rebuilds every index."""

_AGREEMENT: Final = 0.999
"""A cosine that the same model exceeds on any runtime and processor, and that no other model reaches."""


def agrees(kept: Sequence[float] | ArrayLike, probe: ArrayLike) -> bool:
    """Return whether two vectors of the probe come from the same model: have the same direction, up to rounding.

    `kept` may be anything that was read; only a vector of the same length can agree.
    """
    import numpy as np  # noqa: PLC0415 - deferred: slow import

    try:
        left, right = (np.asarray(vector, dtype=np.float64) for vector in (kept, probe))
    except (TypeError, ValueError):
        return False
    if left.ndim != 1 or left.shape != right.shape:
        return False
    lengths = float(np.linalg.norm(left) * np.linalg.norm(right))
    # NaN compares as false, so it does not agree.
    return lengths > 0 and bool(left @ right / lengths > _AGREEMENT)
