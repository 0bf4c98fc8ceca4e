"""Characters to hide from the shell parser, because they may crash it.

tree-sitter-bash 0.25.1 calls C's `isalpha`, whose table has 256 entries, for any character. For a character beyond the
basic plane, it reads far beyond the end of the table, which may crash the process.
"""

from typing import Final

_PLANE: Final = 0xFFFF
_PRIVATE: Final = range(0xE000, 0xF900)  # Characters without a meaning
_UNKNOWN: Final = "?"


def mask(text: str) -> tuple[str, dict[int, str]]:
    """Replace the characters beyond the basic plane, and return the text and a table to restore them."""
    if text.isascii():
        return text, {}
    used = set(map(ord, text))
    free = (each for each in _PRIVATE if each not in used)
    places = {each: next(free, ord(_UNKNOWN)) for each in sorted(used) if each > _PLANE}
    back = {place: chr(each) for each, place in places.items() if place != ord(_UNKNOWN)}
    return text.translate(places), back
