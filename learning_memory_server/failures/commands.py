"""What two shell commands have in common, and what was changed from one to the other.

Words are compared, not characters: programs without their version (`python3` counts as `python` when commands are said
to be similar, and as another word in what was changed), paths without a leading `./` or a trailing slash. What only
shapes or hides the output is not part of a command: redirections, filters behind a pipe, and `|| true`. Quoted texts with
spaces, such as scripts and messages, and here-documents are not words either: they differ each time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from learning_memory_server.failures.risks import asks_for_rights, is_risky

LEAST_SHARED: Final = 0.25
"""The least share of two commands' words that similar ones have in common."""

_LONGEST: Final = 2000
"""Characters of a command that are examined. The rest of a longer one is a script."""
_HERE_DOCUMENT: Final = re.compile(r"<<-?\s*(['\"]?)(\w+)\1.*?(?:^\s*\2\s*$|\Z)", re.DOTALL | re.MULTILINE)
_TOKEN: Final = re.compile(
    r"(?P<redirection>(?:\d|&)?>{1,2}(?:&\d|&-|\s*(?:\"[^\"]*\"|'[^']*'|[^\s;&|]+))|<(?!<)\s*[^\s;&|]+)"
    r"|(?P<operator>\|\||&&|\||;|&|\n|\(|\))"
    r"|(?P<word>(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s;&|()<>'\"\\]|['\"])+)",
    re.DOTALL,
)
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_VERSION: Final = re.compile(r"(?<=[A-Za-z])[\d.]+$")
_WRAPPERS: Final = frozenset(
    {"sudo", "env", "time", "nice", "nohup", "exec", "command", "timeout", "xvfb-run", "stdbuf"}
)
"""Programs whose argument is the program that matters."""
_RUNNERS: Final = frozenset(
    {"python", "uv", "poetry", "pipenv", "npx", "pnpm", "yarn", "bundle", "hatch", "pdm", "rye"}
)
"""Programs that run another by its name, behind one of `_RUN`."""
_RUN: Final = frozenset({"-m", "run", "exec"})
_SETTING: Final = frozenset({"cd", "pushd", "popd", "export", "source", ".", "set", "pwd", "echo", "true"})
"""What only prepares another program, or says something; the program itself only if there is no other."""


_QUESTIONS: Final = frozenset({"--version", "-V", "-version", "version", "--help", "-h", "help"})
_FINDERS: Final = frozenset({"which", "type", "whereis", "where", "man"})


@dataclass(frozen=True, slots=True)
class Command:
    """A command as it is compared.

    Args:
        words: Its words.
        programs: The names of the programs that it runs, without version.
        is_question: Whether it only asks what a program is, as `--version` and `which` do.
        is_privileged: Whether it asks for more rights.
        is_risky: Whether it is not to be repeated unasked for another reason; see `risks`.
    """

    words: frozenset[str]
    programs: frozenset[str]
    is_question: bool = False
    is_privileged: bool = False
    is_risky: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """What was changed from a command that failed to one that succeeded."""

    added: frozenset[str]
    removed: frozenset[str]

    def __bool__(self) -> bool:
        """Return whether anything was changed. If not, something else than the command was mended."""
        return bool(self.added or self.removed)

    def agrees_with(self, other: Change) -> bool:
        """Return whether both added, or both removed, one of the same words."""
        return bool(self.added & other.added or self.removed & other.removed)


@lru_cache(1024)
def parse(text: str) -> Command:
    """Return a command's words and programs."""
    steps = _steps(_HERE_DOCUMENT.sub(" ", text[:_LONGEST]))
    named = [(program, step) for step in steps if (program := _program(step))]
    real = [(program, step) for program, step in named if program not in _SETTING] or named
    return Command(
        frozenset(word for step in steps for word in step),
        frozenset(program for program, _ in real),
        bool(real)
        and all(program in _FINDERS or _QUESTIONS.intersection(step[1:]) for program, step in real),
        asks_for_rights(text),
        is_risky(text),
    )


def are_similar(one: Command, other: Command) -> bool:
    """Return whether two commands try the same: a program in common, and enough words, one of them besides it."""
    if one.is_question != other.is_question or not one.programs & other.programs:
        return False
    mine, others = _without_versions(one.words), _without_versions(other.words)
    if len(mine & others) < LEAST_SHARED * len(mine | others):
        return False
    named = one.programs | other.programs
    return bool((mine & others) - named) or mine <= named or others <= named


def change(failed: Command, succeeded: Command) -> Change:
    """Return what was changed between two commands."""
    return Change(succeeded.words - failed.words, failed.words - succeeded.words)


def likeness(one: Command, other: Command) -> float:
    """Return the share of their words that two commands have in common, from 0 to 1."""
    together = one.words | other.words
    return len(one.words & other.words) / len(together) if together else 1.0


def _steps(text: str) -> list[list[str]]:
    """Return the words of each program call, without those that only take another's output or the place of it."""
    steps: list[list[str]] = [[]]
    depth, skipped_at = 0, None
    for token in _TOKEN.finditer(text.replace("\\\n", " ")):
        if operator := token["operator"]:
            depth += (operator == "(") - (operator == ")")
            # A filter or an alternative lasts until the next step that is run in any case.
            if operator in {"|", "||"}:
                skipped_at = depth if skipped_at is None else min(depth, skipped_at)
            elif skipped_at is not None and (
                depth < skipped_at or (depth == skipped_at and operator not in "()")
            ):
                skipped_at = None
            steps.append([])
        elif (word := token["word"]) and skipped_at is None and (plain := _plain(word)):
            steps[-1].append(plain)
    return [step for step in steps if step]


def _plain(word: str) -> str:
    """Return a word without quotes, nothing for a text with spaces."""
    if re.search(r"\s", word):
        return ""
    word = re.sub(r"['\"]|\\(?=.)", "", word)
    return word.removeprefix("./").rstrip("/") or word


def _program(words: list[str]) -> str | None:
    rest = [word for word in words if not _ASSIGNMENT.match(word)]
    while rest and (rest[0] in _WRAPPERS or rest[0].startswith("-") or rest[0][0].isdigit()):
        rest = rest[1:]
    if not rest:
        return None
    name = _named(rest[0])
    if name in _RUNNERS:
        for place, word in enumerate(rest[1:-1], start=1):
            if word in _RUN and (of := _named(rest[place + 1])):
                return of
            if not word.startswith("-"):
                break
    return name


def _named(word: str) -> str:
    name = word.rsplit("/", 1)[-1].rsplit("\\", 1)[-1]
    return _VERSION.sub("", name)


def _without_versions(words: frozenset[str]) -> frozenset[str]:
    return frozenset(_VERSION.sub("", word) for word in words)
