"""A memory as documents, one for each chunk."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from learning_memory_server.index.chunking.chunking import CHUNKING_VERSION, Outline
from learning_memory_server.index.document import Collection, DocumentShape, point_id
from learning_memory_server.journal.codec import lean

if TYPE_CHECKING:
    from learning_memory_server.index.chunking.chunking import Chunker, Span
    from learning_memory_server.index.document import Document
    from learning_memory_server.model.memory import Memory

SHAPES: Final = {
    Collection.MEMORIES: DocumentShape(
        ("tags", "source", "project", "memory_id"), ("created_at",), form=f"cut {CHUNKING_VERSION}"
    )
}
"""`created_at` is the memory's date."""

_HEADINGS: Final = 3
"""How many of the headings above a chunk its header has: the innermost ones."""


class ChunkText(NamedTuple):
    """A chunk, with the text that is embedded and searched for it."""

    number: int  # which chunk of its memory it is, from 0
    start: int  # its first character in the memory's text
    end: int  # the one after its last
    text: str  # its header, then the chunk itself


class Chunk:
    """The document of a chunk. It stores only a span, so that pending chunks of a long text take little RAM."""

    __slots__ = ("_about", "_header", "_number", "_span", "_whole", "point_id")

    collection: Final = Collection.MEMORIES
    parts: Final = ()

    def __init__(self, whole: str, header: str, about: dict[str, Any], number: int, span: Span) -> None:
        self._whole = whole
        self._header = header
        self._about = about
        self._number = number
        self._span = span
        self.point_id = point_id("memory", f"{about['memory_id']}:{number}")

    @property
    def text(self) -> str:
        """The text that is embedded and searched."""
        start, end = self._span
        return _with_header(self._header, self._whole[start:end])

    @property
    def payload(self) -> dict[str, Any]:
        """The point's payload. It has no text: the span suffices to find that in the journal."""
        start, end = self._span
        return self._about | {"chunk_index": self._number, "start": start, "end": end}


def documents_of(memory: Memory, chunker: Chunker) -> Iterator[Document]:
    """Yield the documents of a memory that has been chunked."""
    about = lean(
        {
            "memory_id": memory.id,
            "tags": memory.tags,
            "source": memory.source,
            "project": memory.project,
            "created_at": memory.date.isoformat(),
        }
    )
    for number, span, header in _headed(memory, chunker):
        yield Chunk(memory.text, header, about, number, span)


def chunk_texts(memory: Memory, chunker: Chunker, only: Container[int] | None = None) -> Iterator[ChunkText]:
    """Yield the chunks of a memory that has been chunked, or only those with the given numbers."""
    for number, (start, end), header in _headed(memory, chunker, only):
        yield ChunkText(number, start, end, _with_header(header, memory.text[start:end]))


def point_ids(memory_id: str, chunks: int) -> Iterable[str]:
    """Yield the ids of a memory's points."""
    return (point_id("memory", f"{memory_id}:{index}") for index in range(chunks))


def _with_header(header: str, chunk: str) -> str:
    return f"{header}\n{chunk}" if header else chunk


def _headed(
    memory: Memory, chunker: Chunker, only: Container[int] | None = None
) -> Iterator[tuple[int, Span, str]]:
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
