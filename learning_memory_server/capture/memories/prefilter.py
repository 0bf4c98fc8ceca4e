"""Which chunks of a long text are worth ranking lexically: ranking all of them would take seconds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from learning_memory_server.index.ranking.terms import terms

if TYPE_CHECKING:
    from learning_memory_server.index.chunking.structure import Span

_FEW: Final = 64
"""Up to this many chunks, all are ranked."""
_MOST: Final = 4_000
"""The most chunks that are ranked, in a fifth of a second."""
_STEM: Final = 3
"""From this length on, the last character of a term may come from the stemmer, not the text."""


def needles(query: str) -> list[str]:
    """Return strings such that any text sharing a term with the query contains one, but for a few irregular forms."""
    return sorted({term[:-1] if len(term) >= _STEM else term for term in terms(query)})


def touched(text: str, spans: Sequence[Span], wanted: Sequence[str]) -> Collection[int]:
    """Return the numbers of the chunks that may share terms with a query; if there are many, those with the most.

    The first chunk is always among them, because its header has the title. So are chunks that are not ASCII, because
    their terms can be spelled in several ways. `wanted` are the query's `needles`.
    """
    if len(spans) <= _FEW:
        return range(len(spans))
    hits: dict[int, int] = {0: 0}
    for number, (start, end) in enumerate(spans):
        chunk = text[start:end]
        lowered = chunk.lower()
        count = sum(needle in lowered for needle in wanted)
        if count or not chunk.isascii():
            hits[number] = count
    if len(hits) <= _MOST:
        return hits.keys()
    return set(sorted(hits, key=lambda number: (-hits[number], number))[:_MOST])
