"""The recipe for the points of a collection, and a check that an existing collection follows it."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Final

import structlog

from learning_memory_server.embedding.base import PROBE, EmbeddingIdentity, Vectors, same_model
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.embedding.tokens import without_names
from learning_memory_server.errors import ForbiddenCollectionError
from learning_memory_server.index.document import (
    DIGEST,
    Collection,
    Document,
    DocumentShape,
    Key,
    digest_of,
    in_batches,
    key_of,
)
from learning_memory_server.index.engines.base import CollectionSpec, Payload, Point, SparseVector, VectorStore
from learning_memory_server.index.ranking.terms import encode_document
from learning_memory_server.system.waiting import BACKGROUND, Budget

log = structlog.get_logger()

HOW_THEY_ARE_MADE: Final = (
    "Somebody whose key may create collections makes them by running this program once with the same model."
)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The parameters, other than the model, for points of journal records. Increase a number to rebuild collections."""

    form: str = ""  # The form of documents: ids, texts and payloads; see `DocumentShape`
    vectors: int = 2  # How a document's vector is derived from the model's (`index.recipe.embed`). 1 ignored the parts.
    terms: int = 3  # Terms and weights of a text (`index.ranking.terms`). 2 kept letters such as ł and ø.
    layout: int = 4  # How points are stored. 1 had no terms and no number; 2 could not filter chunks by memory.

    def origin(self, identity: EmbeddingIdentity) -> str:
        """Return a name for the model and the method of computing vectors; results from other vectors are outdated."""
        return ".".join(filter(None, (identity.digest, str(self.vectors), self.form)))


@dataclass
class Blueprints:
    """The specifications of all collections, from their recipes and one model."""

    embeddings: EmbeddingService
    shapes: Mapping[Collection, DocumentShape]
    _model: dict[str, Any] = field(default_factory=dict, init=False)

    def recipe(self, collection: Collection) -> Recipe:
        """Return the recipe of a collection."""
        return Recipe(self._shape(collection).form)

    async def spec(self, collection: Collection, budget: Budget = BACKGROUND) -> CollectionSpec:
        """Wait for the model and return the collection's specification."""
        identity = await self.embeddings.identity(budget)
        if self._model.get("identity") != identity.digest:
            (probe,) = await self.embeddings.embed_documents([PROBE], budget)
            self._model = {"model": identity.model, "identity": identity.digest, "probe": probe.tolist()}
        shape = self._shape(collection)
        recipe = asdict(self.recipe(collection))
        depends_on = json.dumps([identity.digest, recipe], sort_keys=True)
        about = recipe | self._model
        return CollectionSpec(
            collection,
            identity.dimension,
            shape.keywords,
            shape.datetimes,
            about,
            hashlib.sha256(depends_on.encode()).hexdigest()[:12],
            partial(_reason_against, collection, about),
        )

    async def ensure(self, store: VectorStore, specs: Sequence[CollectionSpec]) -> list[str]:
        """Ensure that collections exist, and return a sentence about each one that is empty now.

        If collections are missing and the key may not create collections, the error lists all missing ones.
        """
        notices: list[str] = []
        forbidden: list[ForbiddenCollectionError] = []
        for spec in specs:
            try:
                reason = await store.ensure(spec)
            except ForbiddenCollectionError as error:
                forbidden.append(error)
                continue
            if reason is not None:
                log.warning("collection.outdated", collection=spec.name, reason=reason)
                notices.append(f"{reason} It is rebuilt from the journal.")
            await asyncio.sleep(0)  # The embedded engine takes time to create one; let other calls run in between
        if forbidden:
            first, names = forbidden[0], ", ".join(f"`{each.name}`" for each in forbidden)
            first.own_hint = f"{HOW_THEY_ARE_MADE} They are {names}. {first.own_hint}"
            raise first
        return notices

    def _shape(self, collection: Collection) -> DocumentShape:
        return self.shapes.get(collection, DocumentShape())


def _reason_against(collection: str, wanted: Payload, about: Payload) -> str | None:
    """Return the reason why a collection is outdated, from the data stored at its creation; None otherwise."""
    if any(about.get(part) != wanted[part] for part in asdict(Recipe())):
        return f"Collection `{collection}` was made by another version of this program."
    if not same_model(about.get("probe", ()), wanted["probe"]):
        return f"The model no longer makes the vectors that are in `{collection}`."
    return None


def points_of(documents: Sequence[Document], vectors: Vectors) -> list[Point]:
    """Return the points of documents, given vectors of shape (len(documents), dimension)."""
    return [
        Point(
            document.point_id,
            vector,
            {**document.payload, DIGEST: digest_of(document)},
            SparseVector(*encode_document(document.text)),
        )
        for document, vector in zip(documents, vectors, strict=True)
    ]


async def embed(model: EmbeddingService, documents: Sequence[Document], budget: Budget = BACKGROUND) -> Vectors:
    """Return unit vectors of shape (len(documents), dimension). If you change this, increase `Recipe.vectors`.

    The vector of a document with parts is half-way between its text's vector and the mean of its parts' vectors.
    Decision 9 has figures.
    """
    texts = [text for document in documents for text in (document.text, *document.parts)]
    made = await model.embed_documents(texts, budget)
    if len(made) == len(documents):
        return made
    import numpy as np

    vectors = np.empty((len(documents), made.shape[1]), dtype=np.float32)
    start = 0
    for row, document in enumerate(documents):
        whole, parts = made[start], made[start + 1 : start + 1 + len(document.parts)]
        vectors[row] = _unit(whole + _unit(parts.sum(axis=0))) if len(parts) else whole
        start += 1 + len(parts)
    return vectors


async def embed_question(model: EmbeddingService, text: str, budget: Budget, *, is_whole: bool = False) -> Vectors:
    """Return a question's unit vector: of its text if `is_whole`, otherwise half-way to the vector without names.

    Terms match the names. Decision 9 has figures.
    """
    texts = dict.fromkeys((text, "" if is_whole else without_names(text)))
    whole, *words = await asyncio.gather(*(model.embed_query(each, budget) for each in texts if each))
    return _unit(sum(words, whole))


async def completed(model: EmbeddingService, documents: Sequence[Document], known: Mapping[str, Vectors]) -> Vectors:
    """Return vectors of shape (len(documents), dimension), computing only those not in `known` by point id."""
    import numpy as np

    missing = [document for document in documents if document.point_id not in known]
    made = await embed(model, missing) if missing else ()
    vectors = {**known, **{each.point_id: vector for each, vector in zip(missing, made, strict=True)}}
    return np.stack([vectors[document.point_id] for document in documents])


async def fill(
    documents: Callable[[], Iterable[Document]],
    there: set[Key],
    write: Callable[[list[Document]], Awaitable[None]],
    size: int = 128,
) -> set[Key]:
    """Write the documents that are not in `there`, at most `size` at a time, and add them. Return the keys of all.

    `documents` returns all documents at the time of the call. Repeats until none was added during a pass.
    """
    is_complete = False
    while not is_complete:
        is_complete, wanted = True, set[Key]()
        async for batch in in_batches(documents(), size):
            wanted.update(map(key_of, batch))
            if missing := [each for each in batch if key_of(each) not in there]:
                is_complete = False
                await write(missing)
                there.update(map(key_of, missing))
    return wanted


def _unit(vector: Vectors) -> Vectors:
    length = float((vector @ vector) ** 0.5)
    return vector / length if length else vector
