"""Words of a shell script after expansion: quotes and escapes resolved, and variables that the script has set."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

_ESCAPED: Final = re.compile(r"\\(\n|.)", re.DOTALL)
_ESCAPED_IN_STRING: Final = re.compile(r'\\([\n"\\$`])')
_ANSI: Final = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))", re.DOTALL)
_ANSI_NAMES: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_DEEP: Final = 5
_PARTS: Final = frozenset("command_name concatenation string translated_string".split())
_EXPANSIONS: Final = frozenset(
    "simple_expansion expansion command_substitution arithmetic_expansion process_substitution".split()
)


class Word(NamedTuple):
    """A word, and whether its value is known entirely; unknown parts stay as written."""

    text: str
    is_known: bool = True
    is_quoted: bool = True


@dataclass(slots=True)
class Words:
    """Expands words, with the variables that were set to known texts."""

    variables: dict[str, str] = field(default_factory=dict)
    substituted: dict[str, str] = field(default_factory=dict)  # the output of `<(...)`, by its text
    depth: int = 0  # of nested substitutions

    def text(self, node: "Node") -> str:
        """Return the text of a node as written."""
        return (node.text or b"").decode("utf-8", "replace")

    def of_command(self, node: "Node", behind: "tuple[Node, ...]" = ()) -> list[Word]:
        """Return the words of a command: its name and its arguments, including those after redirections."""
        found: list[Word] = []
        for each in (*node.children, *behind):
            if each.type in {"variable_assignment", "comment"} or each.type.endswith("_redirect"):
                continue
            word = self.value(each)
            if word.is_quoted or not word.is_known:
                found.append(word)
            else:
                found += [Word(part) for part in word.text.split()]
        return found

    def value(self, node: "Node", depth: int = 0) -> Word:
        """Return the expanded value of a node."""
        kind, raw = node.type, self.text(node)
        if kind in _PARTS and depth < _DEEP:
            return self._joined(node, depth)
        if kind in _EXPANSIONS:
            return self._expanded(node, raw)
        if kind == "raw_string":
            return Word(raw[1:-1])
        if kind == "ansi_c_string":
            return Word(_ANSI.sub(_of_ansi, raw[2:-1]))
        return Word(_ESCAPED.sub(_unescaped, raw))

    def _expanded(self, node: "Node", raw: str) -> Word:
        """Return the value of a variable or a substitution, if known."""
        if node.type == "process_substitution" and (found := self._printed_inside(node)) is not None:
            self.substituted[raw] = found
        if node.type == "command_substitution":
            found = self._printed_inside(node)
            return Word(raw, is_known=False) if found is None else Word(found.rstrip("\n"))
        value = self.variables.get(raw.strip("${}"))
        return Word(raw, is_known=False) if value is None else Word(value, is_quoted=False)

    def _joined(self, node: "Node", depth: int) -> Word:
        """Return the value of a node from its parts and the text between them."""
        is_string = node.type.endswith("string")
        if node.type == "command_name" and node.named_children:
            return self.value(node.named_children[0], depth + 1)
        source, start = node.text or b"", node.start_byte
        text, is_known, at = [], True, 0
        end = len(source)
        if is_string:
            at, end = source.find(b'"') + 1, max(source.rfind(b'"'), 1)
        pattern = _ESCAPED_IN_STRING if is_string else _ESCAPED
        for child in node.named_children:
            if child.type == "string_content":
                continue
            first, last = child.start_byte - start, child.end_byte - start
            text.append(pattern.sub(_unescaped, source[at:first].decode("utf-8", "replace")))
            word = self.value(child, depth + 1)
            text.append(word.text)
            is_known, at = is_known and word.is_known, last
        text.append(pattern.sub(_unescaped, source[at:end].decode("utf-8", "replace")))
        return Word("".join(text), is_known)

    def heredoc(self, node: "Node") -> str:
        """Return the body of a heredoc."""
        start = body = None
        for each in node.named_children:
            start = each if each.type == "heredoc_start" else start
            body = each if each.type == "heredoc_body" else body
        if body is None:
            return ""
        text = self.text(body)
        if any(each.type == "<<-" for each in node.children):
            text = "\n".join(line.lstrip("\t") for line in text.split("\n"))
        is_literal = start is not None and any(mark in self.text(start) for mark in "'\"\\")
        return text if is_literal else _ESCAPED_IN_STRING.sub(_unescaped, text)

    def assign(self, node: "Node") -> None:
        """Store a variable if its value is known, and drop it otherwise."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None:
            return
        word = self.value(value) if value else Word("")
        self.variables.pop(self.text(name), None)
        if word.is_known and "=" in {each.type for each in node.children}:
            self.variables[self.text(name)] = word.text

    def forget(self, node: "Node") -> None:
        """Drop the variable of a loop."""
        name = node.child_by_field_name("variable")
        self.variables.pop(self.text(name) if name else "", None)

    def printed(self, node: "Node") -> str | None:
        """Return a command's output, if it only prints a text: echo, printf, and cat of a heredoc."""
        given = None
        if node.type == "redirected_statement":
            parts = [each for each in node.named_children if each.type.endswith("_redirect")]
            if any(each.type == "file_redirect" for each in parts):
                return None
            given = next((self.heredoc(each) for each in parts if each.type == "heredoc_redirect"), None)
            node = node.named_children[0]
        if node.type != "command":
            return None
        words = self.of_command(node)
        name, rest = (words[0].text, words[1:]) if words else ("", [])
        if name == "cat" and not rest:
            return given if given is not None else self._here_string(node)
        return _echoed(name, [each.text for each in rest])

    def _here_string(self, node: "Node") -> str | None:
        found = [each for each in node.named_children if each.type == "herestring_redirect"]
        return self.value(found[0].named_children[0]).text if found and found[0].named_children else None

    def _printed_inside(self, node: "Node") -> str | None:
        inside = [each for each in node.named_children if each.type != "comment"]
        if len(inside) != 1 or self.depth >= _DEEP:
            return None
        self.depth += 1
        try:
            return self.printed(inside[0])
        finally:
            self.depth -= 1


def _echoed(name: str, rest: list[str]) -> str | None:
    if name == "echo":
        while rest and rest[0] in {"-e", "-n", "-E", "-en", "-ne"}:
            rest = rest[1:]
        return " ".join(rest)
    if name == "printf" and rest:
        form = _ANSI.sub(_of_ansi, rest[0])
        if not rest[1:]:
            return form.replace("%%", "%")
        return "".join(form.replace("%s", each).replace("%b", each) for each in rest[1:])
    return None


def _unescaped(found: re.Match[str]) -> str:
    return "" if found[1] == "\n" else found[1]


def _of_ansi(found: re.Match[str]) -> str:
    if found[1] or found[2]:
        return chr(int(found[1] or found[2], 16))
    if found[3]:
        return chr(int(found[3], 8) & 255)
    return _ANSI_NAMES.get(found[4], found[4])
