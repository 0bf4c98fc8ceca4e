"""The memories in the journal, and their chunks; adding and deleting them: first there, then in the index."""

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
        """Return the newest memory of a project with the same text and metadata that is not replaced, or None."""
        alike = (each for each in reversed(self.all()) if each.text == text and each.project == project)
        wanted, replaced = _canonical(metadata), self.replaced()
        alike = (each for each in alike if each.id not in replaced)
        return next((each for each in alike if _canonical(each.metadata) == wanted), None)

    def replaced(self) -> dict[str, str]:
        """Return the ids of the memories that others replace, each with its successor's; see `replaced_among`."""
        return replaced_among(self.all())

    def require_current(self, memory_id: str) -> Memory:
        """Return a memory that is to be replaced, which must exist and not be replaced already."""
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
        """Divide a text into chunks. May take seconds; safe in any thread. See `Chunker.chunk`."""
        return self._chunker().chunk(text, should_stop)

    def chunks_of(self, memory: Memory) -> int:
        """Return the number of a memory's chunks."""
        return len(self._chunking_of(memory).spans)

    def documents_of(self, memory: Memory, only: Container[int] | None = None) -> Iterator[Chunk]:
        """Yield the documents of a memory, or only of the chunks with the given numbers."""
        return documents_of(self._with_chunking(memory), self._chunker(), only)

    def candidate_chunks(self, memory: Memory, wanted: Sequence[str]) -> Iterator[Chunk]:
        """Yield the chunks of a memory that may have some of the `needles`."""
        return self.documents_of(memory, touched(memory.text, self._chunking_of(memory).spans, wanted))

    def documents(self) -> Iterator[Document]:
        """Yield the memories' documents for the index."""
        for memory in self.all():
            yield from self.documents_of(memory)

    def points(self, name: str) -> Iterable[str]:
        """Return the point ids of a memory that is forgotten."""
        return point_ids(name, int(self._tombstones[name].get("chunks", 0)))

    def _tombstone_details(self, memory: Memory | None) -> dict[str, Any]:
        # Once its text is purged, nothing else records how many points it had.
        return {"chunks": self.chunks_of(memory) if memory else 0}

    def _with_chunking(self, memory: Memory) -> Memory:
        """Return the memory with its chunks for the current model, which may not be the one it was added with."""
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
_MOST: Final = 4_000  # The most chunks that are ranked, in a fifth of a second
_STEM: Final = 3  # From this length on, the last character of a term may come from the stemmer, not the text


def needles(query: str) -> list[str]:
    """Return strings such that any text sharing a term with the query contains one, but for irregular forms."""
    return sorted({term[:-1] if len(term) >= _STEM else term for term in terms(query)})


def touched(text: str, spans: Sequence[Span], wanted: Sequence[str]) -> Collection[int]:
    """Return the numbers of the chunks that may share terms with a query's `needles`, at most those with the most.

    The first chunk is always among them, and so are chunks that are not ASCII.
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


_AT_ONCE: Final = 64  # The most chunks a caller waits for: about 8,000 tokens, one or two seconds


@dataclass(frozen=True, slots=True)
class Added:
    """The result of adding a memory."""

    memory: Memory  # the memory, new or existing
    chunks: int  # the number of its chunks
    is_new: bool  # whether this call added it; if not, it already existed
    is_indexed: bool  # whether all of it is in the index now; if not, it is indexed in the background


@dataclass(frozen=True)
class MemoryStore:
    """Adds and deletes memories."""

    log: MemoryLog
    writer: IndexWriter
    clock: Clock

    async def add(self, caller: Caller, text: str, metadata: Mapping[str, Any], replaces: str | None = None) -> Added:
        """Add a text, stripped, to the journal, and index it: a long one in the background.

        A call that is cancelled while the text is chunked adds nothing. If the journal cannot be written, nothing is
        added.

        Args:
            metadata: JSON data; `tags` is a list of texts, `source` and `timestamp` are texts.
            replaces: The id of the memory that this one corrects, which searches leave out from now on.
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
        # Another call may have added it while this one awaited.
        if same := self._find_same(text, metadata, caller.project, replaces):
            return self._known(same)
        # Between the journal and the writer nothing is awaited: what a cancelled call has kept is indexed, too.
        self.log.add(memory)
        end_turn()
        return Added(memory, len(documents), is_new=True, is_indexed=await self._index(documents))

    async def delete(self, memory_id: str, *, again: bool = False) -> None:
        """Forget a memory permanently, and remove its points."""
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
        """Return the memory that is there already, or None; it cannot be there and replace another one from now on."""
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
        await asyncio.to_thread(trim_heap)  # A long text has been copied a dozen times by now
        return False
