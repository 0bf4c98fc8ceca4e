"""Anchors: the files of its project that an experience is about."""

from typing import NamedTuple


class Anchor(NamedTuple):
    """A file that an experience is about, as it was when that was resolved.

    In the journal it is an array, so that a hundred thousand of them are read in no time.
    """

    file: str  # its name in the project, with `/`
    blob: str = ""  # Git's id of its content, with line feeds as line ends
    # Digests of the lines that were edited or named, `limits.DIGEST` characters each, in a row.
    lines: str = ""
    is_read: bool = False  # whether it was read and neither edited nor named
