"""A text as its terms: the vocabulary of every lexical search.

A plain word becomes its stem (Snowball's English stemmer). A name in code becomes its words and itself, so that
`read_file`, `readFile` and "read the file" find each other, and the exact name still counts most. A path, a version
or a code such as `ORA-00942` becomes its parts and itself. Terms and weights are stored: if you change them, raise
`Recipe.terms` in `index.recipe`.
"""

from __future__ import annotations

import functools
import re
import unicodedata
import zlib
from collections import Counter
from itertools import chain
from typing import Final

import Stemmer

K1: Final = 1.2
B: Final = 0.75
MEAN_LENGTH: Final = 32
"""The number of terms in a text of average length. A constant, so that a text's weights depend on no other text."""
MOST_REPEATS: Final = 2
"""How often a repeated term counts at most. More repetitions add nothing to a hybrid search, and mislead in code.

For web queries to functions, nDCG@10 is 60.9 with this limit and 58.5 without.
"""

_STOP_WORDS: Final = frozenset(
    """
    a an and are as at be been but by can could did didn do does doesn don for from had has have he her
    his how i if in into is isn it its me my no not of on or our she should so some than that the their
    them then there these they this to us was wasn we were what when where which who whom whose why will
    with would you your
    """.split()  # noqa: SIM905 - a list literal would have one word a line
)
_RUN: Final = re.compile(r"(\w{1,64}(?:(?:[./\\-]|::)\w{1,64}){0,16})(?:['\u2019](?:d|ll|m|re|s|t|ve)\b)?")
"""A word, or several that form a path, a version or a code, without endings such as that of "it's".

Longer runs are divided, so that the cost of data embedded in a text stays linear in its size.
"""
_WORD: Final = re.compile(r"\w+")
_PART: Final = re.compile(r"\d+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
_ACCENT: Final = re.compile("[\u0300-\u036f]")
_UNSPACED: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Scripts without spaces between words: any two neighbouring characters are a term."""
_CACHED: Final = 1 << 14

# Without its own cache, whose purging is not thread-safe.
_stem = Stemmer.Stemmer("english", 0).stemWord


def terms(text: str) -> list[str]:
    """Return the terms of a text in order, repetitions included. Case and accents make no difference.

    The most common English words are skipped, unless the text has no others.
    """
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text)
        text = unicodedata.normalize("NFC", _ACCENT.sub("", decomposed))
    runs = _RUN.findall(text)
    found = list(chain.from_iterable(map(_significant_terms, runs)))
    return found or [term for run in runs for term in _terms_of_run(run, common=True)]


def weight(count: int, length: int) -> float:
    """Return the weight, without its rarity, of a term that occurs `count` times in a text of `length` terms.

    Okapi BM25 (Robertson and Zaragoza 2009) with a constant mean length and at most `MOST_REPEATS` repetitions.
    """
    count = min(count, MOST_REPEATS)
    return count * (K1 + 1) / (count + K1 * (1 - B + B * length / MEAN_LENGTH))


def encode_document(text: str) -> tuple[list[int], list[float]]:
    """Return a text as a sparse vector: distinct term ids in ascending order, and their weights.

    Its dot product with an encoded query is the BM25 score, once each term is multiplied by its rarity (Qdrant's `Idf`
    modifier).
    """
    found = [term_id(term) for term in terms(text)]
    counts = sorted(Counter(found).items())
    return [number for number, _ in counts], [weight(count, len(found)) for _, count in counts]


def encode_query(text: str) -> tuple[list[int], list[float]]:
    """Return a query as a sparse vector: distinct term ids in ascending order, each with weight 1."""
    indices = sorted({term_id(term) for term in terms(text)})
    return indices, [1.0] * len(indices)


def shared_terms(query: str, text: str) -> list[str]:
    """Return the terms of a query that a text also has, in the query's order, each once."""
    found = set(terms(text))
    return [term for term in dict.fromkeys(terms(query)) if term in found]


def term_id(term: str) -> int:
    """Return the id of a term: a number below 2**32, the same on every machine."""
    return zlib.crc32(term.encode())


@functools.lru_cache(_CACHED)
def _significant_terms(run: str) -> tuple[str, ...]:
    return tuple(_terms_of_run(run, common=False))


def _terms_of_run(run: str, *, common: bool) -> list[str]:
    """Return the terms of a run, including the most common words only if `common`."""
    words = _WORD.findall(run)
    found = [term for word in words for term in _terms_of_word(word, common=common)]
    if len(words) > 1:
        found.append(run.casefold())
    return found


def _terms_of_word(word: str, *, common: bool) -> list[str]:
    if _UNSPACED.search(word):
        return [word[start : start + 2] for start in range(max(1, len(word) - 1))]
    if word.isalpha() and (word[1:].islower() or word.isupper() or len(word) == 1):
        parts = [word.casefold()]
    else:
        parts = [part.casefold() for part in _PART.findall(word)]
    found = [_stem(part) for part in parts if common or part not in _STOP_WORDS]
    if len(parts) > 1:
        found.append("".join(parts))
    return found
