"""Commands for a person alone: the check, the sentence that an agent hands on, and a question that Enter accepts."""

import shlex
import textwrap
from typing import Final

import typer

from learning_memory_server.cli import out
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model.lines import one_line
from learning_memory_server.system.paths import APPLICATION

_PLAIN_IN_QUOTES: Final = frozenset('"$`\\!')  # What a shell reads between double quotes


def only_you(*words: str) -> None:
    """Refuse a command whose answer a person has to give, with the command for that person: `InvalidInputError`."""
    if out.is_a_person():
        return
    command = " ".join([APPLICATION, *map(_quoted, filter(None, words))])
    raise InvalidInputError(
        f"Only you can do this: run `{command}` in a terminal.",
        hint="An agent cannot: it can hand this sentence on to its user.",
    )


def accepts(question: str, *, enter: bool = True) -> bool:
    """Ask a person, for whom Enter is a yes: the command was typed for this; `enter` says if it is a no."""
    asked = textwrap.fill(out.text_lines(question), out.stderr().width - len(" [Y/n]: n"))
    return typer.confirm(asked, default=enter, err=True)


def _quoted(word: str) -> str:
    word = one_line(word)
    # Double quotes read best, and an apostrophe is common in a sentence.
    return shlex.quote(word) if word == shlex.quote(word) or _PLAIN_IN_QUOTES.intersection(word) else f'"{word}"'
