"""Anchors: the files of its project that an experience is about."""

from __future__ import annotations

from dataclasses import dataclass

from learning_memory_server.model.stored import Stored


@dataclass(frozen=True, slots=True)
class Anchor(Stored):
    """A file that an experience is about, as it was when that was resolved.

    Args:
        file: Its name in the project, with `/`.
        blob: Git's id of its content, with line feeds as line ends.
        lines: Digests of the lines that were edited or named, `limits.DIGEST` characters each, in a row.
        is_read: Whether it was read and neither edited nor named.
    """

    file: str
    blob: str = ""
    lines: str = ""
    is_read: bool = False
