"""Commands and outputs as they are kept: without folders of this machine, and not too long."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from learning_memory_server.domain.limits import COMMAND_MAX

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
        project: The project's name. A folder that has its last part as a name is taken for the project's.
        folder: The project's folder, if it is known.
    """
    text = text.replace(_HERE, "")
    for place, mark in ((folder, _HERE), (str(Path.home()), "~")):
        if place and (root := place.rstrip("/\\")):
            text = re.sub(_START + re.escape(root) + _END, mark, text)
    text = _HOMES.sub("~", text)
    if name := re.split(r"[\\/]", project)[-1]:
        above = r"(?:~|[A-Za-z]:)?(?:[\\/][\w.@+-]+)*?[\\/]"
        text = re.sub(_START + above + re.escape(name) + _END, _HERE, text, flags=re.IGNORECASE)
    # The folder itself is `.`, and what is in it needs no name before it.
    return re.sub(_HERE + r"[\\/]+(?=[^\\/\s'\":;&|)])", "", text).replace(_HERE, ".")


def shortened(command: str) -> str:
    """Return a command, or its beginning with a mark that there was more."""
    command = command.strip()
    return (
        command
        if len(command) <= COMMAND_MAX
        else f"{command[: COMMAND_MAX - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"
    )
