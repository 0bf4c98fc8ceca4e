"""A memory as documents, one for each chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.indexing.document import Collection, Document, FilterFields, point_id
from learning_memory_server.journal.codec import lean
from learning_memory_server.memories.structure import Outline

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from learning_memory_server.domain.memory import Memory
    from learning_memory_server.memories.cutting import Cutter

FILTER_FIELDS: Final = {
    Collection.MEMORIES: FilterFields(("tags", "source", "project", "memory_id"), ("created_at",))
}
"""What searches for memories filter on. `created_at` is the memory's date."""

_HEADINGS: Final = 3
"""How many of the headings above a chunk stand in its header, the innermost."""


def documents_of(memory: Memory, cutter: Cutter) -> Iterator[Document]:
    """Yield the documents of a memory that was cut.

    The payload has no text: a memory's place in it is enough to find that in the journal.
    """
    payload = lean(
        {
            "memory_id": memory.id,
            "tags": memory.tags,
            "source": memory.source,
            "project": memory.project,
            "created_at": memory.date.isoformat(),
        }
    )
    for index, (start, end, text) in enumerate(chunk_texts(memory, cutter)):
        place: dict[str, Any] = {"chunk_index": index, "start": start, "end": end}
        yield Document(Collection.MEMORIES, point_id("memory", f"{memory.id}:{index}"), text, payload | place)


def chunk_texts(
    memory: Memory, cutter: Cutter, only: Container[int] | None = None
) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, text to embed) of each chunk of a memory that was cut, or only of those with some numbers.

    What is embedded begins with a line that says what a person sees around a chunk: the date, the source, the title
    and the headings above it. That line raised recall@10 from 28.8 to 49.7 % in long conversations.
    """
    outline = Outline.of(memory.text)
    date = f"{memory.date:%Y-%m-%d}"
    about = [part for part in (date, memory.source, memory.title) if part]
    headers: dict[tuple[str, ...], str] = {}
    for number, (start, end) in enumerate(memory.cuts.spans if memory.cuts else ()):
        if only is not None and number not in only:
            continue
        path = outline.path_at(start)[-_HEADINGS:]
        if path not in headers:
            headers[path] = cutter.header([*about, *path])
        yield start, end, f"{headers[path]}\n{memory.text[start:end]}"


def point_ids(memory_id: str, chunks: int) -> Iterable[str]:
    """Yield the ids of a memory's points."""
    return (point_id("memory", f"{memory_id}:{index}") for index in range(chunks))
