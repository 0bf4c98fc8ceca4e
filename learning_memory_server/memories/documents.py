"""A memory as documents, one for each chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.indexing.document import Collection, DocumentShape, point_id
from learning_memory_server.journal.codec import lean
from learning_memory_server.memories.cutting import CUT_VERSION
from learning_memory_server.memories.structure import Outline

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from learning_memory_server.domain.memory import Memory
    from learning_memory_server.indexing.document import Document
    from learning_memory_server.memories.cutting import Cutter
    from learning_memory_server.memories.structure import Span

SHAPES: Final = {
    Collection.MEMORIES: DocumentShape(
        ("tags", "source", "project", "memory_id"), ("created_at",), form=f"cut {CUT_VERSION}"
    )
}
"""`created_at` is the memory's date."""

_HEADINGS: Final = 3
"""How many of the headings above a chunk stand in its header, the innermost."""


class Chunk:
    """The document of a chunk, which knows its place only: what is pending of a text of megabytes stays small.

    Args:
        whole: The memory's text.
        header: The line that is put before the chunk.
        about: The data that all chunks of the memory share.
        number: Which chunk it is, from 0.
        span: Where it is in the text.
    """

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
        """What to find it by."""
        start, end = self._span
        return _with_header(self._header, self._whole[start:end])

    @property
    def payload(self) -> dict[str, Any]:
        """The data to give back. It has no text: the place is enough to find that in the journal."""
        start, end = self._span
        return self._about | {"chunk_index": self._number, "start": start, "end": end}


def documents_of(memory: Memory, cutter: Cutter) -> Iterator[Document]:
    """Yield the documents of a memory that was cut."""
    about = lean(
        {
            "memory_id": memory.id,
            "tags": memory.tags,
            "source": memory.source,
            "project": memory.project,
            "created_at": memory.date.isoformat(),
        }
    )
    for number, span, header in _headed(memory, cutter):
        yield Chunk(memory.text, header, about, number, span)


def chunk_texts(
    memory: Memory, cutter: Cutter, only: Container[int] | None = None
) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, text to embed) of each chunk of a memory that was cut, or only of those with some numbers."""
    for _, (start, end), header in _headed(memory, cutter, only):
        yield start, end, _with_header(header, memory.text[start:end])


def point_ids(memory_id: str, chunks: int) -> Iterable[str]:
    """Yield the ids of a memory's points."""
    return (point_id("memory", f"{memory_id}:{index}") for index in range(chunks))


def _with_header(header: str, chunk: str) -> str:
    return f"{header}\n{chunk}" if header else chunk


def _headed(
    memory: Memory, cutter: Cutter, only: Container[int] | None = None
) -> Iterator[tuple[int, Span, str]]:
    """Yield the number, the place and the header of each chunk, or of some.

    What is embedded begins with a line that says what a person sees around a chunk: the date, the source and the title
    that were given, and the headings above it. That line raised recall@10 from 28.8 to 49.7 % in long conversations.
    """
    outline = Outline.of(memory.text)
    # The day on which something was stored tells nothing of it.
    date = f"{memory.date:%Y-%m-%d}" if memory.is_dated else None
    about = [part for part in (date, memory.source, memory.title) if part]
    spans = memory.cuts.spans if memory.cuts else ()
    whole = memory.text if len(spans) == 1 else ""
    headers: dict[tuple[str, ...], str] = {}
    for number, span in enumerate(spans):
        if only is not None and number not in only:
            continue
        path = outline.path_at(span[0])[-_HEADINGS:]
        if path not in headers:
            headers[path] = cutter.header([*about, *path], beside=whole)
        yield number, span, headers[path]
