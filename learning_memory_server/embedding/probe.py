"""Whether a model is the one that made a collection's vectors, told by a sentence's vector that is kept with them.

An identity says what a model claims to be. The probe says what it does: another version of the server that runs it may
make other vectors from the same weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

PROBE: Final = (
    "The nightly import failed: after the 3rd retry, pool.close() was never called. 接続が閉じられない é"
)
"""Words, digits, code, and what a tokenizer treats in its own way. A change makes every kept vector useless."""

_AGREEMENT: Final = 0.999
"""A cosine that other runtimes and processors stay above with the same model, and no other model reaches."""


def agrees(kept: Sequence[float] | ArrayLike, probe: ArrayLike) -> bool:
    """Tell whether two vectors of the probe are the same model's.

    Args:
        kept: The vector that was kept with a collection; whatever was read, of any length.
        probe: The model's vector of now, of shape (dimension,).

    Returns:
        Whether they point the same way, up to rounding. What is no vector, or has another length, agrees with nothing.
    """
    import numpy as np  # noqa: PLC0415 - not before there are vectors

    try:
        left, right = (np.asarray(vector, dtype=np.float64) for vector in (kept, probe))
    except (TypeError, ValueError):
        return False
    if left.ndim != 1 or left.shape != right.shape:
        return False
    lengths = float(np.linalg.norm(left) * np.linalg.norm(right))
    # Not a number compares as false, and so disagrees.
    return lengths > 0 and bool(left @ right / lengths > _AGREEMENT)
