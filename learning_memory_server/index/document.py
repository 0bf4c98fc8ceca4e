"""What goes into a collection: a text to find it by, and a payload that says what it is, without the text."""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from learning_memory_server.model.vocabulary import Axis

DIGEST: Final = "digest"
"""The payload field with the document's digest."""
_NAMESPACE: Final = uuid.UUID("6c1f8f0e-5d0a-5b0e-9a55-3f2c7e1d4b90")
"""Never change it: the ids of all stored points are derived from it."""


class Collection(StrEnum):
    """The collections. All are ensured when the engine is opened."""

    EXPERIENCES_FULL = "experiences_full"
    EXPERIENCES_STRATEGY = "experiences_strategy"
    EXPERIENCES_SURPRISE = "experiences_surprise"
    EXPERIENCES_ROOT_CAUSE = "experiences_root_cause"
    VALUES = "values"
    MEMORIES = "memories"

    @classmethod
    def of(cls, axis: Axis) -> Collection:
        """Return the collection of an axis."""
        return cls(f"experiences_{axis}")


@dataclass(frozen=True, slots=True)
class DocumentShape:
    """What the documents of a collection have in common."""

    keywords: tuple[str, ...] = ()  # payload fields that filters match exactly. Each one costs RAM
    datetimes: tuple[str, ...] = ()  # payload fields that filters range over
    form: str = ""
    """Part of the recipe; see `index.recipe`. Change it when the same records would become other documents, such as
    other texts under the same ids: their collections are then rebuilt."""


class Document(Protocol):
    """A future point without its vector and terms, which are computed from `text` and `parts`."""

    @property
    def collection(self) -> Collection:
        """The collection that it belongs to."""

    @property
    def point_id(self) -> str:
        """The point's id."""

    @property
    def text(self) -> str:
        """The text that is embedded and searched."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Texts that are also embedded separately; see `index.recipe.embed`."""

    @property
    def payload(self) -> dict[str, Any]:
        """The point's payload: ids, and fields to filter on. No text: it could be read on the server."""


def digest_of(document: Document) -> str:
    """Return a digest of everything that the document's vector and terms are made from."""
    made_from = json.dumps([document.text, *document.parts]).encode()
    return hashlib.blake2b(made_from, digest_size=12).hexdigest()


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """A document that keeps its text. Where there are thousands, documents that build it on demand need less RAM."""

    collection: Collection
    point_id: str
    text: str
    payload: dict[str, Any]
    parts: tuple[str, ...] = ()


async def in_batches(documents: Iterable[Document], size: int) -> AsyncIterator[list[Document]]:
    """Yield the documents in lists of at most `size`, and let other tasks run in between.

    Building the documents of 10,000 entries takes 0.4 seconds.
    """
    made = iter(documents)
    while batch := list(islice(made, size)):
        yield batch
        await asyncio.sleep(0)


def point_id(kind: str, record_id: str) -> str:
    """Return the UUID of a record's point, the same in every collection."""
    return str(uuid.uuid5(_NAMESPACE, f"{kind}:{record_id}"))
