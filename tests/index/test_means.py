"""What a query's closeness to a collection is compared with."""

import pytest

from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.scale import DEFAULT_SCALE, Scale
from learning_memory_server.index.document import Collection, WholeDocument, point_id
from learning_memory_server.index.engines.base import Filter
from learning_memory_server.index.ranking.hybrid import Means, Query
from tests.support import Parts

NOTES = Collection.MEMORIES


async def write(parts: Parts, *numbers: int) -> None:
    documents = [WholeDocument(NOTES, point_id("memory", str(n)), f"note {n}", {}) for n in numbers]
    await parts.index.write(documents)


async def test_a_mean_is_taken_again_when_a_collection_has_grown_by_a_quarter(parts: Parts) -> None:
    vector = HashingEmbedder().embed_queries(["note 3"])[0]

    means = Means()

    async def usual_after(*numbers: int) -> float:
        await write(parts, *numbers)
        await means.refresh(parts.store)
        return means.usual_closeness(NOTES, vector, DEFAULT_SCALE)

    assert await usual_after() == 0.03
    first = await usual_after(*range(60))
    vectors = HashingEmbedder().embed_documents([f"note {n}" for n in range(60)])
    assert first == pytest.approx(float((vectors @ vector).mean()), abs=1e-6)
    assert await usual_after(*range(60, 74)) == first
    assert await usual_after(*range(74, 80)) != first
    assert means.sizes[NOTES] == 80


async def test_a_small_collection_is_as_close_as_most_are_and_other_models_have_their_scale(parts: Parts) -> None:
    await write(parts, *range(25))
    means = Means()
    await means.refresh(parts.store)
    vector = HashingEmbedder().embed_queries(["note 3"])[0]
    cosine = float((HashingEmbedder().embed_documents([f"note {n}" for n in range(25)]) @ vector).mean())
    assert means.usual_closeness(NOTES, vector, DEFAULT_SCALE) == pytest.approx((cosine + 0.03) / 2, abs=1e-6)
    missing = means.usual_closeness(NOTES, vector, DEFAULT_SCALE, 0.2)
    assert missing == pytest.approx((cosine + 0.2) / 2, abs=1e-6)
    crowded = 1 - (1 - cosine) * 2
    assert means.usual_closeness(NOTES, vector, Scale(0.544, 0.065)) == pytest.approx((crowded + 0.03) / 2, abs=1e-6)


async def test_a_search_compares_with_the_mean_once_the_index_has_caught_up(parts: Parts) -> None:
    await write(parts, *range(60))
    asked = Query(NOTES, "note 7", 5, Filter())
    before = (await parts.index.search_hybrid(asked))[0].explanation.basis
    await parts.index.refresh_baselines()
    after = (await parts.index.search_hybrid(asked))[0].explanation.basis
    assert before.usual == pytest.approx(0.03)
    assert after.usual > 0.2
