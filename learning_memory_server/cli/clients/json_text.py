"""Edits of JSON text that leave everything else as it is: order, indentation, line ends and comments.

Comments are accepted, as by VS Code and Gemini CLI, and trailing commas, as by VS Code. A new member comes first in its
object, where no comma or comment of the others is in the way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_BLANK: Final = re.compile(r"(?:[ \t\r\n]|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR: Final = re.compile(
    r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null'
)
_INDENT: Final = re.compile(r"\{[ \t]*(?://[^\r\n]*)?\r?\n([ \t]+)[\"/]")
_MARK: Final = "\ufeff"
"""Some editors begin a file with it."""


@dataclass(slots=True)
class _Node:
    """A value, where it is in the text and, of an object, its members."""

    start: int
    end: int = 0
    value: Any = None
    members: dict[str, _Member] = field(default_factory=dict)


@dataclass(slots=True)
class _Member:
    """A member of an object: where its key begins, its value, and where the comma after it is, if there is one."""

    start: int
    node: _Node
    comma: int | None = None


def parse(text: str) -> dict[str, Any]:
    """Return the content of the text; none if it is empty. ValueError if it is no object, with or without comments."""
    root = _root(text)
    return {} if root is None else root.value


def put(text: str, path: tuple[str, ...], values: Mapping[str, Any]) -> str:
    """Return the text with values merged into the object at a path, which is created if it is missing."""
    if _root(text) is None:
        text = f"{text}{{}}\n"
    missing = _find(text, path) is None
    if missing:
        return _set(text, path, dict(values))
    for name, value in values.items():
        inner = _find(text, (*path, name))
        if isinstance(value, dict) and inner is not None and isinstance(inner.value, dict):
            text = put(text, (*path, name), value)
        elif inner is None or inner.value != value:
            text = _set(text, (*path, name), value)
    return text


def drop(text: str, path: tuple[str, ...]) -> str:
    """Return the text without the member at a path, which must exist."""
    *above, name = path
    parent = _find(text, tuple(above))
    if parent is None or name not in parent.members:
        raise ValueError(f"there is no {name}")
    member = parent.members[name]
    start = len(text[: member.start].rstrip(" \t\r\n"))
    if re.search(r"//[^\r\n]*\Z", text[parent.start : start]):
        # What follows must not become part of the comment.
        start = member.start
    if member.comma is not None:
        return text[:start] + text[member.comma + 1 :]
    names = list(parent.members)
    place = names.index(name)
    if place:
        comma = parent.members[names[place - 1]].comma or 0
        return text[:comma] + text[comma + 1 : start] + text[member.node.end :]
    if not text[member.node.end : parent.end - 1].strip(" \t\r\n") and start == parent.start + 1:
        return text[:start] + text[parent.end - 1 :]
    return text[:start] + text[member.node.end :]


def _set(text: str, path: tuple[str, ...], value: object) -> str:
    """Replace the value at a path, or create it with the objects around it."""
    node, depth = _root(text), 0
    for name in path:
        if node is None or not isinstance(node.value, dict):
            raise ValueError(f"{name} is inside something that is not an object")
        if name not in node.members:
            break
        node, depth = node.members[name].node, depth + 1
    else:
        assert node is not None  # noqa: S101 - the path was walked
        return text[: node.start] + _dumped(text, value, depth) + text[node.end :]
    assert node is not None  # noqa: S101 - the loop broke at an object
    for name in reversed(path[depth + 1 :]):
        value = {name: value}
    new_line, unit = _layout(text)
    pad = new_line + unit * (depth + 1)
    member = f"{pad}{json.dumps(path[depth], ensure_ascii=False)}: {_dumped(text, value, depth + 1)}"
    inside = text[node.start + 1 : node.end - 1]
    if node.members:
        member += "," if inside[0] in " \t\r\n" else f",{pad}"
    elif not inside:
        member += new_line + unit * depth
    return text[: node.start + 1] + member + text[node.start + 1 :]


def _dumped(text: str, value: object, depth: int) -> str:
    new_line, unit = _layout(text)
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return (new_line + unit * depth).join(lines)


def _layout(text: str) -> tuple[str, str]:
    """Return the text's line end and its indentation."""
    indent = _INDENT.search(text)
    return "\r\n" if "\r\n" in text else "\n", indent[1] if indent else "  "


def _find(text: str, path: tuple[str, ...]) -> _Node | None:
    node = _root(text)
    for name in path:
        if node is None or name not in node.members:
            return None
        node = node.members[name].node
    return node


def _root(text: str) -> _Node | None:
    start = _skip(text, len(_MARK) if text.startswith(_MARK) else 0)
    if start == len(text):
        return None
    try:
        root = _value(text, start)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if _skip(text, root.end) != len(text):
        raise ValueError(f"line {_line(text, root.end)} has something after the end")
    if not isinstance(root.value, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - what json.loads raises, too
    return root


def _value(text: str, start: int) -> _Node:
    if text.startswith("{", start):
        return _object(text, start)
    if text.startswith("[", start):
        return _array(text, start)
    scalar = _SCALAR.match(text, start)
    if not scalar:
        raise ValueError(f"line {_line(text, start)} is not valid")
    return _Node(start, scalar.end(), json.loads(scalar[0]))


def _object(text: str, start: int) -> _Node:
    node = _Node(start, value={})
    at = _skip(text, start + 1)
    while not text.startswith("}", at):
        key = _SCALAR.match(text, at)
        if not key or not key[0].startswith('"'):
            raise ValueError(f"line {_line(text, at)} is not valid")
        colon = _skip(text, key.end())
        _expect(text, colon, ":")
        member = _Member(at, _value(text, _skip(text, colon + 1)))
        name = json.loads(key[0])
        # Of two members with one name, programs use the last.
        node.members.pop(name, None)
        node.members[name], node.value[name] = member, member.node.value
        at = _skip(text, member.node.end)
        if text.startswith(",", at):
            member.comma = at
            at = _skip(text, at + 1)
        else:
            _expect(text, at, "}")
    node.end = at + 1
    return node


def _array(text: str, start: int) -> _Node:
    node = _Node(start, value=[])
    at = _skip(text, start + 1)
    while not text.startswith("]", at):
        element = _value(text, at)
        node.value.append(element.value)
        at = _skip(text, element.end)
        if text.startswith(",", at):
            at = _skip(text, at + 1)
        else:
            _expect(text, at, "]")
    node.end = at + 1
    return node


def _skip(text: str, at: int) -> int:
    """Return where blanks and comments end."""
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _expect(text: str, at: int, character: str) -> None:
    if not text.startswith(character, at):
        raise ValueError(f"line {_line(text, at)} lacks a {character}")


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
