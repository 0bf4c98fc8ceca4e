"""An index of the default model of earlier versions gets new vectors by itself."""

import os
from pathlib import Path

import numpy as np
import pytest

from learning_memory_server.embedding.base import DEFAULT_MODEL, EmbeddingIdentity
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.index.document import Collection
from learning_memory_server.index.queries import ExperienceQuery
from learning_memory_server.model.vocabulary import SearchMode
from learning_memory_server.server.settings import load_settings
from tests.services import opened
from tests.support import numbered

pytestmark = pytest.mark.slow

COUNT = 12
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


class FormerDefault(HashingEmbedder):
    """An embedder with the identity that the default model had; what its vectors are does not matter here."""

    def __init__(self) -> None:
        super().__init__()
        self.identity = EmbeddingIdentity("sentence-transformers", DEFAULT_MODEL, WEIGHTS_SHA256, 384, 256)


async def test_old_vectors_are_replaced_while_lexical_search_answers(tmp_path: Path) -> None:
    settings = load_settings({"LEARNING_MEMORY_STORAGE_PATH": str(tmp_path), "LEARNING_MEMORY_CONFIG": os.devnull})
    async with opened(settings, load=FormerDefault) as services:
        services.collector.add_resolved([numbered(number, goal=f"Mend machine{number}") for number in range(COUNT)])
        await services.writer.complete()
    assert (settings.index_directory / "61447e46f66c").is_dir()

    async with opened(settings) as services:
        query = ExperienceQuery(text="mend machine7", limit=5)
        early = await services.searcher.search_experiences(query)
        assert (early.mode, early.found[0].entry.id) == (SearchMode.LEXICAL, numbered(7).id)

        await services.writer.complete()

        later = await services.searcher.search_experiences(query)
        assert (later.mode, later.found[0].entry.id) == (SearchMode.HYBRID, numbered(7).id)
        vectors = await services.index.vectors(Collection.EXPERIENCES_FULL)
        assert len(vectors) == COUNT
        assert (await services.index.embeddings.identity()).digest == "79d41837345b"
        np.testing.assert_allclose(np.linalg.norm(list(vectors.values()), axis=1), 1, atol=1e-4)
