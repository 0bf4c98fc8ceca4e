"""Re-ranking: what it changes, and that it never delays or breaks a search."""

import asyncio
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from structlog.testing import capture_logs

from learning_memory_server.embedding.base import Reranker
from learning_memory_server.embedding.extras.sentence import CrossEncoderReranker
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.errors import EmbeddingUnavailableError
from learning_memory_server.index.ranking.fusion import RERANKED, Basis, Explanation
from learning_memory_server.model.vocabulary import SearchMode
from learning_memory_server.recall.recall import Reranking
from tests.embedding.gated import SlowLoad
from tests.support import MINUTES, cancel
from tests.tiny_reranker import FAVOURITE


class Longest:
    """Gives longer texts better scores, and records the sizes of its batches."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        assert query
        self.calls.append(len(texts))
        return np.array([min(len(text), 100) / 100 for text in texts], dtype=np.float32)


@pytest.fixture
def embeddings() -> Iterator[EmbeddingService]:
    service = EmbeddingService(lambda: HashingEmbedder(16))
    yield service
    service.close()


async def loaded(embeddings: EmbeddingService, model: Reranker, retry_seconds: float = 1000) -> Reranking:
    reranking = Reranking(embeddings, lambda: model, retry_seconds)
    await reranking.loaded()
    return reranking


def falling(count: int) -> list[Explanation]:
    """Return results, the best first."""
    return [found(0.9 - 0.8 * place / count) for place in range(count)]


def found(cosine: float, mode: SearchMode = SearchMode.HYBRID) -> Explanation:
    return Explanation(mode=mode, bm25=0.0, basis=Basis(weight=0.45), closeness=cosine)


def first(texts: Sequence[str]) -> Callable[[int], Sequence[str]]:
    return lambda count: texts[:count]


async def test_without_a_model_nothing_is_read_and_nothing_changes(embeddings: EmbeddingService) -> None:
    reranking = Reranking(embeddings, None)
    await reranking.loaded()

    def read(_count: int) -> list[str]:
        raise AssertionError

    assert reranking.depth == 0
    assert await reranking.rerank("pool", falling(2), read) == falling(2)
    semantic = [found(0.5, SearchMode.SEMANTIC)]
    assert await reranking.rerank("?!", semantic, read) == semantic


async def test_a_real_model_favours_its_word(embeddings: EmbeddingService, reranker_folder: Path) -> None:
    model = CrossEncoderReranker(str(reranker_folder))
    texts = [f"pool {number}" for number in range(9)] + [f"{FAVOURITE} pool", FAVOURITE]
    reranking = await loaded(embeddings, model)

    read = await reranking.rerank("pool", falling(11), first(texts), math.inf)

    assert {each.mode for each in read} == {SearchMode.RERANKED}
    own = model.scores("pool", texts)
    scores = [each.score for each in read]
    assert scores == pytest.approx([0.99 * a + 0.01 * b.score for a, b in zip(own, falling(11), strict=True)], abs=1e-6)
    assert sorted(range(11), key=lambda row: -scores[row])[:2] == [10, 9]
    assert all(0 <= score <= 1 for score in scores)


async def test_only_the_best_are_read_and_the_rest_stay_below_them(embeddings: EmbeddingService) -> None:
    model = Longest()
    reranking = await loaded(embeddings, model)
    count = RERANKED + 15
    texts = ["x" * place for place in range(count)]

    read = await reranking.rerank("pool", falling(count), first(texts))

    assert sum(model.calls) == RERANKED
    assert max(model.calls) <= 8
    assert [each.reranked is not None for each in read] == [True] * RERANKED + [False] * 15
    order = sorted(range(count), key=lambda row: -read[row].score)
    assert order == [*reversed(range(RERANKED)), *range(RERANKED, count)]


async def test_the_same_results_have_the_same_scores_however_many_are_asked_for(
    embeddings: EmbeddingService, reranker_folder: Path
) -> None:
    reranking = await loaded(embeddings, CrossEncoderReranker(str(reranker_folder)))
    texts = [f"{FAVOURITE} " * (place % 3) + f"pool {place}" for place in range(3 * RERANKED)]
    relevances = falling(3 * RERANKED)

    many = await reranking.rerank("pool", relevances, first(texts), math.inf)
    few = await reranking.rerank("pool", relevances[:RERANKED], first(texts), math.inf)

    assert many[:RERANKED] == few


async def test_equal_texts_have_equal_scores_to_the_last_bit(
    embeddings: EmbeddingService, reranker_folder: Path
) -> None:
    reranking = await loaded(embeddings, CrossEncoderReranker(str(reranker_folder)))
    texts = ["the same", *(f"other {'text ' * place}" for place in range(12)), "the same"]

    read = await reranking.rerank("pool", [found(0.5)] * len(texts), first(texts), math.inf)

    assert read[0] == read[-1]


async def test_the_model_is_loaded_at_the_first_search_without_a_wait(embeddings: EmbeddingService) -> None:
    load = SlowLoad(Longest())
    reranking = Reranking(embeddings, load)
    assert load.threads == []

    for _ in range(3):
        assert await reranking.rerank("pool", falling(1), first(["x"])) == falling(1)
    # The embedding thread is free in the meantime.
    assert (await embeddings.embed_query("pool")).shape == (16,)
    load.release.set()
    await reranking.loaded()

    (read,) = await reranking.rerank("pool", falling(1), first(["x"]))
    assert read.mode is SearchMode.RERANKED
    (thread,) = load.threads
    assert thread != threading.main_thread().name


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (EmbeddingUnavailableError("It is not here.", hint="Fetch it."), "It is not here. Fetch it."),
        (OSError("no such disk"), "The re-ranking model failed (OSError)."),
    ],
)
async def test_a_model_that_cannot_be_loaded_is_logged_once_and_retried_later(
    embeddings: EmbeddingService, failure: Exception, said: str
) -> None:
    load = SlowLoad(failure, Longest())
    load.release.set()
    patient = Reranking(embeddings, load, retry_seconds=1000)
    with pytest.raises(EmbeddingUnavailableError):
        await patient.loaded()

    with capture_logs() as logs:
        for _ in range(3):
            assert await patient.rerank("pool", falling(1), first(["x"])) == falling(1)

    assert [entry["reason"] for entry in logs] == [said]
    assert len(load.threads) == 1
    load.ends.insert(0, failure)
    hasty = Reranking(embeddings, load, retry_seconds=0)
    # The next attempt comes after a hundred times as long as the first one took.
    async with asyncio.timeout(MINUTES):
        while True:
            with suppress(EmbeddingUnavailableError):
                await hasty.loaded()
                break
            await asyncio.sleep(0)
    (read,) = await hasty.rerank("pool", falling(1), first(["x"]))
    assert read.mode is SearchMode.RERANKED


class Failing(Longest):
    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        raise RuntimeError(f"cannot read {len(texts)} for {query}")


async def test_a_failing_model_keeps_the_order_and_is_logged_once(embeddings: EmbeddingService) -> None:
    reranking = await loaded(embeddings, Failing())

    with capture_logs() as logs:
        for _ in range(3):
            assert await reranking.rerank("pool", falling(2), first(["a", "b"])) == falling(2)

    assert [entry["event"] for entry in logs] == ["search.not_reranked"]
    assert logs[0]["reason"] == "The re-ranking model failed (RuntimeError)."


class Gated(Longest):
    """Reads each batch only when allowed to."""

    def __init__(self) -> None:
        super().__init__()
        self.began = threading.Event()
        self.allowed = threading.Semaphore(0)

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        self.began.set()
        assert self.allowed.acquire(timeout=MINUTES)
        return super().scores(query, texts)


async def test_a_slow_model_keeps_the_order_and_leaves_nothing_behind(embeddings: EmbeddingService) -> None:
    model = Gated()
    reranking = await loaded(embeddings, model)

    with capture_logs() as logs:
        for _ in range(2):
            assert await reranking.rerank("pool", falling(20), first(TEXTS), 0.05) == falling(20)

    assert [entry["reason"] for entry in logs] == ["The re-ranking model takes too long on this machine."]
    model.allowed.release(1000)
    await embeddings.embed_query("pool")
    assert model.calls == [8]


@pytest.mark.parametrize(("retry_seconds", "reads"), [(1000, 1), (0, 3)])
async def test_after_a_re_ranking_that_took_too_long_the_next_searches_do_not_wait(
    embeddings: EmbeddingService, retry_seconds: float, reads: int
) -> None:
    model = Gated()
    reranking = await loaded(embeddings, model, retry_seconds)
    read: list[int] = []

    def texts(count: int) -> list[str]:
        read.append(count)
        return TEXTS

    for _ in range(3):
        await reranking.rerank("pool", falling(20), texts, 0.05)

    model.allowed.release(1000)
    assert len(read) == reads


TEXTS = [f"text {'x' * place}" for place in range(20)]


async def test_without_time_left_nothing_is_re_ranked(embeddings: EmbeddingService) -> None:
    model = Longest()
    reranking = await loaded(embeddings, model)

    with capture_logs() as logs:
        assert await reranking.rerank("pool", falling(1), first(["x"]), 0) == falling(1)

    assert (model.calls, logs) == ([], [])


async def test_another_query_waits_for_one_batch_and_the_event_loop_for_nothing(embeddings: EmbeddingService) -> None:
    model = Gated()
    reranking = await loaded(embeddings, model)
    await embeddings.identity()
    reading = asyncio.create_task(reranking.rerank("pool", falling(20), first(TEXTS), math.inf))
    assert await asyncio.to_thread(model.began.wait, 30)
    query: asyncio.Task[Any] = asyncio.create_task(embeddings.embed_query("urgent"))
    while not embeddings._queries.queue._queries:
        await asyncio.sleep(0)

    model.allowed.release()

    assert (await query).shape == (16,)
    assert not reading.done()
    model.allowed.release(1000)
    assert {each.mode for each in await reading} == {SearchMode.RERANKED}
    assert model.calls == [8, 8, 4]


async def test_a_cancelled_search_leaves_nothing_to_read(embeddings: EmbeddingService) -> None:
    model = Gated()
    reranking = await loaded(embeddings, model)
    reading = asyncio.create_task(reranking.rerank("pool", falling(20), first(TEXTS), math.inf))
    assert await asyncio.to_thread(model.began.wait, 30)

    await cancel(reading)
    model.allowed.release(1000)
    await embeddings.embed_query("next")
    assert model.calls == [8]
