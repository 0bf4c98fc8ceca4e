"""The commands of a shell script in the form in which the shell runs them, each with its input and written files."""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from learning_memory_server.shell import branches, calls, environments
from learning_memory_server.shell.environments import Via
from learning_memory_server.shell.folders import REMOTE, Folders
from learning_memory_server.shell.masking import mask
from learning_memory_server.shell.parser import READ_MAX, tree_of
from learning_memory_server.shell.redirections import Redirections
from learning_memory_server.shell.shortening import shortened
from learning_memory_server.shell.statements import Leave, inside
from learning_memory_server.shell.words import Word, Words

if TYPE_CHECKING:
    from tree_sitter import Node

TEXTS_MAX: Final = 50
"""Maximum number of nested texts, and of commands that run one another."""
COMMANDS_MAX: Final = 2_000
_HERE: Final = frozenset("eval source .".split())  # They read a text in the same shell
_REMOTE: Final = "ssh"
_SCRIPT: Final = re.compile(r"(?!#!)|#![^\n]{0,99}sh\b")


@dataclass(frozen=True, slots=True)
class Command:
    """One command. The commands of one `chain` run only if the earlier ones in the chain have succeeded."""

    words: tuple[str, ...]  # its name without a folder, and its arguments after expansion
    texts: tuple[str, ...] = ()  # messages and bodies, a title before its body
    input: str = ""  # its input from a heredoc, a here-string, or `echo` in a pipe
    writes: tuple[str, ...] = ()  # files that it writes or removes, relative to the script's first folder
    branch: str = ""  # that it commits or pushes, if the script has switched to it
    folder: str = ""  # its folder, relative to the script's first one; `folders.UNKNOWN` if unknown
    made: str = ""  # the repository there, if the script itself has created it
    via: Via = Via.NOTHING
    chain: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Script:
    """The commands of a script. A command that runs another precedes it, with all of its words."""

    commands: tuple[Command, ...] = ()


def read(text: str) -> Script:
    """Parse a shell script. The body of a function counts if the script calls the function."""
    masked, back = mask(shortened(text, READ_MAX))
    reader = _Reader()
    reader.add(masked)
    reader.walk()
    return Script(tuple(_unmasked(each, back) for each in reader.commands))


def _unmasked(command: Command, back: Mapping[int, str]) -> Command:
    """Return a command with the masked characters restored."""
    if not back:
        return command
    words, texts, writes = (
        tuple(each.translate(back) for each in given) for given in (command.words, command.texts, command.writes)
    )
    folder, made, given = (each.translate(back) for each in (command.folder, command.made, command.input))
    return replace(command, words=words, texts=texts, writes=writes, input=given, folder=folder, made=made)


class _Reader:
    """Parses texts, including nested ones, with an explicit stack: a text may nest deeper than Python's stack."""

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self._stack: list[Node | Leave] = []
        self._words = Words()
        self._redirections = Redirections(self._words)
        self._functions: dict[str, Node] = {}
        self._files: dict[str, str] = {}  # content that the script has written, by file
        self._trees: list[object] = []  # Node ids are unique only while their tree exists
        self._left = 2 * READ_MAX  # Including nested texts, such as the argument of `bash -c`
        self._folders = Folders()
        self._branch = ""
        self._via = Via.NOTHING
        self._chain = 0
        self._is_strict = False  # after `set -e`

    def add(self, text: str) -> None:
        """Push a text onto the stack."""
        self._left -= len(text)
        if self._left < 0 or len(self._trees) >= TEXTS_MAX:
            return
        tree = tree_of(text)
        self._trees.append(tree)
        self._stack.append(tree.root_node)

    def walk(self) -> None:
        """Process the stack."""
        while self._stack:
            node = self._stack.pop()
            if len(self.commands) >= COMMANDS_MAX:
                return
            if isinstance(node, Leave):
                self._leave(node)
            elif node.type == "function_definition":
                self._define(node)
            else:
                self._note(node)
                self._stack += reversed(inside(node, self._folders.here))
                if node.type == "command":
                    self._command(node)

    def _leave(self, mark: Leave) -> None:
        if mark.folder is None:
            self._chain += not self._is_strict
        else:
            self._folders.here = mark.folder
            self._branch = ""
            self._via = self._via if mark.via is None else Via(mark.via)

    def _define(self, node: "Node") -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name and body:
            self._functions[self._words.text(name)] = body

    def _note(self, node: "Node") -> None:
        """Record the redirections and variables of a statement."""
        match node.type:
            case "redirected_statement":
                self._redirections.note_statement(node)
            case "pipeline":
                self._redirections.note_pipeline(node.named_children)
            case "variable_assignment":
                self._words.assign(node)
            case "for_statement":
                self._words.forget(node)

    def _command(self, node: "Node") -> None:
        redirected = self._redirections.of(node)
        words = self._words.of_command(node, redirected.behind)
        runs = self._list(words, redirected.given, redirected.writes) if words else []
        while runs:
            # A nested text is read after the command that runs it, so the last one is pushed first
            each = runs.pop()
            if each.text:
                self.add(each.text)

    def _list(self, words: list[Word], given: str | None, writes: tuple[str, ...]) -> list[calls.Inner]:
        """Add a command and the commands that it runs to the list, and return the texts that they run."""
        texts: list[calls.Inner] = []
        waiting = [(words, given, writes, self._folders.here, self._via)]
        most = min(len(self.commands) + TEXTS_MAX, COMMANDS_MAX)
        while waiting and len(self.commands) < most:
            words, given, writes, folder, via = waiting.pop()
            path = words[0].text
            via = environments.by_path(path, via)
            plain = (path.rpartition("/")[2] or path, *(each.text for each in words[1:]))
            call = calls.parsed(plain)
            said = calls.texts_of(call, given, self._written)
            written, folder = tuple(map(self._from_here, writes)), self._folders.of(call, plain, folder)
            files = (*written, *(_from(folder, each) for each in calls.written_by(call)))
            branch = branches.concerned(call, self._branch)
            where = self._folders.place(folder)
            self.commands.append(Command(plain, said, given or "", files, branch, *where, via, self._chain))
            self._branch = branches.switched(call, plain, self._branch)
            self._folders.follow(call, folder)
            self._note_effects(call, given, files)
            within = environments.inside(plain, via)
            runs = list(calls.inner(plain, given, self._written))
            content = self._written(path) if "/" in path else None
            if content and _SCRIPT.match(content):
                runs.append(calls.Inner(text=content))
            waiting += [
                ([Word(word) for word in each.words], given, (), folder, within)
                for each in reversed(runs)
                if each.words
            ]
            found = [each for each in runs if each.text]
            if found and call.program not in _HERE:
                self._stack.append(Leave(self._folders.here, self._via))
                self._via = within
                self._folders.here = REMOTE if call.program == _REMOTE else folder
            texts += found
        return texts

    def _note_effects(self, call: calls.Call, given: str | None, files: tuple[str, ...]) -> None:
        """Update the state for later commands: options, files and functions."""
        if call.program == "set" and "e" in call.letters:
            self._is_strict = True
        elif call.program in {"cat", "tee"} and given is not None:
            self._files |= dict.fromkeys(map(posixpath.normpath, files), given)
        elif body := self._functions.pop(call.program, None):
            self._stack.append(body)

    def _written(self, file: str) -> str | None:
        """Return the content that the script itself has written to a file, None if unknown."""
        return self._words.substituted.get(file) or self._files.get(posixpath.normpath(self._from_here(file)))

    def _from_here(self, file: str) -> str:
        return _from(self._folders.here, file)


def _from(folder: str, file: str) -> str:
    return posixpath.join(folder, file) if folder and not file.startswith("~") else file
