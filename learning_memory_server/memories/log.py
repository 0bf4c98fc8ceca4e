"""The memories in the journal, and where they are cut."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from learning_memory_server.domain.memory import fingerprint
from learning_memory_server.journal.codec import memory_from_data, memory_to_data
from learning_memory_server.journal.forgetting import Forgetting
from learning_memory_server.journal.formats import TOMBSTONE
from learning_memory_server.journal.record import JournalRecord
from learning_memory_server.memories.documents import chunk_texts, documents_of, point_ids
from learning_memory_server.memories.words import touched

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from learning_memory_server.domain.memory import Cuts, Memory
    from learning_memory_server.indexing.document import Document
    from learning_memory_server.journal.log import Log
    from learning_memory_server.memories.cutting import Cutter


class MemoryLog:
    """The memories there are. Read once, at the first use.

    Args:
        log: Where they are kept.
        cutter: Returns what cuts texts as the present model needs it.
    """

    def __init__(self, log: Log, cutter: Callable[[], Cutter]) -> None:
        self._log = log
        self._cutter = cutter
        self._memories: dict[str, Memory] | None = None
        self._same: dict[str, str] = {}
        self._by_request: dict[str, str] = {}
        self._forgotten: dict[str, int] = {}

    def all(self) -> list[Memory]:
        """Return every memory, oldest first."""
        return list(self._loaded().values())

    def find(self, memory_id: str) -> Memory | None:
        """Return the memory, unless there is none of that id."""
        return self._loaded().get(memory_id)

    def find_same(self, text: str, metadata: Mapping[str, Any], project: str) -> Memory | None:
        """Return the memory of a project that has the same text and the same metadata, if there is one."""
        loaded = self._loaded()
        return loaded.get(self._same.get(fingerprint(text, metadata, project), ""))

    def find_by_request(self, request: str) -> Memory | None:
        """Return the memory that this very call has added before, if its answer was lost and it is sent again."""
        loaded = self._loaded()
        return loaded.get(self._by_request.get(request, ""))

    def cut(self, text: str, look: Callable[[int], bool] = lambda _: False) -> Cuts:
        """Return where to cut a text. It may take seconds, and is safe in any thread; see `Cutter.cut`."""
        return self._cutter().cut(text, look)

    def add(self, memory: Memory) -> None:
        """Write a memory down; it is on the disk when this returns."""
        self._loaded()
        self._log.append([JournalRecord("memory", memory.id, memory.created_at, memory_to_data(memory))])
        self._keep(memory)

    def look_up(self, ids: Iterable[str]) -> Forgetting[Memory]:
        """Return what `forget` would return, and change nothing."""
        return Forgetting.of(ids, self._loaded(), self._forgotten)

    def look_up_project(self, project: str) -> Forgetting[Memory]:
        """Return all memories of a project as what would be forgotten, and change nothing."""
        return self.look_up(memory.id for memory in self.all() if memory.project == project)

    def forget(self, ids: Iterable[str], at: datetime, *, unknown_too: bool = False) -> Forgetting[Memory]:
        """Forget memories, for ever; they are gone from every reading once this returns.

        How many points each had is written down with it: nothing else could tell once the text is purged.

        Args:
            ids: Which.
            at: When.
            unknown_too: Write unknown ids down as well, so that what they name elsewhere is never taken here.

        Raises:
            JournalUnavailableError: If it could not be written down; then nothing is forgotten.
        """
        forgetting = self.look_up(ids)
        chunks = {memory.id: len(self._as_cut(memory).spans) for memory in forgetting.found}
        chunks |= dict.fromkeys(forgetting.unknown if unknown_too else (), 0)
        self._log.append(
            [
                JournalRecord("memory", memory_id, at, {**TOMBSTONE, "chunks": count})
                for memory_id, count in chunks.items()
            ]
        )
        self._forgotten |= chunks
        for memory in forgetting.found:
            del self._loaded()[memory.id]
        return forgetting

    def points_of(self, forgetting: Forgetting[Memory]) -> list[str]:
        """Return the ids of the points of what was forgotten, now or before."""
        gone = [*(memory.id for memory in forgetting.found), *forgetting.before]
        return [point for name in gone for point in point_ids(name, self._forgotten[name])]

    def chunks_of(self, memory: Memory) -> int:
        """Return the number of a memory's chunks."""
        return len(self._as_cut(memory).spans)

    def documents_of(self, memory: Memory) -> Iterator[Document]:
        """Yield the documents of a memory."""
        return documents_of(self._with_cuts(memory), self._cutter())

    def worded_chunks(self, memory: Memory, wanted: Sequence[str]) -> Iterator[tuple[int, int, str]]:
        """Yield (start, end, text to search) of each chunk of a memory that may have some of the `needles`."""
        return self.chunk_texts(memory, touched(memory.text, self._as_cut(memory).spans, wanted))

    def chunk_texts(self, memory: Memory, only: Container[int]) -> Iterator[tuple[int, int, str]]:
        """Yield (start, end, text to embed) of the chunks of a memory with some numbers."""
        return chunk_texts(self._with_cuts(memory), self._cutter(), only)

    def documents(self) -> Iterator[Document]:
        """Yield every memory's documents for the index."""
        for memory in self.all():
            yield from self.documents_of(memory)

    def forgotten(self) -> Iterator[str]:
        """Yield the point ids of the memories that are forgotten."""
        self._loaded()
        for memory_id, chunks in list(self._forgotten.items()):
            yield from point_ids(memory_id, chunks)

    def _with_cuts(self, memory: Memory) -> Memory:
        """Return the memory as it is cut for the present model, which may not be the one that it was cut for."""
        if memory.cuts is None or memory.cuts.by != self._cutter().name:
            memory = replace(memory, cuts=self.cut(memory.text))
            if self._memories is not None and memory.id in self._memories:
                self._memories[memory.id] = memory
        return memory

    def _as_cut(self, memory: Memory) -> Cuts:
        cuts = self._with_cuts(memory).cuts
        assert cuts is not None  # noqa: S101 - just cut
        return cuts

    def _keep(self, memory: Memory) -> None:
        self._loaded()[memory.id] = memory
        self._same[memory.fingerprint] = memory.id
        if memory.request:
            self._by_request[memory.request] = memory.id

    def _loaded(self) -> dict[str, Memory]:
        if self._memories is None:
            content = self._log.read()
            self._memories = {}
            for record in content.records:
                self._keep(record.decoded(memory_from_data))
            self._forgotten = {
                line.id: int(line.data.get("chunks", 0))
                for line in content.tombstones
                if line.kind == "memory"
            }
        return self._memories
