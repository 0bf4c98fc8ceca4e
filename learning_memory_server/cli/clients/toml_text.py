"""Edit common TOML text, and leave everything else unchanged. The caller verifies the parsed result."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

_TOKEN: Final = re.compile(
    r'"""(?:[^\\"]|\\.|"(?!""))*+(?:"{3,5}|\Z)'
    r"|'''.*?(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"|[^\"'#]",
    re.DOTALL,
)
"""A string, a comment, or any other single character."""
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_MARK: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class _Statement:
    """A header, or a key with its value: its span, including the line ending, and the path of the table or key."""

    start: int
    end: int
    path: tuple[str, ...]
    is_header: bool


def parse(text: str) -> dict[str, Any]:
    """Return the content of the text."""
    return tomllib.loads(text.removeprefix(_MARK))


def put(text: str, path: tuple[str, ...], values: Mapping[str, Any]) -> str:
    """Return the text with values merged into the table at a path, created if missing; an empty path is the root."""
    existing = _at(parse(text), path)
    wanted = {
        name: {**existing.get(name, {}), **value} if isinstance(value, dict) else value
        for name, value in values.items()
    }
    changed = {name: value for name, value in wanted.items() if existing.get(name) != value}
    if not changed:
        return text
    new_line = "\r\n" if "\r\n" in text else "\n"
    lines = "".join(f"{_key(name)} = {_value(value)}{new_line}" for name, value in changed.items())
    for name in changed.keys() & existing.keys():
        text = _without(text, path, name)
    at = _beginning(text, path)
    if at is None:
        is_empty = text in {"", _MARK}
        if not (is_empty or text.endswith("\n")):
            text += new_line
        header = f"[{'.'.join(map(_key, path))}]{new_line}"
        return text + ("" if is_empty else new_line) + header + lines
    if at and not text[:at].endswith("\n"):
        lines = new_line + lines
    return text[:at] + lines + text[at:]


def drop(text: str, path: tuple[str, ...]) -> str:
    """Return the text without the table at a path, which must have a header, and without its subtables."""
    spans = [span for span in _tables(text) if span[0][: len(path)] == path]
    if not spans:
        raise ValueError(f"there is no table {'.'.join(path)}")
    for _, start, end in reversed(spans):
        text = re.sub(r"(\A|(?<=\n))[ \t]*\r?\n\Z", "", text[:start]) + text[end:]  # With the blank line before
    return text


def _without(text: str, path: tuple[str, ...], name: str) -> str:
    """Return the text without a key of a table, written as a key or as a subtable."""
    for table, found in reversed(list(_placed(text))):
        if not found.is_header and table == path and found.path[:1] == (name,):
            text = text[: found.start] + text[found.end :]
    below = (*path, name)
    return drop(text, below) if any(span[0] == below for span in _tables(text)) else text


def _beginning(text: str, path: tuple[str, ...]) -> int | None:
    """Return the position for a table's first key, None if the table has no header."""
    if not path:
        ends = [found.end for table, found in _placed(text) if not table and not found.is_header]
        return max(ends, default=len(_MARK) if text.startswith(_MARK) else 0)
    return next((found.end for _, found in _placed(text) if found.is_header and found.path == path), None)


def _tables(text: str) -> list[tuple[tuple[str, ...], int, int]]:
    """Return each table with a header: its path, its start, and the end of its last statement."""
    tables: list[tuple[tuple[str, ...], int, int]] = []
    for table, found in _placed(text):
        if found.is_header:
            tables.append((table, found.start, found.end))
        elif tables:
            tables[-1] = (*tables[-1][:2], found.end)
    return tables


def _placed(text: str) -> Iterator[tuple[tuple[str, ...], _Statement]]:
    """Yield each statement with the path of its table. A header belongs to its own table."""
    table: tuple[str, ...] = ()
    for statement in _statements(text):
        if statement.is_header:
            table = statement.path
        yield table, statement


def _statements(text: str) -> Iterator[_Statement]:
    """Yield the statements of a text that `parse` accepts."""
    start, depth, content = len(_MARK) if text.startswith(_MARK) else 0, 0, ""
    for token in _TOKEN.finditer(text, start):
        depth += (token[0] in "[{") - (token[0] in "]}")
        if token[0] == "\n" and not depth:
            if content.strip():
                yield _statement(content, start, token.end())
            start, content = token.end(), ""
        elif not token[0].startswith("#"):
            content += token[0]
    if content.strip():
        yield _statement(content, start, len(text))


def _statement(content: str, start: int, end: int) -> _Statement:
    stripped = content.strip()
    is_header = stripped.startswith("[")
    # A quoted key may contain the equals sign.
    key = re.match(r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^=])*""", stripped)
    path, inner = [], tomllib.loads(stripped if is_header or not key else f"{key[0]} = 0")
    while isinstance(inner, dict) and inner:
        name, inner = next(iter(inner.items()))
        path.append(name)
    return _Statement(start, end, tuple(path), is_header)


def _at(content: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    for name in path:
        content = content.get(name, {})
        if not isinstance(content, dict):
            raise ValueError(f"{name} is not a table")  # noqa: TRY004 - as `parse` raises
    return content


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: object) -> str:
    if isinstance(value, dict):
        inside = ", ".join(f"{_key(name)} = {_value(each)}" for name, each in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    # JSON's strings, numbers and booleans are valid TOML, except for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
