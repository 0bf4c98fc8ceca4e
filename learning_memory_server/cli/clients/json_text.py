"""Edit JSON text, with comments and trailing commas, and leave everything else unchanged."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

_STRING: Final = r'("(?:[^"\\]|\\.)*+(?:"|\Z)|/\*(?!.*?\*/).*)'
"""A string. An unterminated string or comment extends to the end, for `json` to reject, so it is searched only once."""
_COMMENT: Final = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING: Final = re.compile(rf"{_STRING}|[\[{{]\s*+,|,(?=\s*+[}}\]])", re.DOTALL)
"""A string, an opening bracket with an invalid comma after it, or a trailing comma."""
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_INDENT: Final = re.compile(r"\{[ \t]*(?://[^\r\n]*)?\r?\n([ \t]+)[\"/]")
_MARK: Final = "\ufeff"  # A byte order mark, which some editors write


@dataclass(frozen=True, slots=True)
class _Node:
    """A value and its position; for a member, also the positions of its key and of the comma after it, if any."""

    start: int
    end: int
    value: Any
    key: int = 0
    comma: int | None = None


def parse(text: str) -> dict[str, Any]:
    """Return the content; empty for an empty text. Raises ValueError if the text is not an object, comments aside."""
    root = _root(text)
    return {} if root is None else root.value


def put(text: str, path: tuple[str, ...], values: Mapping[str, Any]) -> str:
    """Return the text with values merged into the object at a path. The object is created if missing."""
    if _root(text) is None:
        text = f"{text}{{}}\n"
    if _find(text, path) is None:
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
    members = _members(text, parent) if parent else {}
    if parent is None or name not in members:
        raise ValueError(f"there is no {name}")
    member = members[name]
    start = len(text[: member.key].rstrip(" \t\r\n"))
    if re.search(r"//[^\r\n]*\Z", text[parent.start : start]):
        start = member.key  # The rest must not become part of the comment
    if member.comma is not None:
        return text[:start] + text[member.comma + 1 :]
    names = list(members)
    place = names.index(name)
    if place:
        comma = members[names[place - 1]].comma or 0
        return text[:comma] + text[comma + 1 : start] + text[member.end :]
    if not text[member.end : parent.end - 1].strip(" \t\r\n") and start == parent.start + 1:
        return text[:start] + text[parent.end - 1 :]
    return text[:start] + text[member.end :]


def _set(text: str, path: tuple[str, ...], value: object) -> str:
    """Set the value at a path, and create the objects around it if missing."""
    node, depth = _root(text), 0
    for name in path:
        if node is None or not isinstance(node.value, dict):
            raise ValueError(f"{name} is inside something that is not an object")
        inner = _members(text, node).get(name)
        if inner is None:
            break
        node, depth = inner, depth + 1
    else:
        assert node is not None
        return text[: node.start] + _dumped(text, value, depth) + text[node.end :]
    assert node is not None
    for name in reversed(path[depth + 1 :]):
        value = {name: value}
    new_line, unit = _layout(text)
    pad = new_line + unit * (depth + 1)
    member = f"{pad}{json.dumps(path[depth], ensure_ascii=False)}: {_dumped(text, value, depth + 1)}"
    inside = text[node.start + 1 : node.end - 1]
    if node.value:
        member += "," if inside[0] in " \t\r\n" else f",{pad}"
    elif not inside:
        member += new_line + unit * depth
    return text[: node.start + 1] + member + text[node.start + 1 :]


def _dumped(text: str, value: object, depth: int) -> str:
    new_line, unit = _layout(text)
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return (new_line + unit * depth).join(lines)


def _layout(text: str) -> tuple[str, str]:
    """Return the text's line ending and indentation."""
    indent = _INDENT.search(text)
    return "\r\n" if "\r\n" in text else "\n", indent[1] if indent else "  "


def _find(text: str, path: tuple[str, ...]) -> _Node | None:
    node = _root(text)
    for name in path:
        node = _members(text, node).get(name) if node else None
    return node


def _root(text: str) -> _Node | None:
    plain = _plain(text)
    start = _skip(plain, 0)
    if start == len(plain):
        return None
    try:
        value, end = _DECODER.raw_decode(plain, start)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if _skip(plain, end) != len(plain):
        raise ValueError(f"line {text.count(chr(10), 0, end) + 1} has something after the end")
    if not isinstance(value, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - what json.loads raises, too
    return _Node(start, end, value)


def _members(text: str, node: _Node) -> dict[str, _Node]:
    """Return the members of a value in a text that `_root` accepts; empty if the value is not an object."""
    if not isinstance(node.value, dict):
        return {}
    with_commas, plain = _uncommented(text), _plain(text)
    members: dict[str, _Node] = {}
    key = _skip(plain, node.start + 1)
    while plain[key] != "}":
        name, end = _DECODER.raw_decode(plain, key)
        colon = _skip(plain, end)
        start = _skip(plain, colon + 1)
        value, end = _DECODER.raw_decode(plain, start)
        after = _skip(with_commas, end)
        comma = after if with_commas[after] == "," else None
        # Of two members with the same name, programs use the last.
        members.pop(name, None)
        members[name] = _Node(start, end, value, key, comma)
        key = _skip(plain, after if comma is None else comma + 1)
    return members


def _plain(text: str) -> str:
    """Return a text that `json` can parse, with all positions unchanged."""
    return _TRAILING.sub(lambda found: " " if found[0] == "," else found[0], _uncommented(text))


def _uncommented(text: str) -> str:
    blanked = _COMMENT.sub(lambda found: found[1] or re.sub(r"[^\r\n]", " ", found[0]), text)
    return f" {blanked[1:]}" if text.startswith(_MARK) else blanked


def _skip(text: str, at: int) -> int:
    """Return the position after whitespace."""
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)
