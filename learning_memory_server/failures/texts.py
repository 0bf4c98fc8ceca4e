"""Commands and outputs as they are kept: without folders of this machine, and not too long."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_HERE: Final = "\0"
"""Stands for the project's folder while a text is changed; no command contains it."""
_START: Final = r"(?<![\w.~-])"
_END: Final = r"(?=[\\/\s'\":;&|)]|$)"
_HOMES: Final = re.compile(
    _START + r"(?:/(?:home|Users)/[^/\s'\":;&|]+|/root|[A-Za-z]:[\\/]Users[\\/][^\\/\s'\":;&|]+)" + _END
)


def tidied(text: str, project: str, folder: str | None = None) -> str:
    """Return a text with paths relative to the project, and `~` in place of home folders.

    Args:
        text: The text.
        project: The project's name.
        folder: The project's folder. If it is not known, any that has the last part of the project's name is taken for
            it.
    """
    text = text.replace(_HERE, "")
    home = _home().rstrip("/\\")
    root = (folder or "").rstrip("/\\")
    if root:
        text = _replaced(text, re.escape(root), _HERE)
    if home:
        text = _replaced(text, re.escape(home), "~")
    text = _HOMES.sub("~", text)
    if root and root.startswith(f"{home}/"):
        text = _replaced(text, re.escape(f"~{root.removeprefix(home)}"), _HERE)
    name = re.split(r"[\\/]", project)[-1]
    if name and not root:
        # At most thirty folders, so that a hostile text does not take the time of the square of its length.
        above = r"(?:~|[A-Za-z]:)?(?:[\\/][\w.@+-]+){0,30}?[\\/]"
        text = _replaced(text, above + re.escape(name), _HERE, re.IGNORECASE)
    # The folder itself is `.`, and what is in it needs no name before it.
    return re.sub(_HERE + r"[\\/]+(?=[^\\/\s'\":;&|)])", "", text).replace(_HERE, ".")


def _home() -> str:
    try:
        return str(Path.home())
    except RuntimeError:
        # A user without an entry in the system's list, as in some containers.
        return ""


def _replaced(text: str, place: str, mark: str, flags: int = 0) -> str:
    return re.sub(_START + place + _END, mark, text, flags=flags)


def whole_words(text: str, most: int) -> str:
    """Return a text, or as many of its characters without a last word that is cut: half a secret is not recognized."""
    return text if len(text) <= most else re.sub(r"\S+\Z", "", text[:most])
