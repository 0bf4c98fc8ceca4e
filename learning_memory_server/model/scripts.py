"""Words in any script."""

import re
import unicodedata
from typing import Final

MARKS: Final = "".join(c for c in map(chr, range(0x300, 0x1D00)) if unicodedata.category(c).startswith("M"))
"""Vowel signs and the like, which `\\w` lacks: without them, a word of Hindi or Thai would end at each."""
UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese and Khmer, without spaces
_IN_WORD: Final = rf"\w{MARKS}\u200c\u200d"
_WORD: Final = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff]"
    rf"|(?:(?=\w)[{UNSPACED}][{MARKS}]*){{1,4}}"
    rf"|\w(?:[{_IN_WORD}'\u2019-]*[{_IN_WORD}])?"
)


def words(text: str) -> list[str]:
    """Return the case-folded words of a text; a Chinese or Japanese character and four letters of Thai are one."""
    return _WORD.findall(text.casefold())
