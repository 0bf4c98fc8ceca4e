"""Anchors: the files of its project that an experience is about."""

from __future__ import annotations

from dataclasses import dataclass

from learning_memory_server.model.stored import Stored


@dataclass(frozen=True, slots=True)
class Anchor(Stored):
    """A file that an experience is about, as it was when that was resolved."""

    file: str  # its name in the project, with `/`
    blob: str = ""  # Git's id of its content, with line feeds as line ends
    # Digests of the lines that were edited or named, `limits.DIGEST` characters each, in a row.
    lines: str = ""
    is_read: bool = False  # whether it was read and neither edited nor named
