"""Cluster labels: the terms that distinguish one cluster's texts from the rest.

Class-based TF-IDF after Grootendorst, "BERTopic", 2022, with texts in place of occurrences: the share of the cluster's
texts with a term, times log(1 + mean texts per cluster / all texts with it).
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

_TERMS: Final = 3
_LEAST_TEXTS: Final = 2  # A term found in one text only names that text, not the cluster
_PAIR_BONUS: Final = 1.3  # Two adjacent words say more than either alone

_WORD = re.compile(r"[^\W\d](?:[\w'\u2019]|[-./:]{1,2}(?=\w))*")  # A word or identifier: `read_file`, `utf-8`

_LINE_END = re.compile(r"[\n\r\v\f\x85\u2028\u2029]")

_STOP_WORDS: Final = frozenset(
    """
    a about above after again against all already also although always am an and another any anything are
    aren't around as at away back be became because become been before being below between both but by came can
    can't cannot could couldn't did didn't do does doesn't doing don't done down due during each either else
    enough even ever every everything few first for from further get gets getting give given go goes going got
    had has hasn't have haven't having he hence her here hers him his how however i i'd i'll i'm i've if in
    instead into is isn't it it's its itself just keep kept last least less let like made make makes making many
    may maybe me might more most much must my need needed needs neither never new next no none nor not nothing
    now of off often ok on once one only onto or other others our out over own per perhaps please put quite
    rather really same say see seem seems seen several shall she should shouldn't since so some something still
    such take than that that's the their them then there there's these they thing things this those though
    three through thus to together too took toward try trying turned two under until up upon us use used uses
    using very via want wants was wasn't way we well went were weren't what what's when where whether which while
    who whole whom whose why will with within without won't work worked working works would wouldn't yet you
    you're your
    """.split()
)
_RECORD_WORDS: Final = frozenset(
    """
    abandoned action add added adding category cause caused confirmed description domain ensure expected
    explicit falsified fix fixed fixes fixing goal hypothesis implement implemented including issue iteration
    iterations lesson outcome prediction problem proper properly result root root-cause strategy successful
    successfully surprise surprised takeaway unexpected
    """.split()
)
"""Headings and statuses of a GHAP entry, and words that nearly every entry contains."""


def label_clusters(clusters: Sequence[Sequence[str]], *, background: Sequence[str] = ()) -> list[str]:
    """Label each cluster with its most distinctive terms; terms of the `background` are less distinctive."""
    counts = [_texts_with_term(texts) for texts in clusters]
    everywhere = _texts_with_term(background)
    for count in counts:
        everywhere.update(count)
    mean_texts = sum(map(len, clusters)) / max(1, len(clusters))
    names = []
    for texts, count in zip(clusters, counts, strict=True):
        shared = {term: n for term, n in count.items() if n >= _LEAST_TEXTS} or count
        score = {
            term: n / len(texts) * math.log(1 + mean_texts / everywhere[term]) * (_PAIR_BONUS if " " in term else 1)
            for term, n in shared.items()
        }
        ranked = sorted(score, key=lambda term: (-score[term], term))
        spelling = _spelling(texts)
        chosen = islice(_without_repeats(ranked), _TERMS)
        names.append(", ".join(" ".join(spelling[word] for word in term.split(" ")) for term in chosen))
    return names


def _without_repeats(ranked: Sequence[str]) -> Iterator[str]:
    """Yield the terms without repeating a word: no `token` after `token refresh`, or the other way round."""
    taken: set[str] = set()
    for term in ranked:
        stems = {_stem(word) for word in term.split(" ")}
        if not stems & taken:
            taken |= stems
            yield term


def _stem(word: str) -> str:
    """Strip the endings that distinguish `leak`, `leaks` and `leaking`; for comparison only, never shown."""
    return re.sub(r"(?<=\w{3})(?:ings?|ed|es|s|e|y|ies)$", "", word)


def _texts_with_term(texts: Sequence[str]) -> Counter[str]:
    return Counter(term for text in texts for term in set(_terms(text)))


def _terms(text: str) -> Iterator[str]:
    """Yield words and pairs of adjacent words; a stop word, punctuation or the end of a line breaks a pair."""
    before, end = None, -1
    for match in _WORD.finditer(text):
        word = _folded(match.group())
        if len(word) < 2 or word in _STOP_WORDS or word in _RECORD_WORDS:
            before = None
            continue
        yield word
        between = text[end : match.start()]
        if before is not None and before != word and between.isspace() and not _LINE_END.search(between):
            yield f"{before} {word}"
        before, end = word, match.end()


def _folded(word: str) -> str:
    return word.casefold().replace("\u2019", "'")


def _spelling(texts: Sequence[str]) -> dict[str, str]:
    """Return the most frequent spelling of each word, so that `TypeError` and `OAuth` keep their capitals."""
    forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    # Words are counted first, because most repeat and inspecting their letters takes longer than counting.
    for word, count in Counter(word for text in texts for word in _WORD.findall(text)).items():
        shown = word if any(letter.isupper() for letter in word[1:]) or "_" in word else word.lower()
        forms[_folded(word)][shown] += count
    return {word: min(shown, key=lambda form: (-shown[form], form)) for word, shown in forms.items()}
