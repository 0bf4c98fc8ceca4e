"""Invisible characters: they turn the direction of a text, hide words in it, or cut a search."""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

_SELECTORS: Final = r"\ufe00-\ufe0f\U000e0100-\U000e01ef"
_TAGS: Final = r"\U000e0020-\U000e007e"
_HIDING: Final = (
    r"\x80-\x9f\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    r"\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
"""With the soft hyphen and the selectors, all of Default_Ignorable_Code_Point: they turn a text, or are not drawn.

The first are controls of terminals, which JSON does not escape.
"""

INVISIBLE: Final = rf"[\u00ad{_HIDING}{_SELECTORS}]"  # All of them, with the soft hyphen and selectors of variants

_JOINED: Final = r"\u0600-\u07ff\u0860-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc"
"""Arabic, Syriac, N'Ko, the scripts of India and Sri Lanka, Burmese, Khmer, Mongolian: spelling needs (non-)joiners."""
_VIRAMAS: Final = r"\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca"
_UNSPACED: Final = r"\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff"  # Scripts without spaces, but with zero-width spaces
_EMOJI: Final = r"\u2190-\u2bff\U0001f000-\U0001faff"
_VARIED: Final = (
    rf"{_EMOJI}#*0-9\u00a9\u00ae\u1000-\u109f\u203c\u2049\u2122\u2139\u3030\u303d\u3297\u3299"
    r"\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Signs and characters that have variants to select: emoji, Burmese, Chinese."""

_FOUND: Final = re.compile(
    rf"(?<=[{_JOINED}])[\u200c\u200d](?=[{_JOINED}])"
    rf"|(?<=[{_VIRAMAS}])[\u200c\u200d]"
    rf"|(?<=[{_UNSPACED}])\u200b(?=[{_UNSPACED}])"
    rf"|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"
    r"|(?<=[\u1820-\u18aa])[\u180b-\u180d\u180f]"
    r"|(?<=[\u1100-\u115e\u1161-\u11ff])[\u115f\u1160]|\u115f(?=[\u1161-\u11a7])"
    rf"|\U0001f3f4[{_TAGS}]{{2,7}}\U000e007f"  # the flag of a part of a country
    rf"|(?P<hidden>[{_HIDING}]|(?<=[{_SELECTORS}])[{_SELECTORS}])"
)


def _named(character: str) -> str:
    return f"[U+{ord(character):04X}]"


def shown(text: str, name: Callable[[str], str] = _named) -> str:
    """Return a text with a name such as `[U+202E]` in place of each character that would hide something.

    These stay: joiners in scripts and emoji that need them, spaces without a width in scripts without spaces, tags in a
    flag, a filler in Korean, and one selector of a variant.
    """
    if text.isascii():
        return text
    return _FOUND.sub(lambda found: name(found[0]) if found["hidden"] else found[0], text)


_NEEDLESS: Final = re.compile(rf"\u00ad|(?<![{_VARIED}])[{_SELECTORS}]")


def hides(text: str) -> bool:
    """Return whether a text has an invisible character that its script does not need: soft hyphens are none, either."""
    return shown(text) != text or _NEEDLESS.search(text) is not None


_IGNORABLE: Final = re.compile(INVISIBLE)


def bare(text: str) -> str:
    """Return a text without invisible characters and without the marks of its letters, in its simplest form."""
    apart = unicodedata.normalize("NFKD", _IGNORABLE.sub("", text))
    return unicodedata.normalize("NFKC", "".join(each for each in apart if unicodedata.category(each) != "Mn"))
