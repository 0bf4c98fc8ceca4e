"""Commands as a person reads them, in few characters."""

import re
from typing import Final

from learning_memory_server.lessons.errors.jobs import call_name, without_message
from learning_memory_server.model.lines import one_line, shortened
from learning_memory_server.shell.steps import read_steps

_COMMAND: Final = 70  # Characters of a command that are shown
_OPERAND: Final = 60  # of an operand in it
_LITTLE: Final = 3  # Words: a program and an ellipsis
_OUTPUT: Final = re.compile(r"(?:\s{1,3}2>&1)?(?:\s{0,3}\|\s{0,3}(?:head|tail)\b[^|;&]{0,20})?$")
"""The end of a command that only shortens what it shows."""


def shown_command(text: str) -> str:
    """Return a command as a person reads it: in one line, without a message and without what shortens its output."""
    return shortened(_OUTPUT.sub("", one_line(without_message(text)).removeprefix("cd . && ")), _COMMAND)


def brief(text: str, line: str) -> str:
    """Return a command in few characters: of a long one its calls, or the one that the line of its error names."""
    shown = shown_command(text)
    if not shown.endswith("\N{HORIZONTAL ELLIPSIS}"):
        return shown
    parts, telling = list[str](), ""
    for step in read_steps(without_message(text)).steps:
        if step.joined == "||" or not step.call:
            continue
        name = {step.call[0], *call_name(step).split()}
        rest = [word for word in step.call if word not in name]
        named = [word for word in rest if bare(word) and bare(word) in line]
        chosen = named[:1] or [word for word in rest[:1] if not word.startswith("-") and len(word) <= _OPERAND]
        if chosen and chosen[0].startswith("-"):
            chosen = rest[rest.index(chosen[0]) :][:2]  # with what may be its value
        words = [word for word in step.call if word in name or word in chosen]
        more = ["\N{HORIZONTAL ELLIPSIS}"] if len(rest) > len(chosen) else []
        part = " ".join([*words, *more])
        telling = telling or (part if named else "")
        parts.append(f"{step.joined.strip() or ';'} {part}" if parts else part)
    found = one_line(telling or " ".join(parts))
    says_little = not telling and len(found.split()) < _LITTLE  # What a filter was given may be more
    return shown if says_little else shortened(found, _COMMAND)


def bare(word: str) -> str:
    """Return a word without quotes, and without what makes another spelling of the same path."""
    return word.strip("'\"").removeprefix("./").rstrip("./")
