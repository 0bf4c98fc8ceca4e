import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from learning_memory_server.embedding.base import Embedder
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.errors import EmbeddingUnavailableError
from tests.embedding.gated import Gated, SlowLoad, busy, settle
from tests.support import MINUTES, cancel

Serve = Callable[..., EmbeddingService]
SECRET = "/home/someone/models/secret.bin: CUDA error 700"  # noqa: S105 - no password


@pytest.fixture
def load() -> Iterator[SlowLoad[Embedder]]:
    loader = SlowLoad[Embedder](HashingEmbedder(16))
    yield loader
    loader.release.set()


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Make services of models' loaders, which are closed at the end."""
    with ExitStack() as services:
        yield lambda load, **options: services.enter_context(closing(EmbeddingService(load, **options)))


async def test_the_model_loads_in_the_background_and_once(load: SlowLoad[Embedder], serve: Serve) -> None:
    service = serve(load)
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


async def test_texts_are_embedded_once_the_model_is_there(load: SlowLoad[Embedder], serve: Serve) -> None:
    service = serve(load)
    call = asyncio.create_task(service.embed_documents(["a b", "c"]))
    load.release.set()

    np.testing.assert_array_equal(await call, HashingEmbedder(16).embed_documents(["a b", "c"]))
    np.testing.assert_array_equal(await service.embed_query("a b"), HashingEmbedder(16).embed_queries(["a b"])[0])


async def test_a_failure_to_load_is_reported_without_the_library_s_message(
    load: SlowLoad[Embedder], serve: Serve
) -> None:
    load.ends = [RuntimeError(SECRET)]
    load.release.set()
    service = serve(load)

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
    assert len(load.threads) == 1


async def test_a_loader_s_own_explanation_is_passed_on(load: SlowLoad[Embedder], serve: Serve) -> None:
    load.ends = [EmbeddingUnavailableError("The weights are not the known ones.", hint="Reinstall.")]
    load.release.set()
    service = serve(load)

    with pytest.raises(EmbeddingUnavailableError, match="not the known ones") as caught:
        await service.identity()
    assert caught.value.hint == "Reinstall."


async def test_a_model_that_could_not_be_loaded_is_retried_at_a_later_use(
    load: SlowLoad[Embedder], serve: Serve
) -> None:
    load.ends.insert(0, EmbeddingUnavailableError("Ollama does not answer."))
    load.release.set()
    service = serve(load, retry_seconds=0)
    with pytest.raises(EmbeddingUnavailableError):
        await service.identity()
    assert str(service.state) == "failed"

    # The pause is a hundred times as long as the first attempt took.
    async with asyncio.timeout(MINUTES):
        while True:
            with suppress(EmbeddingUnavailableError):
                assert (await service.identity()).dimension == 16
                break
            await asyncio.sleep(0)

    assert str(service.state) == "ready"
    assert len(load.threads) == 2
    assert (await service.embed_query("x")).shape == (16,)


async def test_a_cancelled_caller_does_not_cancel_the_loading(load: SlowLoad[Embedder], serve: Serve) -> None:
    service = serve(load)
    patient = asyncio.create_task(service.identity())
    hasty = asyncio.create_task(service.embed_query("x"))
    await asyncio.sleep(0)
    await cancel(hasty)
    assert str(service.state) == "loading"

    load.release.set()

    assert (await patient).dimension == 16
    assert (await service.embed_query("x")).shape == (16,)


class Failing(HashingEmbedder):
    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise RuntimeError(f"{SECRET} {len(texts)}")


async def test_a_failing_model_is_reported_without_the_library_s_message(serve: Serve) -> None:
    service = serve(Failing)
    with pytest.raises(EmbeddingUnavailableError) as documents:
        await service.embed_documents(["x"])
    with pytest.raises(EmbeddingUnavailableError) as query:
        await service.embed_query("x")
    assert "secret" not in documents.value.message + query.value.message


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


async def test_the_model_is_called_from_one_thread_at_a_time(serve: Serve) -> None:
    service = serve(OneAtATime)

    vectors = await asyncio.gather(*(service.embed_query(f"text {n}") for n in range(50)))

    assert len(vectors) == 50


async def test_closing_does_not_wait_for_a_model_that_is_loading(load: SlowLoad[Embedder]) -> None:
    service = EmbeddingService(load)
    service.start()

    service.close()

    assert str(service.state) == "loading"


async def test_a_query_waits_for_one_batch_of_documents_and_not_for_all(serve: Serve) -> None:
    model = Gated()
    service = serve(lambda: model)
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


async def test_cancelled_work_is_not_embedded(serve: Serve) -> None:
    model = Gated()
    service = serve(lambda: model)
    documents = asyncio.create_task(service.embed_documents(["text"] * 100))
    assert await asyncio.to_thread(model.began.wait, 30)

    await cancel(documents)
    model.allowed.release(1000)

    await service.embed_query("next")
    assert model.calls == ["8 documents", "query"]


async def test_a_query_that_is_asked_twice_at_once_is_embedded_once() -> None:
    model = Gated()
    async with busy(model) as service:
        asked = [asyncio.create_task(service.embed_query(text)) for text in ("same", "same", "another")]
        await settle()
        asked[0].cancel()
        model.allowed.release()
        answered = await asyncio.gather(*asked[1:])

    np.testing.assert_array_equal(answered, HashingEmbedder(16).embed_queries(["same", "another"]))
    assert model.calls == ["1 documents", "query", "query"]


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


async def test_the_runtime_is_known_once_the_model_is_loaded(load: SlowLoad[Embedder], serve: Serve) -> None:
    service = serve(load)
    assert service.runtime is None
    service.start()
    assert service.runtime is None
    load.release.set()
    await service.identity()
    assert service.runtime == "hashing"


class Counting(HashingEmbedder):
    """Records the queries that reach the model."""

    def __init__(self, dimension: int = 16) -> None:
        super().__init__(dimension)
        self.queries: list[str] = []

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.queries += texts
        return super().embed_queries(texts)


async def test_a_query_is_embedded_once(serve: Serve) -> None:
    model = Counting()
    service = serve(lambda: model)

    first, again = await service.embed_query("a b"), await service.embed_query("a b")

    np.testing.assert_array_equal(again, first)
    np.testing.assert_array_equal(again, HashingEmbedder(16).embed_queries(["a b"])[0])
    assert model.queries == ["a b"]


async def test_a_cached_vector_cannot_be_changed(serve: Serve) -> None:
    service = serve(Counting)
    vector = await service.embed_query("a b")

    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 7


async def test_the_least_recently_used_query_leaves_the_cache(serve: Serve) -> None:
    model = Counting()
    service = serve(lambda: model)
    for number in range(256):
        await service.embed_query(f"text {number}")
    await service.embed_query("text 0")
    await service.embed_query("one more")
    assert len(model.queries) == 257

    await service.embed_query("text 0")
    assert len(model.queries) == 257
    await service.embed_query("text 1")
    assert model.queries[-1] == "text 1"


async def test_the_cache_has_no_vectors_of_another_model(serve: Serve) -> None:
    model = Counting()
    service = serve(lambda: model)
    await service.embed_query("a b")
    model.identity = replace(model.identity, weights="2")

    await service.embed_query("a b")

    assert model.queries == ["a b", "a b"]


async def test_a_cached_query_does_not_wait_for_the_model(serve: Serve) -> None:
    model = Gated()
    service = serve(lambda: model)
    remembered = await service.embed_query("known")
    documents = asyncio.create_task(service.embed_documents(["text"]))
    assert await asyncio.to_thread(model.began.wait, 30)

    np.testing.assert_array_equal(await service.embed_query("known"), remembered)

    assert not documents.done()
    model.allowed.release()
    await documents


async def test_a_query_that_failed_is_not_cached(serve: Serve) -> None:
    service = serve(FailingOnce)
    with pytest.raises(EmbeddingUnavailableError):
        await service.embed_query("x")

    assert (await service.embed_query("x")).shape == (16,)


class FailingOnce(Counting):
    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = super().embed_queries(texts)
        if len(self.queries) == 1:
            raise RuntimeError(SECRET)
        return vectors


async def test_after_closing_every_query_is_refused_also_the_same_one_again(
    load: SlowLoad[Embedder], serve: Serve
) -> None:
    service = serve(load)
    load.release.set()
    await service.identity()
    service.close()
    for _ in range(2):
        async with asyncio.timeout(MINUTES):
            with pytest.raises(EmbeddingUnavailableError):
                await service.embed_query("a question")
