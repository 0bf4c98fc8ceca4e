"""Draws the plugin's icon: a loop around what was learned. `python -m scripts.icon` writes it."""

from __future__ import annotations

import math
import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

TARGET: Final = Path(__file__).resolve().parent.parent / "plugins" / "claude-code" / "icon.png"
_SIZE: Final = 512
_NIGHT: Final = (24, 42, 68)
_PAPER: Final = (240, 244, 248)
_EMBER: Final = (244, 150, 60)
_RADIUS: Final = 0.56
"""Of the loop, where the icon reaches from -1 to 1."""
_WIDTH: Final = 0.17
_GAP: Final = (math.radians(-20), math.radians(40))
"""Where the loop is open, anticlockwise from the right."""


def drawn() -> bytes:
    """Return the icon as a PNG."""
    step = (np.arange(_SIZE) + 0.5) / _SIZE * 2 - 1
    x, y = np.meshgrid(step, -step)
    angle = np.arctan2(y, x)
    corner = np.hypot(np.maximum(abs(x) - 0.62, 0), np.maximum(abs(y) - 0.62, 0)) - 0.36
    ring = np.abs(np.hypot(x, y) - _RADIUS) - _WIDTH / 2
    is_open = (angle > _GAP[0]) & (angle < _GAP[1])
    ring = np.where(is_open, 1.0, ring)
    # The head of the arrow, along the loop's tangent where it ends.
    tip = _GAP[1]
    along = -(x * -math.sin(tip) + y * math.cos(tip))
    across = x * math.cos(tip) + y * math.sin(tip) - _RADIUS
    head = np.maximum(np.abs(across) - (0.27 - along * 0.72), -along - 0.02) * 0.8
    image = np.zeros((_SIZE, _SIZE, 4))
    for distance, colour in (
        (corner, _NIGHT),
        (np.minimum(ring, head), _PAPER),
        (np.hypot(x, y) - 0.17, _EMBER),
    ):
        _paint(image, distance, colour)
    return _png(np.round(image).astype(np.uint8))


def _paint(image: NDArray[np.float64], distance: NDArray[np.float64], colour: tuple[int, int, int]) -> None:
    """Paint where the distance is negative; its edge is one pixel wide."""
    cover = np.clip(0.5 - distance * _SIZE / 2, 0, 1)[..., None]
    image[..., :3] = image[..., :3] * (1 - cover) + np.array(colour) * cover
    image[..., 3:] = np.maximum(image[..., 3:], cover * 255)


def _png(pixels: NDArray[np.uint8]) -> bytes:
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", _SIZE, _SIZE, 8, 6, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )


if __name__ == "__main__":
    TARGET.write_bytes(drawn())
