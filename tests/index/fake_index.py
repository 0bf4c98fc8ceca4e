"""An index and a journal in memory, and what keeps them alike."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from learning_memory_server.errors import NoAnswerError, StorageUnavailableError
from learning_memory_server.index.document import DIGEST, Collection, Document, WholeDocument, digest_of
from learning_memory_server.index.engines.base import Record
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.index.kept_files import OutdatedPoints
from learning_memory_server.index.reconciling import Reconciler
from learning_memory_server.index.writer import IndexWriter
from learning_memory_server.system.waiting import Budget

FULL, VALUES, MEMORIES = Collection.EXPERIENCES_FULL, Collection.VALUES, Collection.MEMORIES


def document(name: str, text: str = "text", collection: Collection = VALUES) -> WholeDocument:
    return WholeDocument(collection, name, text, {"name": name})


class FakeJournal:
    """A source of documents."""

    def __init__(self, *documents: Document) -> None:
        self.kept = {(each.collection, each.point_id): each for each in documents}
        self.gone: set[str] = set()

    def keep(self, documents: Sequence[Document]) -> None:
        self.kept |= {(each.collection, each.point_id): each for each in documents}

    def documents(self) -> Iterable[Document]:
        return list(self.kept.values())

    def forgotten(self) -> Iterable[str]:
        return list(self.gone)

    def knows(self, payload: Any) -> bool:
        return "name" in payload

    def forget(self, name: str) -> None:
        self.gone.add(name)
        self.kept = {key: each for key, each in self.kept.items() if key[1] != name}


class FakeIndex:
    """An index in memory. Each request asks `fault` what becomes of it.

    One that `is_embedded` is in this process: nothing happens after a request.
    """

    def __init__(self, *, is_embedded: bool = False) -> None:
        self.stored: dict[str, dict[str, Document]] = {each: {} for each in Collection}
        self.flushed: dict[str, dict[str, Document]] = {each: {} for each in Collection}
        self.is_embedded = is_embedded
        self.changes = 0
        self.batches: list[list[str]] = []
        self.fault: Callable[[], str] = lambda: "none"
        self.delayed: list[Callable[[], None]] = []
        self.removed: set[str] = set()
        self.writing = asyncio.Event()
        self.writing.set()
        self.is_open = True
        self.scale = SimpleNamespace(failure="")

    async def refresh_baselines(self) -> None:
        """Compare nothing: these texts are never searched."""

    async def _do(self, change: Callable[[], None]) -> None:
        fault = self.fault()
        await asyncio.sleep(0)
        if fault == "down" or (self.is_embedded and fault == "late"):
            raise StorageUnavailableError("The engine is down.")
        if fault == "lost answer":
            change()
            raise StorageUnavailableError("It failed.") if self.is_embedded else NoAnswerError("No answer.")
        if fault == "late":
            self.delayed.append(change)
            raise NoAnswerError("No answer.")
        change()

    def arrive(self) -> None:
        """Let the server do what it was asked earlier."""
        for change in self.delayed:
            change()
        self.delayed.clear()

    async def open(self) -> None: ...

    def require_open(self) -> FakeIndex:
        return self

    async def tidy(self, _belonging: Callable[[str], set[str]]) -> None: ...

    async def discard(self) -> None: ...

    def with_budget(self, _budget: Budget) -> FakeIndex:
        return self

    async def flush(self) -> None:
        for collection, points in self.stored.items():
            self.flushed[collection] = dict(points)
            await asyncio.sleep(0)

    def cut_power(self) -> None:
        """Lose what was not flushed."""
        self.stored = {collection: dict(points) for collection, points in self.flushed.items()}

    async def counts(self) -> dict[str, int]:
        await self._do(lambda: None)
        return {collection: len(points) for collection, points in self.stored.items()}

    async def write(self, documents: Sequence[Document]) -> None:
        self.batches.append([each.point_id for each in documents])
        await self.writing.wait()

        def change() -> None:
            self.changes += 1
            for each in documents:
                self.stored[each.collection][each.point_id] = each

        await self._do(change)

    async def remove(self, ids: Sequence[str]) -> None:
        def change() -> None:
            self.changes += 1
            self.removed.update(ids)
            self._take_out(ids)

        await self._do(change)

    def _take_out(self, ids: Iterable[str]) -> None:
        for points in self.stored.values():
            for point in ids:
                points.pop(point, None)

    async def digests(self) -> dict[str, dict[str, str | None]]:
        await self._do(lambda: None)
        return {
            collection: {name: digest_of(each) for name, each in points.items()}
            for collection, points in self.stored.items()
        }

    async def retrieve(self, collection: str, ids: Sequence[str]) -> list[Record]:
        await asyncio.sleep(0)
        found = {name: self.stored[collection][name] for name in ids if name in self.stored[collection]}
        return [Record(name, {**each.payload, DIGEST: digest_of(each)}) for name, each in found.items()]

    async def is_intact(self) -> bool:
        # As the adapter of a server does: a write that was given up may arrive after the removal of its points.
        self._take_out(self.removed)
        return True

    def texts(self) -> dict[tuple[str, str], str]:
        return {(c, p): each.text for c, points in self.stored.items() for p, each in points.items()}


def reconciler_of(*documents: Document, index: FakeIndex | None = None) -> Reconciler:
    made = Reconciler(cast("VectorIndex", index or FakeIndex()), [FakeJournal(*documents)], asyncio.Event())
    made.add(documents)
    return made


class Course:
    """A journal, an index, and one process after another that keeps them equal."""

    def __init__(self, path: Path, *, is_embedded: bool) -> None:
        self.index = FakeIndex(is_embedded=is_embedded)
        self.journal = FakeJournal()
        self.calls: list[asyncio.Task[bool]] = []
        self._outdated = OutdatedPoints(path / "outdated.json")
        self.start()

    def start(self) -> None:
        self.writer = IndexWriter(cast("VectorIndex", self.index), [self.journal], self._outdated)
        self._run = asyncio.create_task(self.writer.run())

    async def end(self) -> None:
        self._run.cancel()
        await asyncio.wait([self._run])
        await self.writer.stop()

    async def write(self, name: str) -> None:
        if name not in self.journal.gone:
            made = [document(name, collection=each) for each in (FULL, VALUES)]
            self.journal.keep(made)
            self.calls.append(asyncio.create_task(self.writer.write(made)))

    async def forget(self, name: str) -> None:
        self.journal.forget(name)
        self.calls.append(asyncio.create_task(self.writer.remove([name])))

    async def kill(self, _: str) -> None:
        await self.end()
        self.start()

    async def cut_power(self, _: str) -> None:
        await self.end()
        self.index.cut_power()
        self.start()

    async def arrive(self, _: str) -> None:
        self.index.arrive()

    async def lose(self, name: str) -> None:
        if self.index.is_embedded:
            await self.end()
            self.index.stored[FULL].pop(name, None)
            self.start()
        else:
            self.index.stored[FULL].clear()
            self.writer.server_returned()

    async def restore(self, name: str) -> None:
        """Let the server come back from a snapshot with earlier texts."""
        for points in self.index.stored.values():
            if each := points.get(name):
                points[name] = document(name, "an earlier text", each.collection)
        self.writer.server_returned()

    async def wait(self, _: str) -> None:
        await asyncio.sleep(3)

    async def be_quiet(self, _: str) -> None:
        await asyncio.sleep(40)
