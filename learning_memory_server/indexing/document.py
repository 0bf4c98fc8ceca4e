"""What is put into a collection: a text to find it by and the data to give back."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from learning_memory_server.domain.vocabulary import Axis
    from learning_memory_server.storage.base import Filter

_NAMESPACE: Final = uuid.UUID("6c1f8f0e-5d0a-5b0e-9a55-3f2c7e1d4b90")
"""Fixed for ever: every stored point's id is derived in it."""


class Collection(StrEnum):
    """The collections that exist. All are ensured when the engine is opened."""

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
    """What the documents of a collection have in common.

    Args:
        keywords: Fields of the data that searches match exactly. Each field costs memory.
        datetimes: Fields that searches range over.
        form: Differs where the same content makes other documents under the same ids; an index that has those is made
            anew.
    """

    keywords: tuple[str, ...] = ()
    datetimes: tuple[str, ...] = ()
    form: str = ""


class Document(Protocol):
    """A point to be: everything but its vector and its terms, which are made from `text` and `parts`."""

    @property
    def collection(self) -> Collection:
        """Where it belongs."""
        ...

    @property
    def point_id(self) -> str:
        """The point's id."""
        ...

    @property
    def text(self) -> str:
        """What to find it by."""
        ...

    @property
    def parts(self) -> tuple[str, ...]:
        """Texts whose meaning counts by itself, too; see `indexing.embedding`."""
        ...

    @property
    def payload(self) -> dict[str, Any]:
        """The data to give back."""
        ...


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """A document that is made at once; one of thousands is better made when it is needed."""

    collection: Collection
    point_id: str
    text: str
    payload: dict[str, Any]
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A question to one collection.

    Args:
        collection: Where to look.
        text: What for.
        limit: The most points to return.
        where: Which points are meant.
        beside: Collections where the same ids stand for the same things. What is found is as near as the nearest of
            its points.
    """

    collection: Collection
    text: str
    limit: int
    where: Filter
    beside: tuple[Collection, ...] = ()


async def in_batches(documents: Iterable[Document], size: int) -> AsyncIterator[list[Document]]:
    """Yield the documents in lists of at most `size`, with a turn for other tasks between them.

    To make the documents of 10,000 entries takes four tenths of a second.
    """
    made = iter(documents)
    while batch := list(islice(made, size)):
        yield batch
        await asyncio.sleep(0)


def point_id(kind: str, record_id: str) -> str:
    """Return the UUID that stands for a record in every collection."""
    return str(uuid.uuid5(_NAMESPACE, f"{kind}:{record_id}"))
