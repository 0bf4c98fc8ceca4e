"""Split texts in any script into words."""

import re
import unicodedata
from typing import Final

MARKS: Final = "".join(c for c in map(chr, range(0x300, 0x1D00)) if unicodedata.category(c).startswith("M"))
"""Combining marks such as vowel signs, which `\\w` lacks: without them, words in Hindi or Thai would be split."""
UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese and Khmer, without spaces
_IN_WORD: Final = rf"\w{MARKS}\u200c\u200d"
_WORD: Final = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff]"
    rf"|(?:(?=\w)[{UNSPACED}][{MARKS}]*){{1,4}}"
    rf"|\w(?:[{_IN_WORD}'\u2019-]*[{_IN_WORD}])?"
)


def words(text: str) -> list[str]:
    """Return the case-folded words of a text. One Chinese or Japanese character, or four letters of Thai, is a word."""
    return _WORD.findall(text.casefold())
