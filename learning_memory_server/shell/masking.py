"""Characters that the parser of shell texts must not see: it looks each up in a table that does not have them.

tree-sitter-bash 0.25.1 asks C's `isalpha`, whose table has 256 places, about any character. One from beyond the basic
plane is read from so far behind the table that the process may crash.
"""

from typing import Final

_PLANE: Final = 0xFFFF
_PRIVATE: Final = range(0xE000, 0xF900)  # Characters that mean nothing
_UNKNOWN: Final = "?"


def mask(text: str) -> tuple[str, dict[int, str]]:
    """Return a text with other characters for those beyond the basic plane, and what puts them back."""
    if text.isascii():
        return text, {}
    used = set(map(ord, text))
    free = (each for each in _PRIVATE if each not in used)
    places = {each: next(free, ord(_UNKNOWN)) for each in sorted(used) if each > _PLANE}
    back = {place: chr(each) for each, place in places.items() if place != ord(_UNKNOWN)}
    return text.translate(places), back
