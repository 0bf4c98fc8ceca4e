"""How points are stored in a collection, and what is kept with it so that another layout or model is noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import structlog

from learning_memory_server.embedding.probe import PROBE, agrees
from learning_memory_server.embedding.terms import TERMS_VERSION, encode_document
from learning_memory_server.errors import DamagedCollectionError, WrongDimensionError
from learning_memory_server.indexing.document import DocumentShape
from learning_memory_server.indexing.embedding import VECTORS_VERSION
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

_LAYOUT: Final = 4
"""Raised when points are stored in another way.

1 had no terms, and did not say its number; 2 could not filter on the memory that a chunk is of. What points are made of
has versions of its own: those of terms, of vectors, and of a collection's documents.
"""
_MADE_BY: Final = ("layout", "terms", "vectors", "form")
"""What a collection says of how it was made. Where any of it is another, or is not said, it is made anew."""
_STAGED: Final = "_next"
"""The end of the name of a collection that is to take another's place."""


class Layout:
    """What a collection is made for: this layout, and the vectors of one model.

    Args:
        embeddings: The model.
        shapes: What documents are like, where that is to be known.
    """

    def __init__(self, embeddings: EmbeddingService, shapes: Mapping[Collection, DocumentShape]) -> None:
        self._embeddings = embeddings
        self._shapes = shapes
        self._about: dict[str, Any] = {}

    async def spec(self, collection: Collection, *, is_staged: bool = False) -> CollectionSpec:
        """Wait for the model and return what the collection is to be.

        Args:
            collection: The collection.
            is_staged: Whether it is made beside the present one, to take its place.

        Raises:
            EmbeddingUnavailableError: If there is no model.
        """
        identity = await self._embeddings.identity()
        if self._about.get("identity") != identity.digest:
            self._about = await self._describe(identity)
        shape = self._shapes.get(collection, DocumentShape())
        return CollectionSpec(
            f"{collection}{_STAGED}" if is_staged else collection,
            identity.dimension,
            shape.keywords,
            shape.datetimes,
            {**self._about, "form": shape.form},
        )

    async def ensure(self, store: VectorStore, spec: CollectionSpec) -> str | None:
        """Ensure a collection of this layout and model.

        Returns:
            A sentence, if there was another: it is made anew, and is to be caught up from the journal.

        Raises:
            StorageUnavailableError: If the engine failed.
        """
        try:
            about = await store.ensure(spec)
        except (DamagedCollectionError, WrongDimensionError) as error:
            reason = error.message
        else:
            if any(about.get(part) != spec.about[part] for part in _MADE_BY):
                reason = f"Collection `{spec.name}` was laid out by another version of this program."
            elif not agrees(about.get("probe", ()), spec.about["probe"]):
                reason = f"The model makes other vectors now than those in `{spec.name}`."
            else:
                return None
        log.warning("collection.remade", collection=spec.name, reason=reason)
        await store.drop(spec.name)
        await store.ensure(spec)
        return f"{reason} It is made anew from the journal."

    async def _describe(self, identity: EmbeddingIdentity) -> dict[str, Any]:
        """Return what is kept with each collection: its layout, its model, and what that model does to a sentence."""
        (probe,) = await self._embeddings.embed_documents([PROBE])
        return {
            "layout": _LAYOUT,
            "terms": TERMS_VERSION,
            "vectors": VECTORS_VERSION,
            "model": identity.model,
            "identity": identity.digest,
            "probe": probe.tolist(),
        }


def points_of(documents: Sequence[Document], vectors: NDArray[np.float32]) -> list[Point]:
    """Return the documents as they are stored.

    Args:
        documents: The documents.
        vectors: Theirs, of shape (len(documents), dimension).
    """
    return [
        Point(document.point_id, vector, document.payload, SparseVector(*encode_document(document.text)))
        for document, vector in zip(documents, vectors, strict=True)
    ]
