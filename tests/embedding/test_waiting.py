import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.errors import EmbeddingUnavailableError
from learning_memory_server.system.waiting import Budget
from tests.embedding.gated import Gated, busy, settle


class Batches(Gated):
    """Records how many queries it embeds at once."""

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(f"{len(texts)} queries")
        return HashingEmbedder(16).embed_queries(texts)


async def test_queries_that_wait_at_the_same_time_are_embedded_together() -> None:
    model, texts = Batches(), [f"text {'x ' * (number % 3)}{number}" for number in range(20)]
    async with busy(model) as service:
        queries = [asyncio.create_task(service.embed_query(text)) for text in texts]
        await settle()

        model.allowed.release()

        np.testing.assert_array_equal(await asyncio.gather(*queries), HashingEmbedder(16).embed_documents(texts))
        assert model.calls == ["1 documents", "8 queries", "8 queries", "4 queries"]


async def test_a_long_query_does_not_make_many_others_wait() -> None:
    model, short, long = Batches(), [f"text {number}" for number in range(3)], "long " * 120
    async with busy(model) as service:
        queries = [asyncio.create_task(service.embed_query(text)) for text in [*short, long, f"{long} too"]]
        await settle()

        model.allowed.release()

        await asyncio.gather(*queries)
        assert model.calls == ["1 documents", "3 queries", "1 queries", "1 queries"]


async def test_a_query_that_is_late_fails_and_is_not_embedded() -> None:
    model = Batches()
    async with busy(model) as service:
        with pytest.raises(EmbeddingUnavailableError, match=r"^The embedding model did not answer in time\.$"):
            await service.embed_query("impatient", Budget(model=0.01))
        model.allowed.release()

        await service.embed_query("patient")
        assert model.calls == ["1 documents", "1 queries"]


async def test_a_document_that_is_late_fails() -> None:
    async with busy(Gated()) as service:
        with pytest.raises(EmbeddingUnavailableError, match="in time"):
            await service.embed_documents(["impatient"], Budget(model=0.01))


class Picky(Batches):
    """Fails on one query, as a library under pressure does."""

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if "bad" in texts:
            raise MemoryError("it does not fit")
        return super().embed_queries(texts)


async def test_a_query_that_the_model_fails_on_fails_alone() -> None:
    model = Picky()
    async with busy(model) as service:
        queries = [asyncio.create_task(service.embed_query(text)) for text in ("good", "bad", "better")]
        await settle()
        model.allowed.release()

        good, bad, better = await asyncio.gather(*queries, return_exceptions=True)

    np.testing.assert_array_equal([good, better], HashingEmbedder(16).embed_documents(["good", "better"]))
    assert isinstance(bad, EmbeddingUnavailableError)
