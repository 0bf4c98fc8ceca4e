"""What two shell commands have in common, and what was changed from one to the other.

Words are compared, not characters. `python3` counts as `python` when commands are said to be similar, and as another
word in what was changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from learning_memory_server.failures.risks import asks_for_rights, is_risky
from learning_memory_server.failures.shell import calls, program, steps, without_version

LEAST_SHARED: Final = 0.25
"""The least share of two commands' words that similar ones have in common."""

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
    found = steps(text)
    # Of programs that run one another, the last is what the step is about.
    named = [(program(ran[-1]), step) for step in found if (ran := list(calls(step)))]
    real = [(name, step) for name, step in named if name not in _SETTING] or named
    return Command(
        frozenset(word for step in found for word in step),
        frozenset(name for name, _ in real),
        bool(real) and all(name in _FINDERS or _QUESTIONS.intersection(step[1:]) for name, step in real),
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


def _without_versions(words: frozenset[str]) -> frozenset[str]:
    return frozenset(map(without_version, words))
