"""What a shell text runs: its commands as the shell would pass them, with what they are given and what they write."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from learning_memory_server.rules import calls, programs
from learning_memory_server.rules.words import Word, Words

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

READ_MAX: Final = 8_000  # Characters of a text; what is behind them is not seen
TEXTS_MAX: Final = 50  # Texts in texts, such as those of `bash -c`
COMMANDS_MAX: Final = 1_000
_STATEMENTS: Final = frozenset(
    "command redirected_statement list pipeline subshell compound_statement if_statement while_statement for_statement "
    "c_style_for_statement case_statement negated_command declaration_command variable_assignment "
    "variable_assignments function_definition test_command unset_command else_clause elif_clause case_item".split()
)
_ENDS: Final = frozenset({"exit", "return", "false"})
_HERE: Final = frozenset({"eval", "source", "."})  # They read a text in the same shell
_REMOTE: Final = frozenset({"ssh"})
_ELSEWHERE: Final = "/elsewhere"  # A folder of another machine


@dataclass(frozen=True, slots=True)
class Command:
    """One command. Commands of one `chain` run only if those before it in the same chain have succeeded."""

    words: tuple[str, ...]  # its name without its folder, and what the shell would pass to it
    texts: tuple[str, ...] = ()  # messages and bodies, a title before a body
    input: str = ""  # what it is given by a heredoc, a here-string, or by `echo` in a pipe
    writes: tuple[str, ...] = ()  # files that it writes or removes, relative to where the text starts
    chain: int = 0


@dataclass(frozen=True, slots=True)
class Script:
    """What a text runs. A command that runs another stands before it."""

    commands: tuple[Command, ...] = ()
    is_certain: bool = True  # whether all of it was read


def read(text: str) -> Script:
    """Return what a shell text runs, so far as it says."""
    reader = _Reader(is_certain=len(text) <= READ_MAX)
    reader.add(text[:READ_MAX])
    reader.walk()
    return Script(tuple(reader.commands), reader.is_certain)


@cache
def _parser() -> "Parser":
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


@dataclass(frozen=True, slots=True)
class _Leave:
    """Stands where a chain ends, or, with a folder, where a subshell ends: the shell is there again."""

    folder: str | None = None


@dataclass(frozen=True, slots=True)
class _Redirects:
    """What the redirections of a command say."""

    given: str | None = None
    writes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reader:
    """Reads texts, nested ones too, with a stack of its own: a text may nest deeper than Python's."""

    is_certain: bool = True
    commands: list[Command] = field(default_factory=list)
    stack: "list[Node | _Leave]" = field(default_factory=list)
    words: Words = field(default_factory=Words)
    redirects: dict[int, _Redirects] = field(default_factory=dict)  # by a node's id
    functions: "dict[str, Node]" = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)  # what was written before, by its name
    trees: list[object] = field(default_factory=list)  # An id is a node's own only while its tree lives
    folder: str = ""
    chain: int = 0
    is_strict: bool = False  # after `set -e`

    def add(self, text: str) -> None:
        """Put a text on the stack."""
        if len(self.trees) >= TEXTS_MAX or len(text) > READ_MAX:
            self.is_certain = False
            return
        tree = _parser().parse(text.encode("utf-8", "replace"))
        self.is_certain = self.is_certain and not tree.root_node.has_error
        self.trees.append(tree)
        self.stack.append(tree.root_node)

    def walk(self) -> None:
        """Read what is on the stack."""
        while self.stack:
            node = self.stack.pop()
            if len(self.commands) > COMMANDS_MAX:
                self.is_certain = False
                return
            if isinstance(node, _Leave):
                if node.folder is None:
                    self.chain += not self.is_strict
                else:
                    self.folder = node.folder
                continue
            match node.type:
                case "function_definition":
                    self._define(node)
                    continue
                case "redirected_statement":
                    self._redirect(node)
                case "pipeline":
                    self._pipe(list(node.named_children))
                case "variable_assignment":
                    self.words.assign(node)
                case "for_statement":
                    self.words.forget(node)
                case "command":
                    self.stack.extend(reversed(self._inside(node)))
                    self._command(node)
                    continue
            self.stack.extend(reversed(self._inside(node)))

    def _inside(self, node: "Node") -> "list[Node | _Leave]":
        """Return what is in a node, with the ends of chains."""
        found: list[Node | _Leave] = []
        if node.type == "command":
            # Assignments in front of a command are its own
            return [part for each in node.named_children for part in _values_of(each)]
        was_statement = has_or = False
        for child in node.children:
            if not child.is_named:
                has_or = has_or or child.type == "||"
                was_statement = was_statement and child.type != "then"
                continue
            if child.type == "comment":
                continue
            is_statement = child.type in _STATEMENTS
            if node.type == "list":
                found += [_Leave()] if has_or and was_statement and not _ends(child) else []
            elif was_statement and is_statement and node.type != "pipeline" and not _is_guard(found):
                found.append(_Leave())
            was_statement, has_or = is_statement, False
            found.append(child)
        if node.type in {"subshell", "command_substitution", "process_substitution"}:
            found.append(_Leave(self.folder))
        return found

    def _define(self, node: "Node") -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name and body:
            self.functions[self.words.text(name)] = body

    def _redirect(self, node: "Node") -> None:
        """Note for the command of a statement what its redirections say."""
        body = node.child_by_field_name("body")
        found = self._of_redirects(node)
        while body and body.type in {"list", "pipeline", "redirected_statement", "negated_command"}:
            body = body.named_children[-1] if body.type in {"list", "pipeline"} else body.named_children[0]
        if body:
            self._note(body, found)
        for each in node.named_children:
            if each.type == "heredoc_redirect" and body:
                piped = [part for part in each.named_children if part.type == "pipeline"]
                self._pipe([node, *piped[:1]])

    def _of_redirects(self, node: "Node") -> _Redirects:
        found = _Redirects()
        for each in node.children:
            if each.type == "heredoc_redirect":
                found = replace(found, given=self.words.heredoc(each))
                inner = self._of_redirects(each)
                found = replace(found, writes=(*found.writes, *inner.writes))
            elif each.type == "herestring_redirect" and each.named_children:
                found = replace(found, given=self.words.value(each.named_children[0]).text)
            elif each.type == "file_redirect" and any(part.type in _WRITING for part in each.children):
                files = [self.words.value(part).text for part in each.children_by_field_name("destination")]
                found = replace(found, writes=(*found.writes, *filter(calls.is_file, files)))
        return found

    def _note(self, node: "Node", more: _Redirects) -> None:
        old = self.redirects.get(node.id, _Redirects())
        given = old.given if more.given is None else more.given
        self.redirects[node.id] = _Redirects(given, (*old.writes, *more.writes))

    def _pipe(self, stages: "list[Node]") -> None:
        """Give what a stage prints, if its text says so, to the next one."""
        for first, second in pairwise(stages):
            printed = self.words.printed(first)
            target: Node | None = second
            while target and target.type in {"redirected_statement", "list", "pipeline"}:
                target = target.named_children[0] if target.named_children else None
            if target and printed is not None:
                self._note(target, _Redirects(printed))

    def _command(self, node: "Node") -> None:
        """List a command, and what it runs."""
        if node.has_error:
            self.is_certain = False
        words = self.words.of_command(node)
        if not words:
            return
        found, own = self.redirects.get(node.id, _Redirects()), self._of_redirects(node)
        given = found.given if own.given is None else own.given
        self._list(words, given, (*found.writes, *own.writes))

    def _list(self, words: list[Word], given: str | None, writes: tuple[str, ...]) -> None:
        texts: list[str] = []
        while words:
            name = words[0].text.rpartition("/")[2] or words[0].text
            plain = (name, *(each.text for each in words[1:]))
            self.is_certain = self.is_certain and words[0].is_known
            call = calls.parsed(plain)
            said = calls.texts_of(call, given or "", self.files)
            files = tuple(self._from_here(each) for each in (*writes, *calls.written_by(call)))
            self.commands.append(Command(plain, said, given or "", files, self.chain))
            self._effects(call, given, files)
            runs = list(calls.inner(plain, given, self.files))
            texts += [each.text for each in runs if each.text]
            if not runs and name in programs.SHELLS and not call.operands and given is None:
                self.is_certain = self.is_certain and bool(call.letters & {"c"} or call.options)
            inner = [each.words for each in runs if each.words]
            for extra in inner[1:]:
                self._list([Word(each) for each in extra], None, ())
            words, writes = [Word(each) for each in inner[0]] if inner else [], ()
            if texts and name not in _HERE:
                self.stack.append(_Leave(self.folder))
                self.folder = _ELSEWHERE if name in _REMOTE else self.folder
        for text in reversed(texts):
            self.add(text)

    def _effects(self, call: calls.Call, given: str | None, files: tuple[str, ...]) -> None:
        """Note what a command changes for those behind it."""
        if call.program == "cd" and call.operands:
            self.folder = str(PurePosixPath(self.folder, call.operands[0]))
        elif call.program == "set" and "e" in call.letters:
            self.is_strict = True
        elif call.program == "cat" and given is not None and not call.operands:
            self.files |= dict.fromkeys(files, given)
        elif body := self.functions.pop(call.program, None):
            self.stack.append(body)

    def _from_here(self, file: str) -> str:
        return str(PurePosixPath(self.folder, file)) if self.folder else file


_WRITING: Final = frozenset({">", ">>", ">|", "&>", "&>>"})


def _values_of(node: "Node") -> "Iterator[Node]":
    if node.type == "variable_assignment":
        value = node.child_by_field_name("value")
        yield from [value] if value else []
    else:
        yield node


def _ends(node: "Node") -> bool:
    return (node.text or b"").decode(errors="replace").split(None, 1)[:1] in [[each] for each in _ENDS]


def _is_guard(found: "list[Node | _Leave]") -> bool:
    """Return whether the last statement is `test || exit`: what follows runs only if it succeeded."""
    last = found[-1] if found else None
    if last is None or isinstance(last, _Leave) or last.type != "list":
        return False
    return any(each.type == "||" for each in last.children) and _ends(last.named_children[-1])
