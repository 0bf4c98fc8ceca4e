"""To another model and back: nothing is lost, and vectors of two models are never compared."""

from pathlib import Path

import numpy as np
import pytest

from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.index.document import Collection
from learning_memory_server.index.queries import ExperienceQuery
from learning_memory_server.model.vocabulary import SearchMode
from tests.services import opened
from tests.support import numbered

pytestmark = pytest.mark.slow

COUNT = 30


async def open_with(path: Path, dimension: int, *new: int) -> tuple[int, list[str], str]:
    """Learn, search, and return how many points there are, what was found, and the model's digest."""
    async with opened(path, load=lambda: HashingEmbedder(dimension)) as services:
        entries = [numbered(number, goal=f"Mend machine{number}") for number in new]
        services.collector.add_resolved(entries)
        await services.writer.complete()
        result = await services.searcher.search_experiences(ExperienceQuery(text="mend machine7", limit=50))
        assert result.mode is SearchMode.HYBRID
        assert services.index.notices == []
        vectors = np.array(list((await services.index.vectors(Collection.EXPERIENCES_FULL)).values()))
        assert vectors.shape == (len(services.collector.list_resolved()), dimension)
        points = (await services.index.counts())["experiences_full"]
        return points, [found.entry.id for found in result.found], (await services.index.embeddings.identity()).digest


async def test_a_model_is_changed_and_changed_back(tmp_path: Path) -> None:
    points, found, first = await open_with(tmp_path, 384, *range(COUNT))
    assert (points, found[0]) == (COUNT, numbered(7).id)

    # Everything is embedded again for the other model, and new entries belong to both.
    points, found, second = await open_with(tmp_path, 128, COUNT)
    assert (points, found[0]) == (COUNT + 1, numbered(7).id)
    assert second != first

    points, found, again = await open_with(tmp_path, 384)
    assert (points, len(found), again) == (COUNT + 1, COUNT + 1, first)
