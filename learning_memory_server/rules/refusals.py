"""Calls that the user refused: which words can be kept, and which calls and texts are about the same."""

import re
from pathlib import PurePath
from typing import Final, NamedTuple

from learning_memory_server.index.ranking.terms import terms
from learning_memory_server.lessons.errors.parse import head, looks, parse, subcommand
from learning_memory_server.lessons.errors.sanitize import tidied
from learning_memory_server.lessons.errors.transcripts import Refused
from learning_memory_server.model import limits
from learning_memory_server.model.lines import one_line, shortened
from learning_memory_server.model.memory import Refusal
from learning_memory_server.redaction.gate import RedactionGate

_RUNS: Final = frozenset({"run", "exec"})  # Sub-commands that are followed by the name of a script or program
_WRITES: Final = ("Write", "MultiEdit", "NotebookEdit")
_SAME: Final = {"PowerShell": "Bash", **dict.fromkeys(_WRITES, "Edit"), "NotebookRead": "Read"}
"""Tools that do the same as another tool."""


class CallKind(NamedTuple):
    """The kind of a refused call: a tool with its file, or programs with their sub-commands and named operands.

    `named` has the terms of operands and options that the user's words name. A like call has one of them.
    """

    tool: str
    file: str = ""
    steps: frozenset[tuple[str, ...]] = frozenset()
    named: frozenset[str] = frozenset()

    def has(self, tool: str, call: str) -> bool:
        """Return whether a call, a command or a file, is of this kind."""
        if _SAME.get(tool, tool) != self.tool or self.tool != "Bash":
            return bool(call) and (_SAME.get(tool, tool), call) == (self.tool, self.file)
        found = {name: rest for name, rest, _ in _steps(call)}
        is_same = bool(self.steps) and self.steps <= found.keys()
        return is_same and (not self.named or any(found[name] & self.named for name in self.steps))

    def is_named_in(self, text: str) -> bool:
        """Return whether a prompt names the file, or a program with its sub-command and a named operand."""
        names = [(PurePath(self.file).name,)] if self.file else self.steps
        spelt = (r"[\s:]{1,9}".join(map(re.escape, words)) for words in names)
        is_named = any(re.search(rf"(?<![\w.-]){name}(?![\w-])", text, re.IGNORECASE) for name in spelt)
        return is_named and (not self.named or not self.named.isdisjoint(terms(text)))


def kind_of(refusal: Refusal) -> CallKind:
    """Return the kind of a refused call; of a command with several steps, those count whose operands the words name."""
    tool = _SAME.get(refusal.tool, refusal.tool)
    if tool != "Bash":
        return CallKind(tool, refusal.call)
    steps, said = _steps(refusal.call), frozenset(terms(refusal.words))
    chosen = [each for each in steps if each[1] & said] or [each for each in steps if not each[2]] or steps
    rest = frozenset[str]().union(*(each[1] for each in chosen))
    named = said & rest
    if not named and any(len(name) == 1 and not said & set(terms(name[0])) for name, *_ in chosen):
        named = rest  # A program alone, such as an interpreter, is no kind
    # A path counts as a whole, not by its folders.
    parts = {part for whole in named for part in terms(whole) if part != whole}
    return CallKind(tool, "", frozenset(name for name, *_ in chosen), named - parts)


def can_be_kept(words: str) -> bool:
    """Return whether words can be a preference: one short and visible line without an address."""
    is_line = 0 < len(words) <= limits.REFUSAL_WORDS_MAX and words == one_line(words)
    return is_line and not any(mark in words.casefold() for mark in ("://", "www."))


async def refusal_of(refused: Refused, session: str, project: str, folder: str, gate: RedactionGate) -> Refusal:
    """Return a refusal in a session, by its hash, without secrets and folders of this machine."""
    given = {"call": tidied(one_line(refused.call), project, folder), "words": refused.words}
    call, words = (await gate.pass_data(given)).data.values()
    return Refusal(refused.tool, shortened(call, limits.COMMAND_MAX), words, refused.at, sessions=(session,))


def _steps(command: str) -> list[tuple[tuple[str, ...], frozenset[str], bool]]:
    """Return a command's programs with their sub-commands, the terms of the rest, and whether they only look."""
    found = []
    for step in parse(command).steps:
        words = step.call
        if words and words[0] != "cd":
            length, name = head(words)
            named = subcommand(name, words[length:])
            named = named[: 2 if named[:1] and named[0] in _RUNS else 1]
            rest = " ".join(word for word in words[length:] if word not in named)
            found.append(((name, *named), frozenset(terms(rest)), looks(step)))
    return found
