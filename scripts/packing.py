"""How the matrices of the default model are packed; `embedding/onnx_runtime.py` unpacks them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from learning_memory_server.embedding.onnx_runtime import BLOCK, PER_BYTE

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST: Final = 511


def pack(matrix: NDArray[np.float32]) -> bytes:
    """Return a matrix of shape (rows, columns) in ten bits a number: upper bits, lower bits and scales, each by rows.

    Each column is divided into blocks of `BLOCK` numbers with one scale. A number is a whole multiple of its scale,
    from -511 to 511; its upper eight bits are stored apart from its lower two, of which four share a byte.

    With eight bits, the cosine of a text's vector to the original's falls to 0.9996, and a few results of a search
    change places. With ten, it stays above 0.99997.
    """
    rows, columns = matrix.shape
    blocks = matrix.reshape(rows // BLOCK, BLOCK, columns)
    scales = (np.abs(blocks).max(axis=1, keepdims=True) / np.float32(LARGEST)).astype(np.float16)
    # The scale as it is stored, rounded.
    multiples = np.rint(blocks / scales.astype(np.float32)).clip(-LARGEST, LARGEST).astype(np.int16)
    upper = (multiples >> 2).astype(np.int8)
    lower = (multiples & 3).astype(np.uint8).reshape(PER_BYTE, rows // PER_BYTE, columns)
    joined = lower[0] | lower[1] << 2 | lower[2] << 4 | lower[3] << 6
    return b"".join(part.tobytes() for part in (upper, joined, scales.astype("<f2")))
