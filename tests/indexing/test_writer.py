from __future__ import annotations

import asyncio
import threading
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import pytest

from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.errors import (
    DiskFullError,
    EmbeddingUnavailableError,
    MissingCollectionError,
    StorageUnavailableError,
    WrongDimensionError,
)
from learning_memory_server.indexing.document import Collection, Document, WholeDocument, point_id
from tests.fast_forward import fast_forward
from tests.support import full_ghap, numbered, open_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.embedding.base import Embedder
    from learning_memory_server.errors import LearningMemoryError
    from tests.support import Memory

DOWN = StorageUnavailableError("the engine is down")


def document(number: int = 0) -> Document:
    return WholeDocument(Collection.VALUES, point_id("value", str(number)), f"value {number}", {"n": number})


def waits(memory: Memory) -> list[float]:
    """The seconds between the engine's upserts."""
    times = memory.store.attempts
    return [later - earlier for earlier, later in pairwise(times)]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(300):
        while not condition():  # noqa: ASYNC110 - on a loop whose time is skipped, not waited for
            await asyncio.sleep(5)


def test_the_engine_gets_three_tries_one_and_two_seconds_apart(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_memory(tmp_path) as memory:
            await memory.index.open()
            memory.store.down = DOWN

            assert not await memory.writer.write([document()])

            assert waits(memory) == [pytest.approx(1, abs=0.5), pytest.approx(2, abs=0.5)]
            assert memory.writer.pending == 1

    fast_forward(scenario())


@pytest.mark.parametrize("failures", [1, 2])
def test_a_write_that_succeeds_at_last_is_indexed(tmp_path: Path, failures: int) -> None:
    async def scenario() -> None:
        async with open_memory(tmp_path) as memory:
            await memory.index.open()
            memory.store.failures = [DOWN] * failures

            assert await memory.writer.write([document()])

            assert len(memory.store.attempts) == failures + 1
            assert memory.writer.pending == 0
            assert (await memory.index.counts())["values"] == 1

    fast_forward(scenario())


async def test_what_is_pending_is_written_a_few_at_a_time_those_of_like_length_together(
    tmp_path: Path,
) -> None:
    lengths: list[list[int]] = []

    class Measuring(HashingEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
            lengths.append([len(text) for text in texts])
            return super().embed_documents(texts)

    async with open_memory(tmp_path, load=Measuring) as memory:
        await memory.index.open()
        lengths.clear()
        memory.writer.postpone(document(20 * 10 ** (number % 5) + number) for number in range(20))
        assert await memory.writer.catch_up() == 20
        assert memory.writer.pending == 0
    assert max(map(len, lengths)) <= 8
    in_order = list(chain.from_iterable(lengths))
    assert in_order == sorted(in_order)


@pytest.mark.parametrize("error", [DiskFullError("full"), WrongDimensionError("384 is not 256")])
async def test_a_permanent_failure_is_not_tried_again(tmp_path: Path, error: LearningMemoryError) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.index.open()
        memory.store.failures = [error]

        assert not await memory.writer.write([document()])

        assert len(memory.store.attempts) == 1
        assert memory.writer.pending == 1


async def test_a_loading_model_is_not_waited_for(tmp_path: Path) -> None:
    release = threading.Event()

    def slow() -> Embedder:
        release.wait(30)
        return HashingEmbedder()

    async with open_memory(tmp_path, load=slow) as memory:
        memory.embeddings.start()
        async with asyncio.timeout(1):
            assert not await memory.writer.write([document(1), document(2)])
        assert memory.writer.pending == 2

        release.set()
        await memory.index.open()
        assert await memory.writer.catch_up() == 2
        assert (await memory.index.counts())["values"] == 2


async def test_a_model_that_failed_leaves_everything_pending(tmp_path: Path) -> None:
    def broken() -> Embedder:
        raise EmbeddingUnavailableError("no weights")

    async with open_memory(tmp_path, load=broken) as memory:
        async with memory.running():
            with pytest.raises(EmbeddingUnavailableError, match="no weights"):
                await memory.writer.settle()
            assert not await memory.writer.write([document()])
        assert memory.writer.pending == 1


class Stumbling(HashingEmbedder):
    """Fails on one text in a way of its own, as a library under pressure does."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any("value 13" in text for text in texts):
            raise MemoryError("tensor of 9 GB")
        return super().embed_documents(texts)


async def test_a_model_that_stumbles_on_a_text_leaves_it_pending(tmp_path: Path) -> None:
    async with open_memory(tmp_path, load=Stumbling) as memory:
        await memory.index.open()

        assert not await memory.writer.write([document(13)])
        assert memory.writer.pending == 1
        assert await memory.writer.write([document(1)])


async def test_a_cancelled_write_is_not_forgotten(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.index.open()
        memory.store.gate.clear()
        call = asyncio.create_task(memory.writer.write([document()]))
        await memory.store.entered.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        memory.store.gate.set()

        assert memory.writer.pending == 1
        await memory.writer.catch_up()
        assert (await memory.index.counts())["values"] == 1


def test_what_is_pending_is_written_as_soon_as_the_engine_is_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_memory(tmp_path) as memory, memory.running():
            await memory.writer.settle()
            memory.store.down = DOWN
            assert not await memory.writer.write([document()])
            # What has failed three times is given up and opened anew, and until then nothing relies on it.
            await until(lambda: not memory.index.is_open)
            assert memory.writer.pending == 1
            assert not memory.writer.is_complete

            memory.store.down = None
            await until(lambda: memory.writer.pending == 0)

            assert (await memory.index.counts())["values"] == 1
            assert memory.writer.is_complete

    fast_forward(scenario())


def test_an_engine_that_is_down_at_the_start_is_opened_later(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_memory(tmp_path) as memory:
            memory.collector.add_resolved([numbered(1)])
            memory.store.down = DOWN
            async with memory.running():
                with pytest.raises(StorageUnavailableError):
                    await memory.writer.settle()
                assert not memory.index.is_open

        async with open_memory(tmp_path) as memory, memory.running():
            await until(lambda: memory.index.is_open and memory.writer.pending == 0)
            assert (await memory.index.counts())["experiences_full"] == 1

    fast_forward(scenario())


def test_a_restart_finds_and_indexes_everything_that_is_missing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_memory(tmp_path) as memory:
            await memory.index.open()
            await memory.learn(numbered(1))
            memory.collector.add_resolved([full_ghap(), numbered(2)])

        async with open_memory(tmp_path) as memory:
            await memory.index.open()
            assert await memory.writer.find_pending() == 4 + 2
            async with memory.running():
                await memory.writer.settle()
                counts = await memory.index.counts()
                assert counts["experiences_full"] == counts["experiences_strategy"] == 3
                assert counts["experiences_surprise"] == counts["experiences_root_cause"] == 1
                assert await memory.writer.find_pending() == 0
            assert sum(map(memory.index.generation, Collection)) == 4

    fast_forward(scenario())


async def test_many_pending_documents_are_all_written_and_counted(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        assert not await memory.writer.write([document(n) for n in range(150)])
        await memory.index.open()

        assert await memory.writer.catch_up() == 150

        assert memory.writer.pending == 0
        assert (await memory.index.counts())["values"] == 150
        assert await memory.writer.catch_up() == 0


async def test_nothing_is_lost_when_the_engine_fails_half_way(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        memory.collector.add_resolved([numbered(n) for n in range(50)])
        await memory.index.open()
        await memory.writer.find_pending()
        memory.store.attempts.clear()

        async with asyncio.timeout(30):
            while True:
                memory.store.failures = (
                    [MissingCollectionError("gone")] if len(memory.store.attempts) % 3 else []
                )
                try:
                    await memory.writer.catch_up()
                except StorageUnavailableError:
                    continue
                break

        counts = await memory.index.counts()
        assert counts["experiences_full"] == counts["experiences_strategy"] == 50
        assert await memory.writer.find_pending() == 0


def test_a_burst_of_writes_is_flushed_once_it_is_over(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_memory(tmp_path) as memory, memory.running():
            await memory.writer.settle()
            for number in range(20):
                await memory.writer.write([document(number)])
            assert memory.store.flushes == 0
            await until(lambda: memory.store.flushes > 0)
            await asyncio.sleep(120)
            assert memory.store.flushes == 1

    fast_forward(scenario())


def test_settling_does_not_wait_for_ever_for_an_engine_that_takes_no_data(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_memory(tmp_path) as memory:
            memory.collector.add_resolved([numbered(1)])
            memory.store.gate.clear()
            async with memory.running():
                async with asyncio.timeout(60):
                    await memory.writer.settle()
                assert memory.writer.pending == 2
                memory.store.gate.set()

    fast_forward(scenario())
