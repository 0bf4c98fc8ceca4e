"""The input of commands, from heredocs, here-strings and pipes, and the files that redirections write."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from learning_memory_server.shell.words import Words

if TYPE_CHECKING:
    from tree_sitter import Node

_WRITING: Final = frozenset("> >> >| &> &>>".split())
_DEVICES: Final = "/dev/"
_LAST_IN: Final = frozenset({"list", "pipeline"})
_FIRST_IN: Final = frozenset({"redirected_statement", "negated_command"})


@dataclass(frozen=True, slots=True)
class Redirected:
    """The redirections of a command; `given` is its input, None if unknown."""

    given: str | None = None
    writes: tuple[str, ...] = ()
    behind: "tuple[Node, ...]" = ()  # words of the command after a redirection

    def __add__(self, more: "Redirected") -> "Redirected":
        """Combine both; later input overrides."""
        given = self.given if more.given is None else more.given
        return Redirected(given, (*self.writes, *more.writes), (*self.behind, *more.behind))


@dataclass(slots=True)
class Redirections:
    """Collects redirections outside of a command before the command is parsed."""

    words: Words
    noted: dict[int, Redirected] = field(default_factory=dict)  # by the id of a command's node

    def of(self, node: "Node") -> Redirected:
        """Return the input and the written files of a command."""
        return self.noted.get(node.id, Redirected()) + self._own(node)

    def note_statement(self, node: "Node") -> None:
        """Assign the redirections of a statement to its last command."""
        if body := last_command(node):
            self._note(body, self._own(node))
        for each in node.named_children:
            if each.type == "heredoc_redirect":  # It contains the rest of its line
                self.note_pipeline([node, *(part for part in each.named_children if part.type == "pipeline")])

    def note_pipeline(self, stages: "Sequence[Node]") -> None:
        """Pass the output of each stage, if known, to the next stage as input."""
        for first, second in pairwise(stages):
            printed, target = self.words.printed(first), second
            while target.named_children and target.type in _LAST_IN | _FIRST_IN:
                target = target.named_children[0]
            if printed is not None:
                self._note(target, Redirected(printed))

    def _note(self, node: "Node", more: Redirected) -> None:
        self.noted[node.id] = self.noted.get(node.id, Redirected()) + more

    def _own(self, node: "Node") -> Redirected:
        found = Redirected()
        for each in node.children:
            if each.type == "heredoc_redirect":
                found += Redirected(self.words.heredoc(each))
                for part in each.named_children:
                    found += self._of_one(part)
            else:
                found += self._of_one(each)
        return found

    def _of_one(self, node: "Node") -> Redirected:
        if node.type == "herestring_redirect" and node.named_children:
            return Redirected(self.words.value(node.named_children[0]).text)
        if node.type != "file_redirect":
            return Redirected()
        file, behind = file_of(node)
        is_written = file is not None and any(part.type in _WRITING for part in node.children)
        name = self.words.value(file).text if file is not None and is_written else ""
        return Redirected(None, (name,) if name and not name.startswith(_DEVICES) else (), behind)


def last_command(node: "Node") -> "Node | None":
    """Return the command of a redirected statement to which the redirections apply."""
    body = node.child_by_field_name("body")
    while body and body.named_children and body.type in _LAST_IN | _FIRST_IN:
        body = body.named_children[-1 if body.type in _LAST_IN else 0]
    return body


def file_of(redirect: "Node") -> "tuple[Node | None, tuple[Node, ...]]":
    """Return the file of a redirection, and the words after it, which the parser mistakes for files."""
    files = redirect.children_by_field_name("destination")
    return files[0] if files else None, tuple(files[1:])
