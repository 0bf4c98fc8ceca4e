"""Where Claude Code keeps what happened in a folder."""

import re
from pathlib import Path


def folder_name(directory: Path) -> str:
    """Return what Claude Code calls the folder of a project's transcripts."""
    return re.sub(r"[^A-Za-z0-9]", "-", str(directory))
