"""A shell command as the programs that it runs, each with its words.

What only shapes or hides the output is left out: redirections, filters behind a pipe, and what is run if something
fails. So are texts with spaces in quotes, such as scripts and messages, and here-documents: they differ each time.
"""

from __future__ import annotations

import re
from itertools import dropwhile, takewhile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_RUNNERS: Final = frozenset(
    {"python", "uv", "poetry", "pipenv", "npx", "bunx", "pnpm", "yarn", "bundle", "hatch", "pdm", "rye"}
)
"""Programs that run another one, which is named behind one of `_RUN`."""
_RUN: Final = frozenset({"-m", "run", "exec"})
_WRAPPERS: Final = frozenset(
    {"sudo", "env", "time", "nice", "nohup", "exec", "command", "timeout", "xvfb-run", "stdbuf"}
)
"""Programs whose argument is the program that matters."""

_LONGEST: Final = 2000
"""Characters of a command that are examined. The rest of a longer one is a script."""
_REDACTED: Final = re.compile(r"\[redacted: [^\]]*\]")
_HERE_DOCUMENT: Final = re.compile(r"<<-?\s*(['\"]?)(\w+)\1.*?(?:^\s*\2\s*$|\Z)", re.DOTALL | re.MULTILINE)
_TOKEN: Final = re.compile(
    r"(?P<redirection>(?:\d|&)?>{1,2}(?:&\d|&-|\s*(?:\"[^\"]*\"|'[^']*'|[^\s;&|]+))|<(?!<)\s*[^\s;&|]+)"
    r"|(?P<operator>\|\||&&|\||;|&|\n|\(|\))"
    r"|(?P<word>(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s;&|()<>'\"\\]|['\"])+)",
    re.DOTALL,
)
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_DURATION: Final = re.compile(r"[\d.]+[smhd]?")
_VERSION: Final = re.compile(r"(?<=[A-Za-z])[\d.]+$")


def steps(command: str) -> list[list[str]]:
    """Return the words of each step: without quotes, a leading `./` and a trailing slash."""
    text = _HERE_DOCUMENT.sub(" ", _REDACTED.sub("redacted", command[:_LONGEST])).replace("\\\n", " ")
    found: list[list[str]] = [[]]
    depth, skipped_at = 0, None
    for token in _TOKEN.finditer(text):
        if operator := token["operator"]:
            depth += (operator == "(") - (operator == ")")
            # A filter or an alternative lasts until the next step that is run in any case.
            if operator in {"|", "||"}:
                skipped_at = depth if skipped_at is None else min(depth, skipped_at)
            elif skipped_at is not None and (
                depth < skipped_at or (depth == skipped_at and operator not in "()")
            ):
                skipped_at = None
            found.append([])
        elif (word := token["word"]) and skipped_at is None and (plain := _plain(word)):
            found[-1].append(plain)
    return [step for step in found if step]


def calls(step: list[str]) -> Iterator[list[str]]:
    """Yield the words of a step from each of its programs on: `uv run make` runs `uv`, and `make`."""
    words = _unwrapped(word for word in step if not _ASSIGNMENT.match(word))
    while words:
        yield words
        words = _unwrapped(_called_by(words)) if program(words) in _RUNNERS else []


def program(call: list[str]) -> str:
    """Return the name of the program that a call runs, without its folder and version."""
    return without_version(call[0].replace("\\", "/").rsplit("/", 1)[-1])


def without_version(word: str) -> str:
    """Return a word without a number at its end: `python3.11` is `python`."""
    return _VERSION.sub("", word)


def _unwrapped(words: Iterable[str]) -> list[str]:
    """Return the words from the program that matters on."""
    return list(
        dropwhile(
            lambda word: word in _WRAPPERS or word.startswith("-") or _DURATION.fullmatch(word) is not None,
            words,
        )
    )


def _called_by(runner: list[str]) -> list[str]:
    """Return the words from the program on that a runner calls, if one of its first words says so."""
    options = list(takewhile(lambda word: word.startswith("-") and word != "-m", runner[1:]))
    rest = runner[1 + len(options) :]
    return rest[1:] if rest and rest[0] in _RUN else []


def _plain(word: str) -> str:
    """Return a word without quotes, nothing for a text with spaces."""
    if re.search(r"\s", word):
        return ""
    word = re.sub(r"['\"]|\\(?=.)", "", word)
    return word.removeprefix("./").rstrip("/") or word
