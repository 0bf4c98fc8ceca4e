"""Which chunks of a long text are worth ranking by their words: looking into all of them would take seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from learning_memory_server.embedding.terms import terms

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from learning_memory_server.memories.structure import Span

_FEW: Final = 64
"""So many chunks are all looked into."""
_MOST: Final = 4_000
"""So many are ranked at most, in a fifth of a second."""
_STEM: Final = 3
"""Characters of a term whose last one may be the stemmer's, not the text's."""


def needles(query: str) -> list[str]:
    """Return what a text that shares a term with the query has in it, but for a few irregular forms."""
    return sorted({term[:-1] if len(term) >= _STEM else term for term in terms(query)})


def touched(text: str, spans: Sequence[Span], wanted: Sequence[str]) -> Collection[int]:
    """Return the numbers of the chunks that may share terms with a query, those with the most if they are many.

    The first chunk is always one: its header has the title. So is what is not ASCII, which has other ways to be
    written.

    Args:
        text: The whole text.
        spans: Its chunks.
        wanted: The query's `needles`.
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
