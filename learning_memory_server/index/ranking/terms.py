"""Split a text into terms, the vocabulary of all lexical searches.

A plain word becomes its stem (Snowball: Russian for Cyrillic, otherwise English), without diacritics in Latin, Greek,
Hebrew and Arabic. A name in code, a path, a version or a code such as `ORA-00942` becomes its parts and itself. If you
change terms or weights, increase `Recipe.terms`.
"""

import functools
import re
import unicodedata
import zlib
from collections import Counter
from itertools import chain
from typing import Final

import Stemmer

from learning_memory_server.model.scripts import MARKS, UNSPACED

K1: Final = 1.2
B: Final = 0.75
MEAN_LENGTH: Final = 32  # The terms in an average text: constant, so that weights do not depend on other texts
MOST_REPEATS: Final = 2  # Maximum counted repetitions of a term

_STOP_WORDS: Final = frozenset(
    """
    a an and are as at be been but by can could did didn do does doesn don for from had has have he her
    his how i if in into is isn it its me my no not of on or our she should so some than that the their
    them then there these they this to us was wasn we were what when where which who whom whose why will
    with would you your
    """.split()
)
_PIECE: Final = rf"\w[\w{MARKS}]{{0,63}}"
_RUN: Final = re.compile(rf"({_PIECE}(?:(?:[./\\-]|::){_PIECE}){{0,16}})(?:['\u2019](?:d|ll|m|re|s|t|ve)\b)?")
"""A word, or several that form a path, a version or a code, without endings such as "'s"."""
_WORD: Final = re.compile(_PIECE)
_PART: Final = re.compile(rf"\d+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|(?:[^\W\d_A-Za-z]|[{MARKS}])+")
_POINTS: Final = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670"  # Hebrew and Arabic points
# The Russian short i keeps its breve, which the stemmer needs.
_ACCENT: Final = re.compile(rf"[\u0300-\u0305\u0307-\u036f{_POINTS}]|(?<![\u0418\u0438])\u0306")
_NAME_OF_LETTER: Final = re.compile(
    r"LATIN (?:SMALL|CAPITAL) (?:LETTER|LIGATURE) (?:DOTLESS |TURNED |REVERSED |OPEN |AFRICAN )?([A-Z]{1,2})(?: WITH [A-Z ]+)?"
)
_OTHER_LETTERS: Final = {"ETH": "d", "ENG": "n", "THORN": "th", "SCHWA": "e", "EZH": "z", "GAMMA": "g", "KRA": "q"}
_LATIN: Final = (range(0xC0, 0x2B0), range(0x1D00, 0x1F00), range(0x2C60, 0x2C80), range(0xA720, 0xA800))


def _plain_letters() -> dict[int, str]:
    """Return plain replacements in lower case, by code point, for Latin letters that Unicode does not decompose."""
    plain: dict[int, str] = {}
    for code in chain.from_iterable(_LATIN):
        name = unicodedata.name(chr(code), "")
        found = _NAME_OF_LETTER.fullmatch(name)
        letters = (
            found[1].lower() if found else _OTHER_LETTERS.get(name.partition(" LETTER ")[2].partition(" WITH ")[0])
        )
        if letters and not unicodedata.decomposition(chr(code)) and code != _SHARP_S:
            plain[code] = letters
    return plain


_SHARP_S: Final = 0x1E9E  # The capital sharp s; case folding turns both forms into two letters
_PLAIN: Final = _plain_letters()
_ONE_LETTER: Final = {
    code: plain.upper() if chr(code).isupper() else plain for code, plain in _PLAIN.items() if len(plain) == 1
}
_TWO_LETTERS: Final = {code: plain for code, plain in _PLAIN.items() if len(plain) > 1}
"""Letters with two-letter replacements, such as ligatures. Applied later: in capitals, they would look like code."""
_PAIRS: Final = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_WESTERN: Final = "\0-\u03ff\u1e00-\u1fff"  # Latin and Greek together: "10\u03bcs" is one name
_SCRIPT: Final = re.compile(f"([{_PAIRS}]+)|([{UNSPACED}]+)|([{_WESTERN}]+|[^{_PAIRS}{UNSPACED}{_WESTERN}]+)")
"""The parts of a word. In scripts without spaces, neighbors form terms: two syllables, or three letters."""
_TRIPLE: Final = re.compile(f"[{UNSPACED}]{{3}}")
_CACHED: Final = 1 << 14

# Without its own cache, whose eviction is not thread-safe.
_english = Stemmer.Stemmer("english", 0).stemWord
_russian = Stemmer.Stemmer("russian", 0).stemWord


def terms(text: str) -> list[str]:
    """Return the terms of a text in order, without the most common English words unless there are no others."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text)
        text = unicodedata.normalize("NFC", _ACCENT.sub("", decomposed).translate(_ONE_LETTER))
    runs = _RUN.findall(text)
    found = list(chain.from_iterable(map(_terms_of_run, runs)))
    return found or [term for run in runs for term in _terms_of_run(run, common=True)]


def length(found: list[str]) -> float:
    """Return the length of a text, given its terms: a triple of letters counts as a third of a word."""
    triples = 0 if "".join(found).isascii() else sum(_TRIPLE.fullmatch(term) is not None for term in found)
    return len(found) - triples * 2 / 3


def weight(count: int, length: float) -> float:
    """Return the BM25 weight of a term without its rarity, for a constant mean length (Robertson and Zaragoza 2009)."""
    count = min(count, MOST_REPEATS)
    return count * (K1 + 1) / (count + K1 * (1 - B + B * length / MEAN_LENGTH))


def encode_document(text: str) -> tuple[list[int], list[float]]:
    """Return a text as a sparse vector: distinct term ids in ascending order, and their weights."""
    found = terms(text)
    size = length(found)
    counts = sorted(Counter(map(term_id, found)).items())
    return [number for number, _ in counts], [weight(count, size) for _, count in counts]


def encode_query(text: str) -> tuple[list[int], list[float]]:
    """Return a query as a sparse vector: distinct term ids in ascending order, each with weight 1."""
    indices = sorted({term_id(term) for term in terms(text)})
    return indices, [1.0] * len(indices)


def shared_terms(query: str, text: str) -> list[str]:
    """Return the terms of a query that a text shares, in the query's order, without duplicates."""
    found = set(terms(text))
    return [term for term in dict.fromkeys(terms(query)) if term in found]


def term_id(term: str) -> int:
    """Return the id of a term: a number below 2**32, the same on every machine."""
    return zlib.crc32(term.encode())


@functools.lru_cache(_CACHED)
def _terms_of_run(run: str, *, common: bool = False) -> tuple[str, ...]:
    """Return the terms of a run, with the most common words only if `common`."""
    words = _WORD.findall(run)
    found = [term for word in words for term in _terms_of_word(word, common=common)]
    if len(words) > 1:
        found.append(_folded(run))
    return tuple(found)


def _terms_of_word(word: str, *, common: bool) -> list[str]:
    found: list[str] = []
    pieces = [("", "", word)] if word.isascii() else _SCRIPT.findall(word)
    for pairs, triples, spaced in pieces:
        if unspaced := pairs or triples:
            size = 2 if pairs else 3
            found += [unspaced[start : start + size] for start in range(max(1, len(unspaced) - size + 1))]
            continue
        stem = _russian if "\u0400" <= spaced[0] <= "\u052f" else _english
        is_plain = spaced.isalpha() and (spaced[1:].islower() or spaced.isupper() or len(spaced) == 1)
        parts = [_folded(part) for part in ([spaced] if is_plain else _PART.findall(spaced))]
        found += [stem(part) for part in parts if common or part not in _STOP_WORDS]
        if len(parts) > 1:
            found.append("".join(parts))
    return found


def _folded(text: str) -> str:
    return text.casefold().translate(_TWO_LETTERS)
