import asyncio
import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.embedding.tokens import EstimatedTokens
from learning_memory_server.errors import InvalidInputError, StorageUnavailableError
from learning_memory_server.index.memory_chunks import Chunker
from learning_memory_server.index.queries import MemoryFilter, MemoryQuery
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.kinds import MEMORY
from learning_memory_server.model import limits
from tests.capture.memories.shelf import LONG, TEXT, Shelf, open_shelf, reloaded
from tests.support import ALICE, BOB, CAROL, NOON, cancel

TAGGED: dict[str, Any] = {"tags": ["db", "decision"], "source": "notes.md", "language": "en", "x": {"y": [1, None]}}


async def test_a_memory_is_in_the_journal_as_it_was_given(tmp_path: Path) -> None:
    async with open_shelf(tmp_path) as shelf:
        added = await shelf.add(TEXT, **TAGGED)
        assert added.is_new
        assert (added.memory.text, added.memory.metadata) == (TEXT, TAGGED)
        assert added.memory.project == ALICE.project
    assert reloaded(tmp_path) == [added.memory]


async def test_odd_metadata_in_the_journal_stops_neither_indexing_nor_searches(tmp_path: Path) -> None:
    async with open_shelf(tmp_path) as shelf:
        good = (await shelf.add(TEXT, **TAGGED)).memory
        odd = replace(good, id="odd", metadata={"source": 5, "tags": [1, {"a": 2}, None], "title": []})
        data = MEMORY.encode(odd)
        shelf.journal.memories.append([JournalRecord("memory", odd.id, NOON, data)])
    async with open_shelf(tmp_path) as shelf:
        await shelf.ready()
        assert await shelf.points() == 2
        for where, found in ((MemoryFilter(), {good.id, "odd"}), (MemoryFilter(tags=("db",)), {good.id})):
            result = await shelf.searcher.search(MemoryQuery("Postgres", 10, where, 0.0))
            assert {item.memory.id for item in result.found} == found


async def test_the_journal_comes_before_the_model(shelf: Shelf) -> None:
    added = await shelf.add(TEXT)
    assert not added.is_indexed
    assert shelf.writer.pending == added.chunks == 1
    await shelf.ready()
    assert await shelf.points() == 1


async def test_a_short_memory_is_indexed_when_it_is_added(shelf: Shelf) -> None:
    await shelf.ready()
    assert (await shelf.add(TEXT)).is_indexed
    assert await shelf.points() == 1


async def test_the_same_text_with_the_same_metadata_is_one_memory(tmp_path: Path) -> None:
    async with open_shelf(tmp_path) as shelf:
        first, second = await shelf.add(TEXT, **TAGGED), await shelf.add(TEXT, BOB, **TAGGED)
        assert (first.is_new, second.is_new) == (True, False)
        assert first.memory == second.memory
    async with open_shelf(tmp_path) as shelf:
        third = await shelf.add(TEXT, **TAGGED)
        assert not third.is_new
    assert reloaded(tmp_path) == [first.memory]


async def test_the_same_text_added_twice_at_once_is_one_memory(shelf: Shelf) -> None:
    await shelf.ready()
    added = await asyncio.gather(*(shelf.add(TEXT) for _ in range(3)))
    assert len({one.memory.id for one in added}) == 1
    assert sum(one.is_new for one in added) == 1


async def test_other_metadata_or_another_project_makes_another_memory(shelf: Shelf) -> None:
    added = [await shelf.add(TEXT), await shelf.add(TEXT, tags=["db"]), await shelf.add(TEXT, CAROL)]
    assert all(one.is_new for one in added)
    assert len({one.memory.id for one in added}) == 3


async def test_the_date_of_a_memory_is_its_timestamp_else_the_time_it_was_added(shelf: Shelf) -> None:
    stated = (await shelf.add(TEXT, timestamp="2025-12-31T23:30:00-01:00")).memory
    unstated = (await shelf.add(TEXT)).memory
    assert stated.date == datetime(2026, 1, 1, 0, 30, tzinfo=UTC)
    assert unstated.date == unstated.created_at


@pytest.mark.parametrize(
    ("metadata", "field"),
    [({"timestamp": "soon"}, "metadata.timestamp: "), ({"x": "\u00e9" * (limits.METADATA_MAX // 2)}, "metadata: ")],
)
async def test_invalid_metadata_is_refused_and_nothing_is_kept(
    metadata: dict[str, Any], field: str, shelf: Shelf
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await shelf.memories.add(ALICE, TEXT, metadata)
    assert caught.value.message.startswith(field)
    assert shelf.log.all() == []


async def test_a_call_that_is_sent_again_adds_nothing_and_gets_the_same_reply(tmp_path: Path) -> None:
    first = replace(ALICE, request="r1")
    async with open_shelf(tmp_path) as shelf:
        added = await shelf.add(TEXT, first)
    async with open_shelf(tmp_path) as shelf:
        again = await shelf.add(TEXT, replace(first, again=True))
        assert again.is_new
        assert again.memory == added.memory


@pytest.mark.slow
async def test_a_long_addition_that_a_crash_interrupted_resumes_where_it_stopped(tmp_path: Path) -> None:
    first = replace(ALICE, request="r1")
    async with open_shelf(tmp_path) as shelf:
        await shelf.ready()
        added = await shelf.add(LONG, first)
        await shelf.index.write(list(shelf.log.documents_of(added.memory))[:100])
        written = len(shelf.store.attempts)
    async with open_shelf(tmp_path) as shelf:
        again = await shelf.add(LONG, replace(first, again=True))
        assert again.is_new
        assert again.memory.id == added.memory.id
        await shelf.ready()
        assert await shelf.points() == added.chunks
        assert len(shelf.store.attempts) <= written + (added.chunks - 100) / 8 + 1


async def test_an_index_that_has_not_been_compared_is_not_called_complete(tmp_path: Path) -> None:
    first = replace(ALICE, request="r1")
    async with open_shelf(tmp_path) as shelf:
        await shelf.ready()
        await shelf.add(LONG, first)
    async with open_shelf(tmp_path) as shelf:
        assert not (await shelf.add(LONG, replace(first, again=True))).is_indexed
        assert not (await shelf.add(LONG, replace(ALICE, request="r2"))).is_indexed


class Stopping(EstimatedTokens):
    """Counts tokens, but from a given text on waits for permission."""

    def __init__(self) -> None:
        self.counted = 0
        self.waits = threading.Event()
        self.may_go_on = threading.Event()

    def count(self, texts: Sequence[str]) -> list[int]:
        self.counted += len(texts)
        if self.counted > 256:
            self.waits.set()
            self.may_go_on.wait(30)
        return super().count(texts)


async def test_an_addition_that_is_cancelled_while_its_text_is_chunked_adds_nothing(tmp_path: Path) -> None:
    measure = Stopping()
    async with open_shelf(tmp_path, chunker=Chunker(measure)) as shelf:
        call = asyncio.create_task(shelf.add("\n\n".join([LONG] * 3)))
        await asyncio.to_thread(measure.waits.wait, 30)
        await cancel(call)
        measure.may_go_on.set()
        assert shelf.log.all() == []
    assert reloaded(tmp_path) == []


@pytest.mark.parametrize("text", [TEXT, LONG], ids=["short", "long"])
async def test_whenever_an_addition_is_cancelled_what_is_kept_is_indexed(tmp_path: Path, text: str) -> None:
    async with open_shelf(tmp_path) as shelf:
        await shelf.ready()
        for steps in range(12):
            call = asyncio.create_task(shelf.add(f"{text} {steps}"))
            for _ in range(steps):
                await asyncio.sleep(0.001)
            call.cancel()
            with suppress(asyncio.CancelledError):
                await call
        await shelf.ready()
        kept = shelf.log.all()
        assert await shelf.points() == sum(map(shelf.log.chunks_of, kept))
        assert [(await shelf.add(each.text)).memory for each in kept] == kept
    assert reloaded(tmp_path) == kept


async def test_an_addition_that_is_cancelled_in_the_journal_is_kept_and_indexed(shelf: Shelf) -> None:
    await shelf.ready()
    shelf.store.hold()
    call = asyncio.create_task(shelf.add(TEXT))
    await shelf.store.entered.wait()
    await cancel(call)
    shelf.store.gate.set()
    assert not (await shelf.add(TEXT, BOB)).is_new
    await shelf.ready()
    assert await shelf.points() == 1


async def test_a_long_memory_is_indexed_in_the_background(shelf: Shelf) -> None:
    await shelf.ready()
    added = await shelf.add(LONG)
    assert not added.is_indexed
    assert shelf.writer.pending == added.chunks > 64
    await shelf.ready()
    assert await shelf.points() == added.chunks


async def test_a_long_memory_whose_indexing_fails_is_kept_and_pending(shelf: Shelf) -> None:
    await shelf.ready()
    shelf.store.down = StorageUnavailableError("gone")
    added = await shelf.add(LONG)
    assert not added.is_indexed
    shelf.store.down = None
    await shelf.ready()
    assert await shelf.points() == added.chunks


@pytest.mark.slow
async def test_what_was_not_indexed_before_a_crash_is_indexed_after_it(tmp_path: Path) -> None:
    async with open_shelf(tmp_path) as shelf:
        await shelf.ready()
        await shelf.add(TEXT)
        added = await shelf.add(LONG)
    async with open_shelf(tmp_path) as shelf:
        await shelf.ready()
        assert await shelf.points() == 1 + added.chunks


class Coarse(EstimatedTokens):
    """The token counts of another model, which reads half as much."""

    name = "coarse"
    window = 128


async def test_stored_texts_are_chunked_again_for_another_model(tmp_path: Path) -> None:
    async with open_shelf(tmp_path) as shelf:
        chunks = (await shelf.add(LONG)).chunks
    async with open_shelf(tmp_path, chunker=Chunker(Coarse())) as shelf:
        (memory,) = shelf.log.all()
        assert shelf.log.chunks_of(memory) > chunks
        assert len(list(shelf.log.documents())) == shelf.log.chunks_of(memory)


@pytest.mark.slow
async def test_an_index_with_other_chunks_is_rebuilt(tmp_path: Path) -> None:
    async with open_shelf(tmp_path) as shelf:
        added = await shelf.add(LONG)
        await shelf.ready()
    about = tmp_path / "index" / "memories" / "about.json"
    kept = json.loads(about.read_text("utf-8"))
    # As kept by the program that chunked every text at 128 tokens.
    about.write_text(json.dumps({name: value for name, value in kept.items() if name != "form"}), "utf-8")
    async with open_shelf(tmp_path) as shelf:
        await shelf.ready()
        (notice,) = shelf.index.notices
        assert "rebuilt from the journal" in notice
        assert await shelf.points() == added.chunks
    assert json.loads(about.read_text("utf-8")) == kept


async def test_each_chunk_is_embedded_under_its_date_source_title_and_headings(shelf: Shelf) -> None:
    text = "# Setup\n\n" + "word " * 125 + "\n\n## Linux\n\n" + "other " * 125
    await shelf.add(text, title="Handbook", source="docs/setup.md", timestamp="2026-02-03")
    first, *_, last = (document.text.split("\n")[0] for document in shelf.log.documents())
    assert first == "2026-02-03 | docs/setup.md | Handbook"
    assert last.startswith("2026-02-03 | docs/setup.md | Handbook | Setup")
