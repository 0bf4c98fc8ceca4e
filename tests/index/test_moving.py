"""Moving an index between engines: vectors of the same model are copied, and everything arrives."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.index.document import SHAPES, Collection, Document, documents_of, full_parts
from learning_memory_server.index.engines.base import Record, VectorStore
from learning_memory_server.index.engines.edge import EdgeStore
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.index.moving import IndexMove, Moved
from learning_memory_server.model.entry import Ghap
from tests.faulty_store import FaultyStore
from tests.index.engines.double import QdrantDouble, opened, store_of
from tests.support import ListeningEmbedder, about, full_ghap, numbered

pytestmark = pytest.mark.slow

FULL = Collection.EXPERIENCES_FULL
ENTRIES = [*(about(topic, n) for n, topic in enumerate(["pool", "cache", "types"] * 60)), full_ghap()]


class OtherEmbedder(HashingEmbedder):
    """Claims to be the same model, but makes other vectors."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return super().embed_documents([text[::-1] for text in texts])


@dataclass
class Move:
    """Two engines, and the entries that belong in both."""

    source: VectorStore
    target: FaultyStore
    model: ListeningEmbedder
    embeddings: EmbeddingService
    entries: list[Ghap] = field(default_factory=lambda: list(ENTRIES))

    def documents(self) -> list[Document]:
        return [document for entry in self.entries for document in documents_of(entry)]

    async def fill(self, model: HashingEmbedder | None = None, entries: Sequence[Ghap] = ()) -> None:
        embeddings = EmbeddingService(lambda: model or HashingEmbedder())
        index = VectorIndex(embeddings, lambda _: self.source, SHAPES)
        await index.open()
        await index.write([each for entry in entries or self.entries for each in documents_of(entry)])
        embeddings.close()

    def move(self) -> IndexMove:
        index = VectorIndex(self.embeddings, lambda _: self.target, SHAPES)
        return IndexMove(self.source, index, self.embeddings)

    async def run(self) -> dict[Collection, Moved]:
        self.reported: list[tuple[int, int]] = []
        return await self.move().run(self.documents, lambda *progress: self.reported.append(progress))


@pytest.fixture(params=["to a server", "from a server"])
async def move(request: pytest.FixtureRequest, tmp_path: Path, double: QdrantDouble) -> AsyncIterator[Move]:
    stores: list[VectorStore] = [EdgeStore(tmp_path / "index"), store_of(double.url, tmp_path / "owner")]
    if request.param == "from a server":
        stores.reverse()
    model = ListeningEmbedder()
    embeddings = EmbeddingService(lambda: model)
    async with opened(stores[0]) as source, opened(stores[1]) as target:
        yield Move(source, FaultyStore(target), model, embeddings)
    embeddings.close()


async def everything(store: VectorStore, collection: Collection) -> list[Record]:
    ids = [record.id for record in await store.scroll(collection)]
    return await store.retrieve(collection, ids, with_vectors=True)


def vector_in(record: Record) -> NDArray[np.float32]:
    assert record.vector is not None
    return record.vector


async def test_everything_arrives_and_the_model_makes_only_samples(move: Move) -> None:
    await move.fill()
    moved = await move.run()
    assert (moved[FULL].copied, moved[FULL].embedded, moved[FULL].count) == (181, 0, 181)
    assert moved[Collection.EXPERIENCES_SURPRISE].copied == 1
    assert not any(each.missing or each.others or each.there_before for each in moved.values())
    # The probe, and one document of each collection that has any, one of them with its parts.
    assert len(move.model.texts) <= 1 + 4 + len(full_parts(ENTRIES[-1]))
    assert move.reported[-1] == (364, 364)
    for collection in Collection:
        theirs, ours = await everything(move.source, collection), await everything(move.target, collection)
        assert [(each.id, each.payload) for each in ours] == [(each.id, each.payload) for each in theirs]
        for left, right in zip(ours, theirs, strict=True):
            assert abs(vector_in(left) - vector_in(right)).max() < 1e-6


async def test_points_that_the_source_lacks_are_embedded(move: Move) -> None:
    await move.fill(entries=ENTRIES[:100])
    moved = await move.run()
    assert (moved[FULL].copied, moved[FULL].embedded, moved[FULL].missing) == (100, 81, 0)


async def test_a_source_that_has_nothing_is_not_needed(move: Move) -> None:
    moved = await move.run()
    assert (moved[FULL].copied, moved[FULL].embedded, moved[FULL].missing) == (0, 181, 0)
    with pytest.raises(StorageUnavailableError):
        await move.source.count(FULL)


async def test_vectors_of_a_model_that_only_claims_to_be_this_one_are_not_copied(move: Move) -> None:
    await move.fill(OtherEmbedder())
    moved = await move.run()
    assert (moved[FULL].copied, moved[FULL].embedded) == (0, 181)


async def test_a_point_of_an_earlier_version_of_its_entry_is_not_copied(move: Move) -> None:
    await move.fill(entries=[numbered(0, goal="an earlier goal"), *ENTRIES[1:]])
    moved = await move.run()
    assert (moved[FULL].copied, moved[FULL].embedded) == (180, 1)


async def test_an_interrupted_move_can_be_resumed(move: Move) -> None:
    await move.fill()

    def fail_late(*progress: int) -> None:
        if progress[0] > 130:
            move.target.down = StorageUnavailableError("gone")

    with pytest.raises(StorageUnavailableError):
        await move.move().run(move.documents, fail_late)
    move.target.down = None
    moved = await move.run()
    assert (moved[FULL].there_before, moved[FULL].copied) == (181, 0)
    assert (await move.run())[FULL].there_before == 181
    assert not any(each.missing for each in moved.values())


async def test_points_that_belong_to_nothing_are_counted_and_left_alone(move: Move) -> None:
    await move.fill()
    await move.run()
    move.entries = ENTRIES[1:]
    moved = await move.run()
    assert (moved[FULL].count, moved[FULL].others, moved[FULL].missing) == (181, 1, 0)


@pytest.mark.parametrize("move", ["to a server"], indirect=True)
async def test_what_is_resolved_during_a_move_is_moved_too(move: Move) -> None:
    await move.fill()
    late = numbered(999)

    def resolve_one(*_progress: int) -> None:
        if late not in move.entries:
            move.entries.append(late)

    moved = await move.move().run(move.documents, resolve_one)
    assert (moved[FULL].copied, moved[FULL].embedded, moved[FULL].missing) == (181, 1, 0)
