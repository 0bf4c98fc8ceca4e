"""Lexical search directly over texts. It needs no index, so it is available immediately."""

import math
import re
from collections.abc import Sequence
from datetime import date
from typing import Final, TypeVar

from learning_memory_server.index.ranking.terms import length, terms, weight

T = TypeVar("T")


def rank(query: str, texts: Sequence[tuple[T, str]], limit: int) -> list[tuple[T, float]]:
    """Return up to `limit` keys whose texts share terms with the query, with their BM25 scores, best first.

    The scores are those of an index over the same texts: BM25 with the same terms and weights. Ties keep the order of
    `texts`. Takes about 0.4 s for 10,000 texts of 75 words.
    """
    wanted = set(terms(query))
    frequency = dict.fromkeys(wanted, 0)
    weights: list[tuple[T, dict[str, float]]] = []
    for key, text in texts:
        found = terms(text)
        shared = wanted.intersection(found)
        if not shared:
            continue
        for term in shared:
            frequency[term] += 1
        size = length(found)
        weights.append((key, {term: weight(found.count(term), size) for term in shared}))
    rarity = {term: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for term, n in frequency.items()}
    scored = []
    for key, counted in weights:
        # An exact sum, so that equal texts tie whatever order the set yields their terms in.
        scored.append((key, math.fsum(rarity[term] * value for term, value in counted.items())))
    return sorted(scored, key=lambda pair: -pair[1])[:limit]


_MONTHS: Final = (
    "january february march april may june july august september october november december".split()  # noqa: SIM905 - one line
)
_MONTHS_BY_NAME: Final = {month[:3]: number for number, month in enumerate(_MONTHS, start=1)}
_NAME: Final = rf"({'|'.join(month[:3] + (f'(?:{month[3:]})?' if month[3:] else '') for month in _MONTHS)}|sept)\.?"
_DAY: Final = r"(\d{1,2})(?:st|nd|rd|th)?"
_DAY_FIRST: Final = re.compile(rf"\b{_DAY}\s+(?:of\s+)?{_NAME}(?:,?\s+(\d{{4}}))?\b", re.IGNORECASE)
_MONTH_FIRST: Final = re.compile(rf"\b{_NAME}\s+{_DAY}(?:,?\s+(\d{{4}}))?\b", re.IGNORECASE)
_ANY_LEAP_YEAR: Final = 2000


def with_iso_dates(text: str) -> str:
    """Return a question followed by its dates in ISO.

    "25 May 2023", "May 25th, 2023" and the like are followed by 2023-05-25. A date without a year is
    followed by its month and day as numbers, such as 05 25. Words like "yesterday" have no date here.

    With it, 15 questions with a written date find 80 % of the turns of conversations that are dated in ISO among the
    first ten, and 60 % without; of those dated in words, 80 % either way.
    """
    written = [(found[3], found[2], found[1]) for found in _DAY_FIRST.finditer(text)]
    written += [(found[3], found[1], found[2]) for found in _MONTH_FIRST.finditer(text)]
    others = [_numbers(year, _MONTHS_BY_NAME[month[:3].casefold()], int(day)) for year, month, day in written]
    return " ".join([text, *dict.fromkeys(other for other in others if other)])


def _numbers(year: str | None, month: int, day: int) -> str | None:
    try:
        found = date(int(year or _ANY_LEAP_YEAR), month, day)
    except ValueError:
        return None
    return found.isoformat() if year else f"{found:%m %d}"
