"""The memories in the journal and their chunks. Additions and deletions go to the journal first, then to the index."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.errors import InvalidInputError, NotFoundError
from learning_memory_server.index.memory_chunks import documents_of, point_ids
from learning_memory_server.index.ranking.terms import terms
from learning_memory_server.journal.records import Records
from learning_memory_server.model.memory import (
    Chunking,
    Memory,
    checked_metadata,
    date_of,
    new_memory_id,
    replaced_among,
)
from learning_memory_server.system.ram import trim_heap
from learning_memory_server.system.waiting import end_turn

if TYPE_CHECKING:
    from learning_memory_server.index.document import Document
    from learning_memory_server.index.memory_chunks import Chunk, Chunker, Span
    from learning_memory_server.index.writer import IndexWriter
    from learning_memory_server.journal.log import Log
    from learning_memory_server.model.caller import Caller
    from learning_memory_server.model.moment import Clock


class MemoryLog(Records[Memory]):
    """The memories in the journal, and their chunks."""

    def __init__(self, log: Log, chunker: Callable[[], Chunker]) -> None:
        super().__init__(log)
        self._chunker = chunker

    def find_same(self, text: str, metadata: Mapping[str, Any], project: str) -> Memory | None:
        """Return the newest memory of a project with the same text and metadata that was not replaced, or None."""
        alike = (each for each in reversed(self.all()) if each.text == text and each.project == project)
        wanted, replaced = _canonical(metadata), self.replaced()
        alike = (each for each in alike if each.id not in replaced)
        return next((each for each in alike if _canonical(each.metadata) == wanted), None)

    def replaced(self) -> dict[str, str]:
        """Return the ids of replaced memories, each with the id of its successor; see `replaced_among`."""
        return replaced_among(self.all())

    def require_current(self, memory_id: str) -> Memory:
        """Return a memory that is about to be replaced. Raises an error if it is missing or was already replaced."""
        if (memory := self.find(memory_id)) is None:
            raise NotFoundError(
                f"replaces: there is no memory {memory_id}.",
                hint="search_memory shows the IDs.",
                arguments=["replaces"],
            )
        if successor := self.replaced().get(memory_id):
            raise InvalidInputError(
                f"replaces: {memory_id} was replaced by {successor} already.",
                hint=f"To correct {successor}, pass it as replaces.",
                arguments=["replaces"],
            )
        return memory

    def chunk(self, text: str, should_stop: Callable[[], bool] = lambda: False) -> Chunking:
        """Divide a text into chunks. May take seconds; thread-safe. See `Chunker.chunk`."""
        return self._chunker().chunk(text, should_stop)

    def chunks_of(self, memory: Memory) -> int:
        """Return the number of a memory's chunks."""
        return len(self._chunking_of(memory).spans)

    def documents_of(self, memory: Memory, only: Container[int] | None = None) -> Iterator[Chunk]:
        """Yield the documents of a memory, one for each chunk, or for the chunks with the numbers in `only`."""
        return documents_of(self._with_chunking(memory), self._chunker(), only)

    def candidate_chunks(self, memory: Memory, wanted: Sequence[str]) -> Iterator[Chunk]:
        """Yield the chunks of a memory that may contain some of the strings from `needles`."""
        return self.documents_of(memory, touched(memory.text, self._chunking_of(memory).spans, wanted))

    def documents(self) -> Iterator[Document]:
        """Yield the memories' documents for the index."""
        for memory in self.all():
            yield from self.documents_of(memory)

    def points(self, name: str) -> Iterable[str]:
        """Return the point ids of a deleted memory."""
        return point_ids(name, int(self._tombstones[name].get("chunks", 0)))

    def _tombstone_details(self, memory: Memory | None) -> dict[str, Any]:
        # Once the text is purged, nothing else records the number of its points.
        return {"chunks": self.chunks_of(memory) if memory else 0}

    def _with_chunking(self, memory: Memory) -> Memory:
        """Return the memory with its chunks for the current model, which may have changed since it was added."""
        if memory.chunking is None or memory.chunking.by != self._chunker().name:
            memory = replace(memory, chunking=self.chunk(memory.text))
            self.replace_loaded(memory)
        return memory

    def _chunking_of(self, memory: Memory) -> Chunking:
        chunking = self._with_chunking(memory).chunking
        assert chunking is not None
        return chunking


def _canonical(metadata: Mapping[str, Any]) -> str:
    return json.dumps(metadata, sort_keys=True)  # To Python, 1, 1.0 and True are equal; as JSON they differ


_FEW: Final = 64  # Up to this many chunks, all are ranked
_MOST: Final = 4_000  # Maximum number of chunks to rank, which takes a fifth of a second
_STEM: Final = 3  # From this length on, the last character of a term may come from the stemmer instead of the text


def needles(query: str) -> list[str]:
    """Return strings to search for: each text that shares a regularly inflected term with the query has one."""
    return sorted({term[:-1] if len(term) >= _STEM else term for term in terms(query)})


def touched(text: str, spans: Sequence[Span], wanted: Sequence[str]) -> Collection[int]:
    """Return the numbers of the chunks that may share terms with a query, given its `needles`.

    Limited to the chunks with the most matches. The first chunk and chunks that are not ASCII are always included.
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


_AT_ONCE: Final = 64  # Maximum chunks that a caller waits for: about 8,000 tokens, one or two seconds


@dataclass(frozen=True, slots=True)
class Added:
    """The result of adding a memory."""

    memory: Memory  # the memory, new or existing
    chunks: int  # the number of its chunks
    is_new: bool  # whether this call added it; otherwise it already existed
    is_indexed: bool  # whether all of it is indexed now; otherwise it is indexed in the background


@dataclass(frozen=True)
class MemoryStore:
    """Adds and deletes memories."""

    log: MemoryLog
    writer: IndexWriter
    clock: Clock

    async def add(self, caller: Caller, text: str, metadata: Mapping[str, Any], replaces: str | None = None) -> Added:
        """Add a text, stripped, to the journal, and index it, in the background if it is long.

        A call that is cancelled during chunking adds nothing, and neither does one that cannot write to the journal.

        Args:
            metadata: JSON data; `tags` is a list of texts, `source` and `timestamp` are texts.
            replaces: The id of the memory that this one corrects. Searches will leave that memory out.
        """
        metadata = checked_metadata(metadata)
        if caller.request and caller.again and (done := self.log.find_by_request(caller.request)):
            end_turn()
            return self._known(done, is_new=True)
        if same := self._find_same(text, metadata, caller.project, replaces):
            return self._known(same)
        chunking = await self._chunk(text)
        now = self.clock()
        memory = Memory(
            id=new_memory_id(),
            text=text,
            metadata=metadata,
            date=date_of(metadata, now),
            project=caller.project,
            created_at=now,
            request=caller.request,
            chunking=chunking,
            replaces=replaces,
        )
        documents: list[Document] = await asyncio.to_thread(list, self.log.documents_of(memory))
        # Another call may have added it during the await.
        if same := self._find_same(text, metadata, caller.project, replaces):
            return self._known(same)
        # No await between the journal and the writer, so that a cancelled call leaves no stored memory unindexed.
        self.log.add(memory)
        end_turn()
        return Added(memory, len(documents), is_new=True, is_indexed=await self._index(documents))

    async def delete(self, memory_id: str, *, again: bool = False) -> None:
        """Delete a memory permanently, and remove its points."""
        forgetting = self.log.forget([memory_id], self.clock())
        end_turn()
        await self.writer.remove(self.log.points_of(forgetting))
        if forgetting.before and not again:
            raise NotFoundError(f"memory_id: {memory_id} was deleted before.", arguments=["memory_id"])
        if forgetting.unknown:
            raise NotFoundError(
                f"memory_id: there is no memory {memory_id}.",
                hint="search_memory shows the IDs.",
                arguments=["memory_id"],
            )

    def _find_same(self, text: str, metadata: Mapping[str, Any], project: str, replaces: str | None) -> Memory | None:
        """Return the memory if it exists, or None. Raises an error if it exists and does not replace `replaces`."""
        same = self.log.find_same(text, metadata, project)
        if replaces is None or (same and same.replaces == replaces):
            return same
        self.log.require_current(replaces)
        if same:
            raise InvalidInputError(
                f"replaces: {same.id} already has this text and metadata.",
                hint=f"Say what is right now, in another text; or delete_memory {replaces}."
                if same.id != replaces
                else "Say what is right now, in another text.",
                arguments=["replaces"],
            )
        return None

    def _known(self, memory: Memory, *, is_new: bool = False) -> Added:
        return Added(memory, self.log.chunks_of(memory), is_new, is_indexed=self.writer.missing == 0)

    async def _chunk(self, text: str) -> Chunking:
        """Chunk the text in a thread that stops soon if the call is cancelled."""
        cancelled = threading.Event()
        try:
            return await asyncio.to_thread(self.log.chunk, text, cancelled.is_set)
        finally:
            cancelled.set()

    async def _index(self, documents: Sequence[Document]) -> bool:
        if len(documents) <= _AT_ONCE:
            return await self.writer.write(documents)
        self.writer.postpone(documents)
        await asyncio.to_thread(trim_heap)  # A long text has been copied a dozen times at this point
        return False
