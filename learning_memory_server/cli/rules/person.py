"""Commands for a person only: the check, a sentence for agents to pass on, and a question with the default yes."""

import shlex
import textwrap
from typing import Final

import typer

from learning_memory_server.cli import out
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model.lines import one_line
from learning_memory_server.system.paths import APPLICATION

_PLAIN_IN_QUOTES: Final = frozenset('"$`\\!')  # Characters that a shell interprets within double quotes


def only_you(*words: str) -> None:
    """Raise `InvalidInputError` unless a person runs the command. The message contains the command for the person."""
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
    # Double quotes are easier to read, and apostrophes are common in sentences.
    return shlex.quote(word) if word == shlex.quote(word) or _PLAIN_IN_QUOTES.intersection(word) else f'"{word}"'
