"""Which calls and texts are about the same as a refused call."""

from dataclasses import dataclass
from pathlib import PurePath
from typing import Final, NamedTuple

from learning_memory_server.index.ranking.terms import terms
from learning_memory_server.learning.failures.parse import head, looks, parse, subcommand
from learning_memory_server.model import limits
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.memory import Refusal

_RUNS: Final = frozenset({"run", "exec"})
"""Sub-commands that are followed by what they run."""


_WRITES: Final = ("Write", "MultiEdit", "NotebookEdit")
_SAME: Final = {"PowerShell": "Bash", **dict.fromkeys(_WRITES, "Edit"), "NotebookRead": "Read"}
"""Tools that do the same as another one."""


class _Step(NamedTuple):
    """A program with its sub-command, and the terms of its operands and options."""

    name: tuple[str, ...]
    rest: frozenset[str]
    only_looks: bool


@dataclass(frozen=True, slots=True)
class Kind:
    """The kind of a refused call.

    Args:
        tool: Its tool, but one for all that run commands, and one for all that write files.
        file: The file of a tool that runs no commands.
        steps: The programs of a command with their sub-commands: those whose operands the words name, if any.
        named: The terms of such operands and options. A call of this kind has one, if there are any.
    """

    tool: str
    file: str = ""
    steps: frozenset[tuple[str, ...]] = frozenset()
    named: frozenset[str] = frozenset()

    @classmethod
    def of(cls, refusal: Refusal) -> "Kind":
        """Return the kind of what was refused."""
        tool = _SAME.get(refusal.tool, refusal.tool)
        if tool != "Bash":
            return cls(tool, refusal.call)
        steps, said = _steps(refusal.call), frozenset(terms(refusal.words))
        does = [each for each in steps if not each.only_looks] or steps
        chosen = [each for each in steps if each.rest & said] or does
        rest = frozenset[str]().union(*(each.rest for each in chosen))
        named = said & rest
        if not named and any(len(each.name) == 1 and not said & set(terms(each.name[0])) for each in chosen):
            # A program alone, such as an interpreter, is no kind.
            named = rest
        # A path counts as a whole, not by its folders.
        parts = {part for whole in named for part in terms(whole) if part != whole}
        return cls(tool, "", frozenset(each.name for each in chosen), named - parts)

    def has(self, tool: str, call: str) -> bool:
        """Return whether a call is of this kind: a command, or a tool's file."""
        if _SAME.get(tool, tool) != self.tool:
            return False
        if self.tool != "Bash":
            return bool(call) and call == self.file
        found = {each.name: each.rest for each in _steps(call)}
        is_same = bool(self.steps) and self.steps <= found.keys()
        return is_same and (not self.named or any(found[name] & self.named for name in self.steps))

    def is_named_in(self, text: str) -> bool:
        """Return whether a prompt or a task names the file, or a program with its sub-command and an operand."""
        if self.file:
            return PurePath(self.file).name.casefold() in text.casefold()
        said = frozenset(terms(text))
        return any(
            said >= frozenset(terms(" ".join(name))) and (not self.named or bool(self.named & said))
            for name in self.steps
        )


def can_be_kept(words: str) -> bool:
    """Return whether words may be a preference: one short line, as it is seen, without an address."""
    return (
        0 < len(words) <= limits.REFUSAL_WORDS_MAX
        and words == one_line(words)
        and not any(mark in words.casefold() for mark in ("://", "www."))
    )


def _steps(command: str) -> list[_Step]:
    found = []
    for step in parse(command).steps:
        words = step.call
        if words and words[0] != "cd":
            length, name = head(words)
            named = subcommand(name, words[length:])
            named = named[: 2 if named[:1] and named[0] in _RUNS else 1]
            rest = " ".join(word for word in words[length:] if word not in named)
            found.append(_Step((name, *named), frozenset(terms(rest)), looks(step)))
    return found
