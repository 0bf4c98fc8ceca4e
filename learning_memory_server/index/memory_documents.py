"""A memory as documents, one for each chunk."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from learning_memory_server.index.chunking.chunking import CHUNKING_VERSION, Chunker, Outline, Span
from learning_memory_server.index.document import Collection, DocumentShape, point_id
from learning_memory_server.journal.codec import lean
from learning_memory_server.model.memory import Memory

SHAPES: Final = {
    Collection.MEMORIES: DocumentShape(
        ("tags", "source", "project", "memory_id"), ("created_at",), form=f"cut {CHUNKING_VERSION}"
    )
}
"""`created_at` is the memory's date."""

_HEADINGS: Final = 3
"""How many of the headings above a chunk its header has: the innermost ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """The document of a chunk. It stores only a span, so that pending chunks of a long text take little RAM."""

    whole: str  # the memory's text
    header: str  # the line before the chunk
    about: dict[str, Any]  # the payload that all chunks of the memory share
    number: int  # which chunk of its memory it is, from 0
    start: int  # its first character in the memory's text
    end: int  # the one after its last
    collection: ClassVar = Collection.MEMORIES
    parts: ClassVar = ()

    @property
    def point_id(self) -> str:
        """The point's id."""
        return point_id("memory", f"{self.about['memory_id']}:{self.number}")

    @property
    def text(self) -> str:
        """The text that is embedded and searched: the header, then the chunk itself."""
        chunk = self.whole[self.start : self.end]
        return f"{self.header}\n{chunk}" if self.header else chunk

    @property
    def payload(self) -> dict[str, Any]:
        """The point's payload. It has no text: the span suffices to find that in the journal."""
        return self.about | {"chunk_index": self.number, "start": self.start, "end": self.end}


def documents_of(memory: Memory, chunker: Chunker, only: Container[int] | None = None) -> Iterator[Chunk]:
    """Yield the documents of a memory that has been chunked, or only those with the given numbers."""
    about = lean(
        {
            "memory_id": memory.id,
            "tags": memory.tags,
            "source": memory.source,
            "project": memory.project,
            "created_at": memory.date.isoformat(),
        }
    )
    for number, span, header in _headed(memory, chunker, only):
        yield Chunk(memory.text, header, about, number, *span)


def point_ids(memory_id: str, chunks: int) -> Iterable[str]:
    """Yield the ids of a memory's points."""
    return (point_id("memory", f"{memory_id}:{index}") for index in range(chunks))


def _headed(memory: Memory, chunker: Chunker, only: Container[int] | None) -> Iterator[tuple[int, Span, str]]:
    """Yield the number, span and header of each chunk, or of some.

    The header says what a reader sees around a chunk: the given date, source and title, and the headings above it. It
    raised recall@10 from 28.8 to 49.7 % in long conversations.
    """
    outline = Outline.of(memory.text)
    # The day on which a text was stored says nothing about it.
    date = f"{memory.date:%Y-%m-%d}" if memory.is_dated else None
    about = [part for part in (date, memory.source, memory.title) if part]
    spans = memory.chunking.spans if memory.chunking else ()
    whole = memory.text if len(spans) == 1 else ""
    headers: dict[tuple[str, ...], str] = {}
    for number, span in enumerate(spans):
        if only is not None and number not in only:
            continue
        path = outline.path_at(span[0])[-_HEADINGS:]
        if path not in headers:
            headers[path] = chunker.header([*about, *path], body=whole)
        yield number, span, headers[path]
