from pathlib import Path

from learning_memory_server.embedding.base import EmbeddingIdentity
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.model.vocabulary import Axis, Stance
from tests.learning.values.parts import FULL_0, FULL_1, GOOD, POOL, open_values, values_over
from tests.support import ALICE, TOPICS

UNRELATED = "lasagne"


class Measured(HashingEmbedder):
    """A model whose identity has a threshold."""

    def __init__(self) -> None:
        super().__init__()
        self.identity = EmbeddingIdentity("hashing", "all-MiniLM-L6-v2", "1", 384, 0)


async def test_the_values_that_match_a_question_come_along(tmp_path: Path) -> None:
    async with open_values(tmp_path, load=Measured) as (values, parts):
        pool = (await values.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing
        cache = (await values.store(ALICE, TOPICS["cache"], FULL_1, Axis.FULL)).standing
        found = values_over(parts)
        assert [each.value for each in await found.matching(GOOD)] == [pool.value]
        assert [each.value for each in await found.matching(TOPICS["cache"])] == [cache.value]
        assert await found.matching(UNRELATED) == []
        assert await found.matching(GOOD, "elsewhere") == []


async def test_a_contested_value_does_not_come_along(tmp_path: Path) -> None:
    async with open_values(tmp_path, load=Measured) as (values, parts):
        stored = (await values.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing
        assert await values_over(parts).matching(GOOD)
        for entry in POOL[:3]:
            values_over(parts).judge(ALICE, stored.value.id, entry.id, Stance.CONTRADICTS)
        assert await values_over(parts).matching(GOOD) == []


async def test_no_value_comes_along_if_no_threshold_was_measured(tmp_path: Path) -> None:
    async with open_values(tmp_path) as (values, parts):
        await values.store(ALICE, GOOD, FULL_0, Axis.FULL)
        assert await values_over(parts).matching(GOOD) == []
