"""Move an index to another engine: copy the vectors of the same model, and rebuild the rest."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog

from learning_memory_server.embedding.base import Vectors, same_model
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.errors import DamagedCollectionError, MissingCollectionError, WrongDimensionError
from learning_memory_server.index.document import DIGEST, Collection, Document, Key, digest_of, key_of
from learning_memory_server.index.engines.base import VectorStore
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.index.recipe import completed, embed, fill

_BATCH: Final = 512  # Documents at a time, from several collections

log = structlog.get_logger()


@dataclass(slots=True)
class Moved:
    """The result for one collection."""

    there_before: int = 0  # points that the target had before
    copied: int = 0  # points with the source's vector
    embedded: int = 0  # points with a new vector from the model
    missing: int = 0  # points that belong in the target but are missing at the end
    count: int = 0  # all points in the target at the end
    others: int = 0  # points in the target without a record in the journal, which are left unchanged


@dataclass
class IndexMove:
    """Fills a target index. Existing points are skipped, and only vectors are taken from the source."""

    source: VectorStore | VectorIndex  # the source of vectors, which is not changed
    target: VectorIndex
    model: EmbeddingService  # the model of these vectors
    notices: list[str] = field(default_factory=list, init=False)  # a sentence about each rebuilt collection
    _copies: dict[Collection, bool] = field(default_factory=dict, init=False)

    async def run(
        self, documents: Callable[[], Iterable[Document]], progress: Callable[[int, int], None]
    ) -> dict[Collection, Moved]:
        """Move the index, and count the points afterwards."""
        index, earlier = self.target, len(self.target.notices)
        await index.open()
        self.notices = index.notices[earlier:]
        await self._look_at_source()
        there = await self._there()
        expected = set(map(key_of, documents()))
        before = _count(expected & there)
        moved = {collection: Moved(before[collection]) for collection in Collection}

        async def write(batch: list[Document]) -> None:
            for collection in Collection:
                if some := [each for each in batch if each.collection == collection]:
                    await index.write(some, await self._vectors(some, moved[collection]))
            done = sum(each.there_before + each.copied + each.embedded for each in moved.values())
            progress(done, max(done, len(expected)))

        wanted = await fill(documents, there, write, _BATCH)
        await index.flush()
        counts, there = await index.counts(), await self._there()
        missing, others = _count(wanted - there), _count(there - wanted)
        for collection, each in moved.items():
            each.count, each.missing, each.others = counts[collection], missing[collection], others[collection]
        log.info("index.moved", **{name.value: each.count for name, each in moved.items()})
        return moved

    async def _there(self) -> set[Key]:
        """Return the keys of all points in the target."""
        return {(name, point) for name, points in (await self.target.digests()).items() for point in points}

    async def _look_at_source(self) -> None:
        """Find the collections that cannot be copied, and fail early if the source does not work."""
        for collection in Collection:
            try:
                await self.source.count(collection)
            except (MissingCollectionError, DamagedCollectionError, WrongDimensionError) as error:
                log.info("collection.not_copied", collection=collection.value, reason=error.message)
                self._copies[collection] = False

    async def _vectors(self, batch: Sequence[Document], moved: Moved) -> Vectors:
        """Return the vectors of a batch: the source's if it has them, otherwise the model's."""
        found = await self._found(batch)
        moved.copied += len(found)
        moved.embedded += len(batch) - len(found)
        return await completed(self.model, batch, found)

    async def _found(self, batch: Sequence[Document]) -> dict[str, Vectors]:
        """Return the source's vectors for exactly these documents, by point id."""
        collection = batch[0].collection
        if not self._copies.get(collection, True):
            return {}
        records = await self.source.retrieve(collection, [document.point_id for document in batch], with_vectors=True)
        documents = {document.point_id: document for document in batch}
        same = [record for record in records if record.payload.get(DIGEST) == digest_of(documents[record.id])]
        found = {record.id: record.vector for record in same if record.vector is not None}
        if found and collection not in self._copies:
            # The store only claims which model made its vectors; a sample verifies the claim.
            sample, vector = next(iter(found.items()))
            (made,) = await embed(self.model, [documents[sample]])
            self._copies[collection] = same_model(vector, made)
        return found if self._copies.get(collection, True) else {}


def _count(keys: Iterable[Key]) -> Counter[str]:
    return Counter(collection for collection, _ in keys)
