"""What every engine is spared: vectors of the wrong length, and numbers that are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from learning_memory_server.errors import StorageUnavailableError, WrongDimensionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from learning_memory_server.storage.base import Vector


def wrong_dimension(collection: str, expected: int, given: int) -> WrongDimensionError:
    """Return the error for vectors of `given` numbers in a collection of `expected`."""
    return WrongDimensionError(
        f"Collection `{collection}` holds vectors of {expected} numbers, not {given}.",
        hint="Remove the index: at the next start it is rebuilt from the journal.",
    )


def checked_matrix(collection: str, vectors: Sequence[Vector], dimension: int) -> NDArray[np.float32]:
    """Return the vectors as one array of shape (len(vectors), dimension).

    All are checked before the first is written, so that a bad one leaves a collection as it was. The
    embedded engine would store NaN without a word and answer a query that holds one with nothing.

    Raises:
        WrongDimensionError: If a vector has another length.
        StorageUnavailableError: If a vector holds NaN or infinity.
    """
    for vector in vectors:
        if len(vector) != dimension:
            raise wrong_dimension(collection, dimension, len(vector))
    matrix = np.asarray(vectors, dtype=np.float32).reshape(len(vectors), dimension)
    if not np.isfinite(matrix).all():
        raise StorageUnavailableError(
            f"A vector for collection `{collection}` holds NaN or infinity and was not used."
        )
    return matrix


def read_vector(vectors: object, name: str) -> NDArray[np.float32] | None:
    """Return the named vector of an engine's answer as an array, or None if the answer holds none.

    Ten thousand vectors of 384 Python floats take 150 MB, as arrays 15.
    """
    return np.array(cast("dict[str, list[float]]", vectors)[name], dtype=np.float32) if vectors else None
