import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from learning_memory_server.embedding.base import Embedder
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.errors import EmbeddingUnavailableError
from tests.embedding.gated import Gated, settle

SECRET = "/home/someone/models/secret.bin: CUDA error 700"  # noqa: S105 - no password


class SlowLoad:
    """A loader that waits to be released, and counts its calls."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.release = threading.Event()
        self.failure = failure
        self.threads: list[str] = []

    def __call__(self) -> Embedder:
        self.threads.append(threading.current_thread().name)
        self.release.wait(30)
        if self.failure:
            raise self.failure
        return HashingEmbedder(16)


@pytest.fixture
def load() -> Iterator[SlowLoad]:
    loader = SlowLoad()
    yield loader
    loader.release.set()


async def test_the_model_loads_in_the_background_and_once(load: SlowLoad) -> None:
    service = EmbeddingService(load)
    assert str(service.state) == "idle"
    assert load.threads == []

    service.start()
    service.start()
    assert str(service.state) == "loading"
    load.release.set()
    assert (await service.identity()).dimension == 16

    assert str(service.state) == "ready"
    (thread,) = load.threads
    assert thread != threading.main_thread().name
    service.close()


async def test_texts_are_embedded_once_the_model_is_there(load: SlowLoad) -> None:
    service = EmbeddingService(load)
    call = asyncio.create_task(service.embed_documents(["a b", "c"]))
    load.release.set()

    np.testing.assert_array_equal(await call, HashingEmbedder(16).embed_documents(["a b", "c"]))
    np.testing.assert_array_equal(await service.embed_query("a b"), HashingEmbedder(16).embed_queries(["a b"])[0])
    service.close()


async def test_a_failure_to_load_is_reported_without_the_library_s_message() -> None:
    loader = SlowLoad(RuntimeError(SECRET))
    loader.release.set()
    service = EmbeddingService(loader)

    calls: list[Callable[[], Awaitable[object]]] = [
        service.identity,
        lambda: service.embed_query("x"),
        lambda: service.embed_documents(["x"]),
    ]
    for call in calls:
        with pytest.raises(EmbeddingUnavailableError) as caught:
            await call()
        assert "secret" not in caught.value.message + str(caught.value.hint)
        assert "RuntimeError" in caught.value.message
        assert caught.value.hint
    assert str(service.state) == "failed"
    assert len(loader.threads) == 1
    service.close()


async def test_a_loader_s_own_explanation_is_passed_on() -> None:
    loader = SlowLoad(EmbeddingUnavailableError("The weights are not the known ones.", hint="Reinstall."))
    loader.release.set()
    service = EmbeddingService(loader)

    with pytest.raises(EmbeddingUnavailableError, match="not the known ones") as caught:
        await service.identity()
    assert caught.value.hint == "Reinstall."
    service.close()


async def test_a_model_that_could_not_be_loaded_is_retried_at_a_later_use() -> None:
    loader = SlowLoad(EmbeddingUnavailableError("Ollama does not answer."))
    loader.release.set()
    service = EmbeddingService(loader, retry_seconds=0)
    with pytest.raises(EmbeddingUnavailableError):
        await service.identity()
    assert str(service.state) == "failed"

    loader.failure = None
    # The pause is a hundred times as long as the first attempt took.
    async with asyncio.timeout(30):
        while True:
            with suppress(EmbeddingUnavailableError):
                assert (await service.identity()).dimension == 16
                break
            await asyncio.sleep(0)

    assert str(service.state) == "ready"
    assert len(loader.threads) == 2
    assert (await service.embed_query("x")).shape == (16,)
    service.close()


async def test_a_cancelled_caller_does_not_cancel_the_loading(load: SlowLoad) -> None:
    service = EmbeddingService(load)
    patient = asyncio.create_task(service.identity())
    hasty = asyncio.create_task(service.embed_query("x"))
    await asyncio.sleep(0)
    hasty.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hasty
    assert str(service.state) == "loading"

    load.release.set()

    assert (await patient).dimension == 16
    assert (await service.embed_query("x")).shape == (16,)
    service.close()


class Failing(HashingEmbedder):
    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise RuntimeError(f"{SECRET} {len(texts)}")


async def test_a_failing_model_is_reported_without_the_library_s_message() -> None:
    service = EmbeddingService(Failing)
    with pytest.raises(EmbeddingUnavailableError) as documents:
        await service.embed_documents(["x"])
    with pytest.raises(EmbeddingUnavailableError) as query:
        await service.embed_query("x")
    assert "secret" not in documents.value.message + query.value.message
    service.close()


class OneAtATime(HashingEmbedder):
    """Fails when two threads call it at the same time."""

    def __init__(self) -> None:
        super().__init__(16)
        self.busy = threading.Lock()

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        assert self.busy.acquire(blocking=False)
        try:
            return super().embed_documents(texts)
        finally:
            self.busy.release()


async def test_the_model_is_called_from_one_thread_at_a_time() -> None:
    service = EmbeddingService(OneAtATime)

    vectors = await asyncio.gather(*(service.embed_query(f"text {n}") for n in range(50)))

    assert len(vectors) == 50
    service.close()


async def test_closing_does_not_wait_for_a_model_that_is_loading(load: SlowLoad) -> None:
    service = EmbeddingService(load)
    service.start()

    service.close()

    assert str(service.state) == "loading"


async def test_a_query_waits_for_one_batch_of_documents_and_not_for_all() -> None:
    model = Gated()
    service = EmbeddingService(lambda: model)
    texts = [f"text {'x ' * (number * 7 % 30)}{number}" for number in range(100)]
    documents = [asyncio.create_task(service.embed_documents(texts)) for _ in range(2)]
    assert await asyncio.to_thread(model.began.wait, 30)
    query = asyncio.create_task(service.embed_query("urgent"))
    await settle()

    model.allowed.release()

    np.testing.assert_array_equal(await query, HashingEmbedder(16).embed_queries(["urgent"])[0])
    assert model.calls[:2] == ["8 documents", "query"]
    assert not any(task.done() for task in documents)
    model.allowed.release(1000)
    for vectors in await asyncio.gather(*documents):
        np.testing.assert_array_equal(vectors, HashingEmbedder(16).embed_documents(texts))
    assert len(model.calls) == 27
    service.close()


async def test_cancelled_work_is_not_embedded() -> None:
    model = Gated()
    service = EmbeddingService(lambda: model)
    documents = asyncio.create_task(service.embed_documents(["text"] * 100))
    assert await asyncio.to_thread(model.began.wait, 30)

    documents.cancel()
    with pytest.raises(asyncio.CancelledError):
        await documents
    model.allowed.release(1000)

    await service.embed_query("next")
    assert model.calls == ["8 documents", "query"]
    service.close()


async def test_a_query_that_is_asked_twice_at_once_is_embedded_once() -> None:
    model = Gated()
    service = EmbeddingService(lambda: model)
    documents = asyncio.create_task(service.embed_documents(["text"]))
    assert await asyncio.to_thread(model.began.wait, 30)
    hasty, patient, other = (asyncio.create_task(service.embed_query(text)) for text in ("same", "same", "another"))
    await settle()
    hasty.cancel()
    model.allowed.release()

    np.testing.assert_array_equal(await patient, HashingEmbedder(16).embed_queries(["same"])[0])
    np.testing.assert_array_equal(await other, HashingEmbedder(16).embed_queries(["another"])[0])
    await documents
    assert model.calls == ["1 documents", "query", "query"]
    service.close()


async def test_closing_cancels_what_waits_for_the_model() -> None:
    model = Gated()
    service = EmbeddingService(lambda: model)
    first = asyncio.create_task(service.embed_documents(["first"]))
    assert await asyncio.to_thread(model.began.wait, 30)
    query = asyncio.create_task(service.embed_query("waiting"))
    await settle()

    service.close()

    with pytest.raises(asyncio.CancelledError):
        await query
    model.allowed.release()
    assert (await first).shape == (1, 16)


async def test_the_runtime_is_known_once_the_model_is_loaded(load: SlowLoad) -> None:
    service = EmbeddingService(load)
    assert service.runtime is None
    service.start()
    assert service.runtime is None
    load.release.set()
    await service.identity()

    assert service.runtime == "hashing"
    service.close()


class Counting(HashingEmbedder):
    """Records the queries that reach the model."""

    def __init__(self, dimension: int = 16) -> None:
        super().__init__(dimension)
        self.queries: list[str] = []

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.queries += texts
        return super().embed_queries(texts)


async def test_a_query_is_embedded_once() -> None:
    model = Counting()
    service = EmbeddingService(lambda: model)

    first, again = await service.embed_query("a b"), await service.embed_query("a b")

    np.testing.assert_array_equal(again, first)
    np.testing.assert_array_equal(again, HashingEmbedder(16).embed_queries(["a b"])[0])
    assert model.queries == ["a b"]
    service.close()


async def test_a_cached_vector_cannot_be_changed() -> None:
    service = EmbeddingService(Counting)
    vector = await service.embed_query("a b")

    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 7
    service.close()


async def test_the_least_recently_used_query_leaves_the_cache() -> None:
    model = Counting()
    service = EmbeddingService(lambda: model)
    for number in range(256):
        await service.embed_query(f"text {number}")
    await service.embed_query("text 0")
    await service.embed_query("one more")
    assert len(model.queries) == 257

    await service.embed_query("text 0")
    assert len(model.queries) == 257
    await service.embed_query("text 1")
    assert model.queries[-1] == "text 1"
    service.close()


async def test_the_cache_has_no_vectors_of_another_model() -> None:
    model = Counting()
    service = EmbeddingService(lambda: model)
    await service.embed_query("a b")
    model.identity = replace(model.identity, weights="2")

    await service.embed_query("a b")

    assert model.queries == ["a b", "a b"]
    service.close()


async def test_a_cached_query_does_not_wait_for_the_model() -> None:
    model = Gated()
    service = EmbeddingService(lambda: model)
    remembered = await service.embed_query("known")
    documents = asyncio.create_task(service.embed_documents(["text"]))
    assert await asyncio.to_thread(model.began.wait, 30)

    np.testing.assert_array_equal(await service.embed_query("known"), remembered)

    assert not documents.done()
    model.allowed.release()
    await documents
    service.close()


async def test_a_query_that_failed_is_not_cached() -> None:
    service = EmbeddingService(FailingOnce)
    with pytest.raises(EmbeddingUnavailableError):
        await service.embed_query("x")

    assert (await service.embed_query("x")).shape == (16,)
    service.close()


class FailingOnce(Counting):
    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = super().embed_queries(texts)
        if len(self.queries) == 1:
            raise RuntimeError(SECRET)
        return vectors
