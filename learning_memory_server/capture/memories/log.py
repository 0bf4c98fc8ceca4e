"""The memories in the journal, and their chunks."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.index.memory_documents import documents_of, point_ids
from learning_memory_server.index.ranking.terms import terms
from learning_memory_server.journal.codec import MEMORY
from learning_memory_server.journal.records import Forgetting, Records
from learning_memory_server.model.memory import Chunking, Memory

if TYPE_CHECKING:
    from learning_memory_server.index.chunking.chunking import Chunker, Span
    from learning_memory_server.index.document import Document
    from learning_memory_server.index.engines.base import Payload
    from learning_memory_server.index.memory_documents import Chunk
    from learning_memory_server.journal.log import Log


class MemoryLog(Records[Memory]):
    """The memories in the journal, and their chunks."""

    def __init__(self, log: Log, chunker: Callable[[], Chunker]) -> None:
        super().__init__(log, MEMORY)
        self._chunker = chunker

    def find_same(self, text: str, metadata: Mapping[str, Any], project: str) -> Memory | None:
        """Return the newest memory of a project that has the same text and metadata, or None."""
        alike = (each for each in reversed(self.all()) if each.text == text and each.project == project)
        wanted = _canonical(metadata)
        return next((each for each in alike if _canonical(each.metadata) == wanted), None)

    def chunk(self, text: str, should_stop: Callable[[int], bool] = lambda _: False) -> Chunking:
        """Divide a text into chunks. May take seconds; safe in any thread. See `Chunker.chunk`."""
        return self._chunker().chunk(text, should_stop)

    def points_of(self, forgetting: Forgetting[Memory]) -> list[str]:
        """Return the point ids of what was forgotten, now or earlier."""
        gone = [*(memory.id for memory in forgetting.found), *forgetting.before]
        return [point for name in gone for point in self._forgotten_points(name)]

    def chunks_of(self, memory: Memory) -> int:
        """Return the number of a memory's chunks."""
        return len(self._chunking_of(memory).spans)

    def documents_of(self, memory: Memory, only: Container[int] | None = None) -> Iterator[Chunk]:
        """Yield the documents of a memory, or only those of the chunks with the given numbers."""
        return documents_of(self._with_chunking(memory), self._chunker(), only)

    def candidate_chunks(self, memory: Memory, wanted: Sequence[str]) -> Iterator[Chunk]:
        """Yield the chunks of a memory that may have some of the `needles`."""
        return self.documents_of(memory, touched(memory.text, self._chunking_of(memory).spans, wanted))

    @property
    def form(self) -> str:
        """How texts are divided."""
        return self._chunker().name

    def documents(self, only: Container[str] | None = None) -> Iterator[Document]:
        """Yield the memories' documents for the index."""
        for memory in self.all():
            if only is None or memory.id in only:
                yield from self.documents_of(memory)

    def forgotten(self, only: Container[str] | None = None) -> Iterator[str]:
        """Yield the point ids of the memories that are forgotten."""
        for memory_id in self.forgotten_ids():
            if only is None or memory_id in only:
                yield from self._forgotten_points(memory_id)

    def knows(self, payload: Payload) -> bool:
        """Return whether a point is of a memory that is in the journal, or forgotten."""
        return self.has_had(str(payload.get("memory_id")))

    def _forgotten_points(self, memory_id: str) -> Iterable[str]:
        return point_ids(memory_id, int(self._tombstones[memory_id].get("chunks", 0)))

    def _tombstone_details(self, memory: Memory | None) -> dict[str, Any]:
        # Once its text is purged, nothing else records how many points it had.
        return {"chunks": self.chunks_of(memory) if memory else 0}

    def _with_chunking(self, memory: Memory) -> Memory:
        """Return the memory with its chunks for the current model, which may not be the one it was added with."""
        if memory.chunking is None or memory.chunking.by != self._chunker().name:
            memory = replace(memory, chunking=self.chunk(memory.text))
            self.hold(memory)
        return memory

    def _chunking_of(self, memory: Memory) -> Chunking:
        chunking = self._with_chunking(memory).chunking
        assert chunking is not None  # noqa: S101 - set just above
        return chunking


def _canonical(metadata: Mapping[str, Any]) -> str:
    # To Python, 1, 1.0 and True are equal; as JSON they differ.
    return json.dumps(metadata, sort_keys=True)


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
