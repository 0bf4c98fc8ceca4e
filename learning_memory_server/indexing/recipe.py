"""How the points of a collection are made, and the check that an existing collection was made that way."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import structlog

from learning_memory_server.embedding.probe import PROBE, agrees
from learning_memory_server.errors import DamagedCollectionError, WrongDimensionError
from learning_memory_server.indexing.document import DocumentShape
from learning_memory_server.search.terms import encode_document
from learning_memory_server.storage.base import CollectionSpec, Point, SparseVector

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.embedding.base import EmbeddingIdentity
    from learning_memory_server.embedding.service import EmbeddingService
    from learning_memory_server.indexing.document import Collection, Document
    from learning_memory_server.storage.base import VectorStore

log = structlog.get_logger()

_STAGED: Final = "_next"
"""The suffix of a collection that is being built to replace another."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How points are made from the journal, apart from the model. A collection with another recipe is rebuilt.

    This is the only place for these numbers: raise one when you change what it describes. A collection stores them under
    these names, and tests pin what the present numbers describe.

    Args:
        form: Which documents a record becomes: their ids, texts and payloads. Set for each kind; see `DocumentShape`.
        vectors: How a document's vector is made from the model's (`indexing.embedding`). 1 ignored the parts.
        terms: Which terms and weights a text has (`search.terms`).
        layout: How points are stored. 1 had no terms and no number; 2 could not filter chunks by memory.
    """

    form: str = ""
    vectors: int = 2
    terms: int = 1
    layout: int = 4

    def origin(self, identity: EmbeddingIdentity) -> str:
        """Return a name for the model and the way vectors are made. Results computed from other vectors are outdated."""
        return ".".join(filter(None, (identity.digest, str(self.vectors), self.form)))


class Blueprints:
    """What each collection should be: made by its recipe, with one model's vectors.

    Args:
        embeddings: The model.
        shapes: What the documents of a collection have in common, where that matters.
    """

    def __init__(self, embeddings: EmbeddingService, shapes: Mapping[Collection, DocumentShape]) -> None:
        self._embeddings = embeddings
        self._shapes = shapes
        self._model: dict[str, Any] = {}

    def recipe(self, collection: Collection) -> Recipe:
        """Return the recipe of a collection."""
        return Recipe(self._shape(collection).form)

    async def spec(self, collection: Collection, *, is_staged: bool = False) -> CollectionSpec:
        """Wait for the model and return the collection's specification.

        Args:
            collection: The collection.
            is_staged: Whether it is built next to the present one, to replace it.

        Raises:
            EmbeddingUnavailableError: If there is no model.
        """
        identity = await self._embeddings.identity()
        if self._model.get("identity") != identity.digest:
            (probe,) = await self._embeddings.embed_documents([PROBE])
            self._model = {"model": identity.model, "identity": identity.digest, "probe": probe.tolist()}
        shape = self._shape(collection)
        return CollectionSpec(
            f"{collection}{_STAGED}" if is_staged else collection,
            identity.dimension,
            shape.keywords,
            shape.datetimes,
            asdict(self.recipe(collection)) | self._model,
        )

    async def ensure(self, store: VectorStore, spec: CollectionSpec) -> str | None:
        """Ensure that a collection exists and is what it should be.

        Returns:
            A sentence if it was not. It is empty now, and has to be filled from the journal.

        Raises:
            StorageUnavailableError: If the engine failed.
        """
        try:
            about = await store.ensure(spec)
        except (DamagedCollectionError, WrongDimensionError) as error:
            reason = error.message
        else:
            if any(about.get(part) != spec.about[part] for part in asdict(Recipe())):
                reason = f"Collection `{spec.name}` was made by another version of this program."
            elif not agrees(about.get("probe", ()), spec.about["probe"]):
                reason = f"The model no longer makes the vectors that are in `{spec.name}`."
            else:
                return None
        log.warning("collection.outdated", collection=spec.name, reason=reason)
        await store.drop(spec.name)
        await store.ensure(spec)
        return f"{reason} It is rebuilt from the journal."

    def _shape(self, collection: Collection) -> DocumentShape:
        return self._shapes.get(collection, DocumentShape())


def points_of(documents: Sequence[Document], vectors: NDArray[np.float32]) -> list[Point]:
    """Return the points of documents.

    Args:
        documents: The documents.
        vectors: Their vectors, of shape (len(documents), dimension).
    """
    return [
        Point(document.point_id, vector, document.payload, SparseVector(*encode_document(document.text)))
        for document, vector in zip(documents, vectors, strict=True)
    ]
