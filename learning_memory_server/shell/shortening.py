"""Shorten long shell scripts before parsing, so that commands after a long message are parsed, too.

The middle of long heredocs and quoted texts is left out. If this is not enough, the middle of the script is left out.
"""

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Final

LONG_MAX: Final = 64_000
"""Maximum characters of a script that are examined."""
_PART_MAX: Final = 2_000
"""Maximum characters of a heredoc or a quoted text in a long script."""
_TOKEN: Final = re.compile(
    r"\\.|'[^']*'|"
    r'"(?:[^"\\$`]|\\.|\$(?!\())*+(?P<open>\$\((?=\s{0,9}cat\s{0,9}<<)|")|'
    r"(?<!<)<<-?[ \t]{0,9}['\"\\]?(?P<name>[A-Za-z_]\w{0,63})|(?P<line>\n+)|(?<!\S)#[^\n]*",
    re.DOTALL,
)
_NAME: Final = re.compile(r"^\t*([A-Za-z_]\w{0,63})[ \t]*$", re.MULTILINE)
_CLOSED: Final = re.compile(r'\s*\)(?:[^"\\]|\\.)*"', re.DOTALL)
_MOVES: Final = re.compile(r"\b(?:cd|pushd|popd)\b")
_LOST: Final = "cd '/?'\n"
"""Makes the folder unknown: the omitted part may have changed it."""


@dataclass(slots=True)
class _Shortener:
    """Copies a script without the middles of its long parts."""

    text: str
    parts: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)  # of lines outside of quotes, in the copy
    length: int = 0
    names: dict[str, list[int]] = field(default_factory=dict)  # the positions of lines that may end a heredoc, by name

    def copy(self) -> str:
        """Return the copy."""
        for line in _NAME.finditer(self.text):
            self.names.setdefault(line[1], []).append(line.start(1))
        at = 0
        heredocs: list[tuple[str, bool]] = []  # each with whether it is inside a quoted `$(cat`
        is_open = False
        while token := _TOKEN.search(self.text, at):
            self._add(self.text[at : token.start()])
            self._add(_without_middle(token[0]))
            at = token.end()
            if token["name"]:
                heredocs.append((token["name"], is_open))
                is_open = False
            elif token["open"] and token["open"] != '"':
                is_open = True
            elif token["line"]:
                for name, is_within in heredocs:
                    at = self._body(at, name, is_within=is_within)
                heredocs = []
                self.ends.append(self.length)
        self._add(self.text[at:])
        return "".join(self.parts)

    def _body(self, at: int, name: str, *, is_within: bool) -> int:
        """Copy the body of a heredoc, and return the position of its end."""
        known = self.names.get(name, [])
        place = bisect_left(known, at)
        if place == len(known):
            return at
        end = known[place]
        self._add(_without_middle(self.text[at:end]))
        closed = _CLOSED.match(self.text, end + len(name)) if is_within else None
        last = closed.end() if closed else end + len(name)
        self._add(self.text[end:last])
        return last

    def _add(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)


def shortened(text: str, most: int) -> str:
    """Return a script of at most one and a half times `most` characters, with its beginning and end."""
    if len(text) <= most:
        return text
    shortener = _Shortener(text[:LONG_MAX])
    copy = shortener.copy()
    if len(copy) <= most:
        return copy
    start = next((each for each in shortener.ends if each >= len(copy) - most // 2), None)
    end = next((each for each in reversed(shortener.ends) if each <= most), None)
    if len(text) > LONG_MAX or start is None or end is None or start <= end:
        return copy[:most]
    lost = _LOST if _MOVES.search(copy, end, start) else ""
    return f"{copy[:end]}{lost}{copy[start:]}"


def _without_middle(text: str) -> str:
    """Return a long text without its middle, cut at spaces and not within an escape."""
    half = _PART_MAX // 2
    first, last = text.rfind(" ", 0, half), text.find(" ", len(text) - half)
    if len(text) <= _PART_MAX or first < 0 or last < 0 or "\\" in (text[first - 1], text[last - 1]):
        return text
    return text[:first] + text[last:]
