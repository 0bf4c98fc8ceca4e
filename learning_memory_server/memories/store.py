"""Adding memories and forgetting them: the journal first, then the index."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import anyio

from learning_memory_server.domain.memory import Memory, checked_metadata, date_of, new_memory_id
from learning_memory_server.errors import LearningMemoryError, NotFoundError
from learning_memory_server.heap import give_back

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from typing import Any

    from learning_memory_server.domain.caller import Caller
    from learning_memory_server.domain.memory import Cuts
    from learning_memory_server.domain.moment import Clock
    from learning_memory_server.indexing.document import Document
    from learning_memory_server.indexing.writer import IndexWriter
    from learning_memory_server.memories.log import MemoryLog

_AT_ONCE: Final = 64
"""Chunks that a caller waits for: about 8,000 tokens, one or two seconds."""
_LOOK_SECONDS: Final = 0.5
_WITHDRAWN_WITHIN: Final = 5.0
"""Seconds that a cancelled call may take to leave nothing behind in the index. The journal is first, and sure."""


class Tell(Protocol):
    """Is told how far an addition is."""

    async def __call__(self, done: float, total: float | None, /) -> None:
        """Take how many chunks are indexed, which only grows, and how many there are.

        While that is not known because the text is being cut, `done` is the share of it that is cut, below 1.
        """


@dataclass(frozen=True, slots=True)
class Added:
    """What adding a memory came to.

    Args:
        memory: The memory, new or not.
        chunks: How many chunks it has.
        is_new: Whether this call has added it; else the same one was there.
        is_indexed: Whether searches by meaning find all of it now; else it is indexed in the background.
    """

    memory: Memory
    chunks: int
    is_new: bool
    is_indexed: bool


class MemoryStore:
    """Keeps memories.

    Args:
        log: Where they are kept.
        writer: Indexes their chunks.
        clock: Tells the time.
    """

    def __init__(self, log: MemoryLog, writer: IndexWriter, clock: Clock) -> None:
        self._log = log
        self._writer = writer
        self._clock = clock
        self._unanswered: set[str] = set()
        self._promised: set[str] = set()
        self._followed: set[asyncio.Task[None]] = set()
        self._is_ending = False

    def stop_waiting(self) -> None:
        """Have long additions answered now and from now on: the process ends, and the next one goes on with them."""
        self._is_ending = True
        for work in self._followed:
            work.cancel()

    async def add(
        self, caller: Caller, text: str, metadata: Mapping[str, Any], tell: Tell | None = None
    ) -> Added:
        """Keep a text. It is in the journal when this returns, and in the index if it is short.

        A long text is indexed in the background, unless somebody is told how far it is: then this returns when all of
        it is indexed. If the call is cancelled before it has returned, nothing of the memory is left.

        Args:
            caller: Whose project it belongs to.
            text: The text, stripped.
            metadata: JSON data; `tags` is a list of texts, `source` and `timestamp` are texts.
            tell: Is told how far the indexing of a long text is.

        Raises:
            InvalidInputError: If the metadata is too large, or its timestamp is none.
            JournalUnavailableError: If it could not be written down; then nothing is added.
        """
        metadata = checked_metadata(metadata)
        if caller.request and caller.again and (done := self._log.find_by_request(caller.request)):
            return await self._take_up(done, tell)
        if same := self._log.find_same(text, metadata, caller.project):
            return await self._known(same)
        cuts = await self._cut(text, tell)
        # Another call may have been quicker.
        if same := self._log.find_same(text, metadata, caller.project):
            return await self._known(same)
        now = self._clock()
        memory = Memory(
            id=new_memory_id(),
            text=text,
            metadata=metadata,
            date=date_of(metadata, now),
            project=caller.project,
            created_at=now,
            request=caller.request,
            cuts=cuts,
        )
        self._log.add(memory)
        is_indexed = await self._or_withdraw(memory, self._index(memory, tell))
        return Added(memory, len(cuts.spans), is_new=True, is_indexed=is_indexed)

    async def delete(self, memory_id: str) -> Memory:
        """Forget a memory, for ever, and remove its points.

        Raises:
            NotFoundError: If there is none of that id.
            JournalUnavailableError: If it could not be written down; then nothing is forgotten.
        """
        forgetting = self._log.forget([memory_id], self._clock())
        await self._writer.remove(self._log.points_of(forgetting))
        if forgetting.before:
            raise NotFoundError(f"memory_id: {memory_id} was deleted before.")
        if forgetting.unknown:
            raise NotFoundError(
                f"memory_id: there is no memory {memory_id}.", hint="search_memory shows the IDs."
            )
        return forgetting.found[0]

    async def _known(self, memory: Memory) -> Added:
        if memory.id in self._unanswered:
            # Whoever adds it may still give it up; this caller is told that it is kept.
            self._promised.add(memory.id)
        return Added(memory, self._log.chunks_of(memory), is_new=False, is_indexed=self._is_all_indexed())

    async def _take_up(self, memory: Memory, tell: Tell | None) -> Added:
        """Go on with an addition whose answer was lost with another process."""
        chunks, is_indexed = self._log.chunks_of(memory), self._is_all_indexed()
        if tell is not None and not is_indexed:
            # It stays if this is cancelled: the process that is gone may have told somebody else that it is kept.
            is_indexed = await self._follow(chunks, tell)
        return Added(memory, chunks, is_new=True, is_indexed=is_indexed)

    async def _or_withdraw(self, memory: Memory, indexing: Coroutine[Any, Any, bool]) -> bool:
        """Return what the indexing does; if it is cancelled, the memory is withdrawn."""
        self._unanswered.add(memory.id)
        try:
            return await indexing
        except asyncio.CancelledError:
            await self._withdraw(memory)
            raise
        finally:
            self._unanswered.discard(memory.id)
            self._promised.discard(memory.id)

    def _is_all_indexed(self) -> bool:
        return self._writer.missing == 0

    async def _cut(self, text: str, tell: Tell | None) -> Cuts:
        """Cut the text in a thread, which stops soon if the call is cancelled."""
        given_up, reached = threading.Event(), 0

        def look(place: int) -> bool:
            nonlocal reached
            reached = place
            return given_up.is_set()

        work = asyncio.create_task(asyncio.to_thread(self._log.cut, text, look))
        try:
            # Below 1 even when all is cut: what follows counts chunks, and must only grow.
            await _tell_of(work, tell, lambda: (reached - 1) / len(text), None)
            return work.result()
        finally:
            given_up.set()

    async def _index(self, memory: Memory, tell: Tell | None) -> bool:
        documents = await asyncio.to_thread(self._documents_of, memory)
        if len(documents) <= _AT_ONCE:
            return await self._writer.write(documents)
        self._writer.postpone(documents)
        return tell is not None and await self._follow(len(documents), tell)

    def _documents_of(self, memory: Memory) -> list[Document]:
        documents = list(self._log.documents_of(memory))
        if len(documents) > _AT_ONCE:
            # On its way here a long text was copied a dozen times.
            give_back()
        return documents

    async def _follow(self, total: int, tell: Tell) -> bool:
        """Write what is pending and tell how far that is; return whether all is written."""
        if self._is_ending:
            return False
        work = asyncio.create_task(self._writer.complete())
        self._followed.add(work)
        try:
            await _tell_of(work, tell, lambda: self._written(total), total)
            if work.cancelled():
                return False
            work.result()
        except LearningMemoryError:
            return False
        finally:
            self._followed.discard(work)
            work.cancel()
            with suppress(asyncio.CancelledError, LearningMemoryError):
                await work
        await tell(total, total)
        return True

    def _written(self, total: int) -> int:
        """Return how many of the last `total` documents are written."""
        # These came last, so what is pending is these once there is nothing else.
        missing = self._writer.missing
        return 0 if missing is None else total - min(total, missing)

    async def _withdraw(self, memory: Memory) -> None:
        """Undo an addition that nobody waits for any more."""
        if memory.id in self._promised:
            return
        forgetting = self._log.forget([memory.id], self._clock())
        points = self._log.points_of(forgetting)
        with anyio.move_on_after(_WITHDRAWN_WITHIN, shield=True), suppress(LearningMemoryError):
            await self._writer.remove(points)
            # A batch that was on its way when the points were removed has arrived after this.
            await self._writer.catch_up()
            await self._writer.remove(points)


async def _tell_of(
    work: asyncio.Task[Any], tell: Tell | None, reached: Callable[[], float], total: float | None
) -> None:
    """Wait for the end of some work and tell every half second how far it is, if it is farther than before."""
    told = 0.0
    while not (await asyncio.wait([work], timeout=_LOOK_SECONDS))[0]:
        done = reached()
        if tell is not None and done > told:
            told = done
            await tell(done, total)
