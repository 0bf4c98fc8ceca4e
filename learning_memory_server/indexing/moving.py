"""An index moved to another engine: vectors are copied where they are this model's, and all else is made anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.embedding.probe import agrees
from learning_memory_server.errors import (
    DamagedCollectionError,
    MissingCollectionError,
    WrongDimensionError,
)
from learning_memory_server.indexing.document import Collection
from learning_memory_server.indexing.embedding import embed
from learning_memory_server.indexing.index import VectorIndex

log = structlog.get_logger()

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.embedding.service import EmbeddingService
    from learning_memory_server.indexing.document import Document, DocumentShape
    from learning_memory_server.storage.base import VectorStore

_BATCH: Final = 128


@dataclass(slots=True)
class Moved:
    """What became of one collection.

    Args:
        there_before: How many of its points were in the target already.
        copied: How many were made with the vector that the source has.
        embedded: How many were made with a vector of the model.
        missing: How many that belong in it are not in the target at the end.
        count: How many points it has at the end.
        others: How many of these belong to nothing in the journal; they are left alone.
    """

    there_before: int = 0
    copied: int = 0
    embedded: int = 0
    missing: int = 0
    count: int = 0
    others: int = 0


class IndexMove:
    """Fills a target with everything that belongs in an index. What is there already is passed over.

    Points are made as every index makes them, so nothing of them depends on what an engine gives back but the vector.

    Attributes:
        notices: A sentence about each collection of the target that had to be made anew.

    Args:
        source: Where vectors may be; nothing in it is changed.
        target: Where to.
        model: The model whose vectors these are.
        shapes: What documents are like, where that is to be known.
    """

    def __init__(
        self,
        source: VectorStore,
        target: VectorStore,
        model: EmbeddingService,
        shapes: Mapping[Collection, DocumentShape],
    ) -> None:
        self._source = source
        self._target = target
        self._model = model
        self._shapes = shapes
        self._copies: dict[Collection, bool] = {}
        self.notices: list[str] = []

    async def run(
        self, documents: Callable[[], Iterable[Document]], progress: Callable[[int, int], None]
    ) -> dict[Collection, Moved]:
        """Move, and count afterwards.

        Args:
            documents: Returns all that belongs in the index, each time as it is then.
            progress: Is told how many points are in the target, and how many belong there.

        Raises:
            EmbeddingUnavailableError: If there is no model.
            StorageUnavailableError: If an engine failed; what was moved stays, and the move can be taken up again.
        """
        moved = {collection: Moved() for collection in Collection}
        index = VectorIndex(self._model, lambda _: self._target, self._shapes)
        await index.open()
        self.notices = index.notices
        await self._look_at_source()
        there = await index.stored_ids()
        wanted = list(documents())
        for document in wanted:
            moved[document.collection].there_before += document.point_id in there[document.collection]
        # Again until nothing came while the last round was under way.
        while left := [each for each in wanted if each.point_id not in there[each.collection]]:
            for batch in _batches(left):
                collection = batch[0].collection
                await index.write(batch, await self._vectors(batch, moved[collection]))
                there[collection] |= {document.point_id for document in batch}
                done = sum(each.there_before + each.copied + each.embedded for each in moved.values())
                progress(done, max(done, len(wanted)))
            wanted = list(documents())
        await index.flush()
        await self._count(wanted, index, moved)
        log.info("index.moved", **{name.value: each.count for name, each in moved.items()})
        return moved

    async def _look_at_source(self) -> None:
        """Find out which collections there are, also to fail at once if the source does not work."""
        for collection in Collection:
            try:
                await self._source.count(collection)
            except (MissingCollectionError, DamagedCollectionError, WrongDimensionError) as error:
                log.info("collection.not_copied", collection=collection.value, reason=error.message)
                self._copies[collection] = False

    async def _vectors(self, batch: Sequence[Document], moved: Moved) -> NDArray[np.float32]:
        """Return the vectors of a batch: the source's, else the model's."""
        import numpy as np  # noqa: PLC0415 - not before there are vectors

        found = await self._found(batch)
        missing = [document for document in batch if document.point_id not in found]
        if missing:
            made = await embed(self._model, missing)
            found |= {document.point_id: vector for document, vector in zip(missing, made, strict=True)}
        moved.copied += len(batch) - len(missing)
        moved.embedded += len(missing)
        return np.stack([found[document.point_id] for document in batch])

    async def _found(self, batch: Sequence[Document]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors that the source has of these very documents, by point id."""
        collection = batch[0].collection
        if not self._copies.get(collection, True):
            return {}
        records = await self._source.retrieve(
            collection, [document.point_id for document in batch], with_vectors=True
        )
        documents = {document.point_id: document for document in batch}
        same = [record for record in records if record.payload == documents[record.id].payload]
        found = {record.id: record.vector for record in same if record.vector is not None}
        if found and collection not in self._copies:
            # A store can claim to be of a model; a sample shows it.
            sample, vector = next(iter(found.items()))
            (made,) = await embed(self._model, [documents[sample]])
            self._copies[collection] = agrees(vector, made)
        return found if self._copies.get(collection, True) else {}

    @staticmethod
    async def _count(
        wanted: Iterable[Document], index: VectorIndex, moved: Mapping[Collection, Moved]
    ) -> None:
        there = await index.stored_ids()
        belonging: dict[str, set[str]] = {collection: set() for collection in Collection}
        for document in wanted:
            belonging[document.collection].add(document.point_id)
        counts = await index.counts()
        for collection, each in moved.items():
            each.count = counts[collection]
            each.missing = len(belonging[collection] - there[collection])
            each.others = len(there[collection] - belonging[collection])


def _batches(documents: Sequence[Document]) -> Iterable[list[Document]]:
    """Yield the documents collection by collection."""
    for collection in Collection:
        chosen = [document for document in documents if document.collection == collection]
        for start in range(0, len(chosen), _BATCH):
            yield chosen[start : start + _BATCH]
