"""The steps of a shell script as written, without filters that only format or hide output.

`is_certain` is false if the script may do more or less, for example with loops, subshells and substitutions.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import dropwhile
from typing import TYPE_CHECKING, Final

from learning_memory_server.shell import calls, wrappers
from learning_memory_server.shell.masking import mask
from learning_memory_server.shell.naming import FILTERS, READING, head, looks
from learning_memory_server.shell.parser import tree_of
from learning_memory_server.shell.redirections import file_of, last_command
from learning_memory_server.shell.shortening import shortened

if TYPE_CHECKING:
    from tree_sitter import Node

STEPS_READ_MAX: Final = 2_000
"""Maximum characters to parse. For a long text that is not a shell script, parsing takes quadratic time."""
_REDACTED: Final = re.compile(r"\[redacted: [^\[\]]*\]")
_ONLY_OUTPUT: Final = re.compile(r"\d*>&\d|\d*>&-|(?:\d|&)?>{1,2}\s*/dev/null")
_STATUS: Final = re.compile(r"\$\?|\$\{?PIPESTATUS\[0\]\}?")
_SAYING: Final = frozenset({"echo", "printf", "true", ":", "pwd"})
_UNREADABLE: Final = frozenset("eval exec trap alias source . xargs disown set shopt".split())
"""Shell built-ins whose effects cannot be seen from their words."""

_COMMANDS: Final = frozenset(
    "command test_command declaration_command unset_command variable_assignment variable_assignments".split()
)
_PLAIN: Final = frozenset("program list pipeline redirected_statement do_group".split())
_LOOPS: Final = frozenset("for_statement c_style_for_statement while_statement".split())
_BLOCKS: Final = _LOOPS | frozenset(
    "subshell compound_statement if_statement elif_clause else_clause case_statement case_item function_definition "
    "negated_command heredoc_redirect ERROR".split()
)
"""Blocks whose statements may run conditionally, repeatedly or in another order."""
_OPERATORS: Final = frozenset("&& || | |& ; & ;;".split())
_UNCERTAIN: Final = frozenset({"&", ";;"})
_BODIES: Final = frozenset({"do", "then", "else"})
_SUBSTITUTIONS: Final = frozenset({"command_substitution", "process_substitution"})
_EXPANSION: Final = 3  # Parts of `${NAME}`; an expansion with more parts computes something


@dataclass(frozen=True, slots=True)
class Step:
    """A program run by a script."""

    joined: str  # the operator before it
    words: tuple[str, ...]  # its words as written
    call: tuple[str, ...]  # the program and its arguments, without variables and wrappers

    @property
    def folder(self) -> str | None:
        """The folder that it changes to, None for any other command."""
        return self.words[1] if len(self.words) == 2 and self.words[0] == "cd" else None


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a script."""

    steps: tuple[Step, ...]  # without output filters
    is_certain: bool  # whether the script does exactly these steps
    is_hidden: bool = False  # whether its status is not that of its last step
    printed: tuple[str, ...] = ()  # text printed before a status; empty if only the status is printed
    loops: int = 0

    @property
    def words(self) -> frozenset[str]:
        """The words of all steps."""
        return frozenset(word for step in self.steps for word in step.words)

    @property
    def programs(self) -> frozenset[str]:
        """The programs of the script, by name or path; `cd` only if it is alone."""
        named = [head(step.call)[1] for step in self.steps if step.call]
        return frozenset([name for name in named if name != "cd"] or named)

    @property
    def unsaid(self) -> int:
        """The number of unknown statuses before the end: in loops, of commands before a `;`, and a hidden last one."""
        return sum(step.joined in {"", ";", "\n"} for step in self.steps) - (not self.is_hidden) + self.loops

    @property
    def only_looks(self) -> bool:
        """Whether the script only reads, and changes nothing."""
        return all(looks(step.call) for step in self.steps)

    @property
    def only_reads(self) -> bool:
        """Whether its programs only read files, so that their output is not about themselves."""
        return self.programs <= READING | {"git", "cd"}


@lru_cache(1024)
def read_steps(text: str) -> Steps:
    """Parse a shell script into steps."""
    reader = _Reader(text)
    return Steps(tuple(reader.steps), reader.is_certain, reader.is_hidden, tuple(reader.printed), reader.loops)


class _Reader:
    """Reads the tree of a script in text order."""

    def __init__(self, text: str) -> None:
        readable = _REDACTED.sub("redacted", text)
        masked, self._back = mask(shortened(readable, STEPS_READ_MAX))
        tree = tree_of(masked)
        is_whole = readable == text and len(text) <= STEPS_READ_MAX and not text.endswith("\N{HORIZONTAL ELLIPSIS}")
        self.is_certain = is_whole and not tree.root_node.has_error
        self.is_hidden, self.printed, self.loops = False, dict[str, None](), 0
        self.steps: list[Step] = []
        self._joined = ""
        self._redirections: dict[int, list[Node]] = {}  # of a statement, by the id of its last command
        stack = [tree.root_node]
        while stack:
            stack += reversed(self._inside(stack.pop()))

    def _inside(self, node: "Node") -> "list[Node]":
        """Process a node, and return its child nodes to process next."""
        kind = node.type
        if not node.is_named:
            self._note_sign(kind)
        elif kind in _COMMANDS:
            return self._command(node)
        elif kind in _PLAIN or kind in _BLOCKS:
            self.is_certain &= kind in _PLAIN
            self.loops += kind in _LOOPS
            if kind == "redirected_statement":
                self._note_redirections(node)
            return node.children
        return []

    def _note_sign(self, sign: str) -> None:
        if sign in _OPERATORS:
            self._joined = sign
            self.is_certain &= sign not in _UNCERTAIN
        elif sign in _BODIES:
            self._joined = "\n" if self.steps else ""

    def _note_redirections(self, node: "Node") -> None:
        if command := last_command(node):
            self._redirections.setdefault(command.id, []).extend(
                part
                for each in node.named_children
                for part in (each, *(each.named_children if each.type == "heredoc_redirect" else ()))
                if part.type in {"file_redirect", "herestring_redirect"}
            )

    def _command(self, node: "Node") -> "list[Node]":
        """Process a command. For a mere assignment, return the nodes that compute the value."""
        parts = [node] if node.type == "variable_assignment" else node.children
        words: list[str] = []
        redirections: list[str] = []
        found: list[Node] = []
        for part in (*parts, *self._redirections.get(node.id, ())):
            if part.type == "file_redirect":
                file, behind = file_of(part)
                end = file.end_byte if file else part.end_byte
                redirections.append((part.text or b"")[: end - part.start_byte].decode("utf-8", "replace"))
                words += map(self._text, behind)
            elif part.type == "herestring_redirect":
                redirections.append(self._text(part))
            elif part.type != "comment":
                words.append(self._text(part))
                found += _substitutions(part)
        self.is_certain &= not found
        if found and node.type.startswith("variable_assignment"):
            return [each for part in found for each in part.children]
        self._add(tuple(words), redirections)
        return []

    def _text(self, node: "Node") -> str:
        return (node.text or b"").decode("utf-8", "replace").translate(self._back)

    def _add(self, words: tuple[str, ...], redirections: Iterable[str]) -> None:
        joined, self._joined = self._joined, "\n"
        if not words:
            return
        is_shaping = all(map(_ONLY_OUTPUT.fullmatch, redirections))
        program = words[0]
        self.is_certain &= program not in _UNREADABLE and program != "[["
        if (joined in {"|", "|&"} and program in FILTERS and is_shaping) or (
            joined == "||" and (program in _SAYING or program == "exit")
        ):
            self.is_hidden = True
        elif program in _SAYING and is_shaping and (self.steps or joined):
            if joined in {";", "\n"}:
                self._says(" ".join(words[1:]))
        else:
            self.steps.append(Step(joined, words, _call_in(words)))
            self.is_hidden = False

    def _says(self, said: str) -> None:
        """Process a text that is always printed: it may contain the status of a command, but not of a filter."""
        status = _STATUS.search(said)
        if status and (not self.is_hidden or "PIPE" in status.group()):
            before = said[: status.start()].replace('"', "").replace("'", "").removeprefix("-e ")
            self.printed[before] = None
        self.is_hidden = True


def _call_in(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command's words from its actual program on, without assignments and wrappers."""
    call = tuple(dropwhile(calls.is_assignment, words))
    while rest := calls.wrapped(call, wrappers.PREFIXES):
        call = rest
    return call


def _substitutions(node: "Node") -> "list[Node]":
    """List the substitutions in a word, outermost first."""
    found: list[Node] = []
    stack = [node]
    while stack:
        each = stack.pop()
        if each.type in _SUBSTITUTIONS or (each.type == "expansion" and each.child_count > _EXPANSION):
            found.append(each)
        else:
            stack += reversed(each.named_children)
    return found
