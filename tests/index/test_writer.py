import asyncio
from collections.abc import Sequence
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from structlog.testing import capture_logs

from learning_memory_server.embedding.base import Embedder
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.errors import (
    DiskFullError,
    EmbeddingUnavailableError,
    LearningMemoryError,
    StorageUnavailableError,
    WrongDimensionError,
)
from learning_memory_server.index.document import Collection, Document, WholeDocument, point_id
from tests.embedding.gated import SlowLoad
from tests.fast_forward import fast_forward
from tests.support import MINUTES, Parts, SilentModel, numbered, open_parts, until, within

DOWN = StorageUnavailableError("the engine is down")


def document(number: int = 0) -> Document:
    return WholeDocument(Collection.VALUES, point_id("value", str(number)), f"value {number}", {"n": number})


def waits(parts: Parts) -> list[float]:
    """Return the seconds between the engine's upserts."""
    times = parts.store.attempts
    return [later - earlier for earlier, later in pairwise(times)]


@fast_forward
async def test_the_engine_gets_three_attempts_one_and_two_seconds_apart(parts: Parts) -> None:
    parts.store.down = DOWN

    with capture_logs() as logs:
        with within(1):
            assert not await parts.writer.write([document()])
        await until(lambda: len(parts.store.attempts) == 3, every=5)
        await until(lambda: len(logs) >= 3, every=5)
    assert [line["event"] for line in logs[:3]] == ["documents.postponed", *["attempt.failed"] * 2]
    assert [line["attempt"] for line in logs[1:3]] == [2, 3]

    assert waits(parts) == [pytest.approx(1, abs=0.5), pytest.approx(2, abs=0.5)]
    assert parts.writer.pending == 1


@pytest.mark.slow
@fast_forward
async def test_an_unexpected_failure_leaves_a_document_pending_and_the_background_task_alive(parts: Parts) -> None:
    task = asyncio.create_task(parts.writer.run())

    def fail() -> None:
        raise KeyError("an engine's fault")

    parts.store.before_upsert = fail
    assert not await parts.writer.write([document()])
    await until(lambda: len(parts.store.attempts) > 2, every=5)
    assert not task.done()
    parts.store.before_upsert = lambda: None
    await until(lambda: parts.writer.pending == 0, every=5)
    task.cancel()


@pytest.mark.slow
@pytest.mark.parametrize("failures", [1, 2])
@fast_forward
async def test_a_write_that_fails_once_is_indexed_in_the_background(failures: int, parts: Parts) -> None:
    parts.store.failures = [DOWN] * failures

    assert not await parts.writer.write([document()])
    await until(lambda: parts.writer.pending == 0, every=5)

    assert len(parts.store.attempts) == failures + 1
    assert (await parts.index.counts())["values"] == 1


async def test_pending_documents_are_written_in_small_batches_of_similar_length(tmp_path: Path) -> None:
    lengths: list[list[int]] = []

    class Measuring(HashingEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
            lengths.append([len(text) for text in texts])
            return super().embed_documents(texts)

    async with open_parts(tmp_path, load=Measuring) as parts:
        await parts.index.open()
        lengths.clear()
        parts.writer.postpone(document(20 * 10 ** (number % 5) + number) for number in range(20))
        assert await parts.writer.reconciler.catch_up() == 20
        assert parts.writer.pending == 0
    assert max(map(len, lengths)) <= 8
    in_order = list(chain.from_iterable(lengths))
    assert in_order == sorted(in_order)


@pytest.mark.parametrize("error", [DiskFullError("full"), WrongDimensionError("384 is not 256")])
async def test_a_permanent_failure_is_not_tried_again(error: LearningMemoryError, parts: Parts) -> None:
    parts.store.failures = [error]

    assert not await parts.writer.write([document()])

    assert len(parts.store.attempts) == 1
    assert parts.writer.pending == 1


async def test_a_write_does_not_wait_for_a_model_that_is_loading(tmp_path: Path) -> None:
    load = SlowLoad[Embedder](HashingEmbedder(16))
    async with open_parts(tmp_path, load=load) as parts:
        parts.embeddings.start()
        async with asyncio.timeout(MINUTES):
            assert not await parts.writer.write([document(1), document(2)])
        assert parts.writer.pending == 2

        load.release.set()
        await parts.index.open()
        assert await parts.writer.reconciler.catch_up() == 2
        assert (await parts.index.counts())["values"] == 2


async def test_a_model_that_failed_leaves_everything_pending(tmp_path: Path) -> None:
    load = SlowLoad[Embedder](EmbeddingUnavailableError("no weights"))
    load.release.set()
    async with open_parts(tmp_path, load=load) as parts:
        async with parts.running():
            with pytest.raises(EmbeddingUnavailableError, match="no weights"):
                await parts.writer.settle()
            assert not await parts.writer.write([document()])
        assert parts.writer.pending == 1


class Stumbling(HashingEmbedder):
    """Fails on one text with its own error, as a library under pressure does."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any("value 13" in text for text in texts):
            raise MemoryError("tensor of 9 GB")
        return super().embed_documents(texts)


async def test_a_text_that_a_model_fails_on_stays_pending(tmp_path: Path) -> None:
    async with open_parts(tmp_path, load=Stumbling) as parts:
        await parts.index.open()

        assert not await parts.writer.write([document(13)])
        assert parts.writer.pending == 1
        assert await parts.writer.write([document(1)])


async def test_a_cancelled_write_is_still_pending(parts: Parts) -> None:
    parts.store.gate.clear()
    call = asyncio.create_task(parts.writer.write([document()]))
    await parts.store.entered.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    parts.store.gate.set()

    assert parts.writer.pending == 1
    await parts.writer.reconciler.catch_up()
    assert (await parts.index.counts())["values"] == 1


@pytest.mark.slow
@fast_forward
async def test_what_is_pending_is_written_as_soon_as_the_engine_is_back(parts: Parts) -> None:
    async with parts.running():
        await parts.writer.settle()
        parts.store.down = DOWN
        assert not await parts.writer.write([document()])
        # An engine that has failed three times is closed and opened again; until then nothing relies on it.
        await until(lambda: not parts.index.is_open, every=5)
        assert parts.writer.pending == 1
        assert Collection.EXPERIENCES_FULL not in parts.writer.reconciler.searchable

        parts.store.down = None
        await until(lambda: parts.writer.pending == 0, every=5)

        assert (await parts.index.counts())["values"] == 1
        assert Collection.EXPERIENCES_FULL in parts.writer.reconciler.searchable


@fast_forward
async def test_an_engine_that_is_down_at_the_start_is_opened_later(tmp_path: Path) -> None:
    async with open_parts(tmp_path) as parts:
        parts.collector.add_resolved([numbered(1)])
        parts.store.down = DOWN
        async with parts.running():
            with pytest.raises(StorageUnavailableError):
                await parts.writer.settle()
            assert not parts.index.is_open

    async with open_parts(tmp_path) as parts, parts.running():
        await until(lambda: parts.index.is_open and parts.writer.pending == 0, every=5)
        assert (await parts.index.counts())["experiences_full"] == 1


@pytest.mark.slow
@fast_forward
async def test_a_burst_of_writes_is_flushed_once_it_is_over(parts: Parts) -> None:
    async with parts.running():
        await parts.writer.settle()
        for number in range(20):
            await parts.writer.write([document(number)])
        assert parts.store.flushes == 0
        await until(lambda: parts.store.flushes > 0, every=5)
        await asyncio.sleep(120)
        assert parts.store.flushes == 1


@fast_forward
async def test_settling_stops_waiting_for_an_engine_that_accepts_no_data(parts: Parts) -> None:
    parts.collector.add_resolved([numbered(1)])
    parts.store.gate.clear()
    async with parts.running():
        async with asyncio.timeout(MINUTES):
            await parts.writer.settle()
        assert parts.writer.pending == 2
        parts.store.gate.set()


@pytest.mark.parametrize("silent", ["model", "engine"])
@fast_forward
async def test_what_model_or_engine_do_not_take_in_time_is_pending(tmp_path: Path, silent: str) -> None:
    model = SilentModel()

    async with open_parts(tmp_path, load=lambda: model) as parts:
        await parts.ready()
        parts.store.hangs = silent == "engine"
        if silent == "model":
            model.released.clear()
        with within(2):
            assert not await parts.writer.write([document()])
        assert parts.writer.pending == 1
        parts.store.hangs = False
        model.released.set()
        assert await parts.writer.reconciler.catch_up() == 1


@fast_forward
async def test_a_removal_that_the_engine_does_not_answer_is_made_up_for(parts: Parts) -> None:
    await parts.ready()
    assert await parts.writer.write([document()])
    parts.store.hangs = True
    with within(2):
        assert not await parts.writer.remove([document().point_id])
    parts.store.hangs = False
    await parts.writer.reconciler.catch_up()
    assert (await parts.index.counts())["values"] == 0


@pytest.mark.parametrize("silent", ["model", "engine"])
@fast_forward
async def test_a_caller_does_not_wait_for_an_index_that_does_not_open(tmp_path: Path, silent: str) -> None:
    load = SlowLoad[Embedder](HashingEmbedder(16))
    if silent == "engine":
        load.release.set()

    async with open_parts(tmp_path, load=load) as parts:
        parts.store.hangs = silent == "engine"
        with (
            within(8),
            pytest.raises((EmbeddingUnavailableError, StorageUnavailableError), match=r"not (open|loaded) yet"),
        ):
            await parts.writer.settle()
        assert parts.store.closed == (silent == "engine")
        parts.store.hangs = False
        load.release.set()
