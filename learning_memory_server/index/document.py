"""A document of a collection: a text to search, and a payload of ids and filter fields without the text."""

import asyncio
import hashlib
import json
import uuid
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from typing import Any, Final, Protocol, Self

from learning_memory_server.model.entry import Ghap, RootCause
from learning_memory_server.model.stored import WRITTEN
from learning_memory_server.model.vocabulary import Axis

DIGEST: Final = "digest"  # The payload field with the document's digest
IS_SHARED: Final = "shared"  # The second `outcome_status` of shared points: another field would use RAM
_NAMESPACE: Final = uuid.UUID("6c1f8f0e-5d0a-5b0e-9a55-3f2c7e1d4b90")  # Never change it: all stored ids derive from it


class Collection(StrEnum):
    """The collections, which are created when the engine is opened."""

    EXPERIENCES_FULL = "experiences_full"
    EXPERIENCES_STRATEGY = "experiences_strategy"
    EXPERIENCES_SURPRISE = "experiences_surprise"
    EXPERIENCES_ROOT_CAUSE = "experiences_root_cause"
    VALUES = "values"
    MEMORIES = "memories"

    @classmethod
    def of(cls, axis: Axis) -> Self:
        """Return the collection for an axis."""
        return cls(f"experiences_{axis}")


@dataclass(frozen=True, slots=True)
class DocumentShape:
    """The common properties of the documents of a collection."""

    keywords: tuple[str, ...] = ()  # payload fields for exact filters. Each one uses RAM
    datetimes: tuple[str, ...] = ()  # payload fields for range filters
    form: str = ""  # Part of the recipe (`index.recipe`). Change it when the same records produce other documents.


class Document(Protocol):
    """A point before its vector and terms are computed from `text` and `parts`."""

    @property
    def collection(self) -> Collection:
        """The collection of the document."""

    @property
    def point_id(self) -> str:
        """The point's id."""

    @property
    def text(self) -> str:
        """The text to embed and search."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Texts to embed separately in addition; see `index.recipe.embed`."""

    @property
    def payload(self) -> dict[str, Any]:
        """The point's payload: ids and filter fields. It has no text, which could be read on the server."""


Key = tuple[str, str]  # A collection, and the id of a point in it


def key_of(document: Document) -> Key:
    """Return the key of a document's point."""
    return document.collection, document.point_id


def digest_of(document: Document) -> str:
    """Return a digest of all input for the document's vector and terms."""
    # The points of a renamed project are created again, so that filters find them.
    renamed = [document.payload["project"]] if WRITTEN in document.payload else []
    made_from = json.dumps([document.text, *document.parts, *renamed]).encode()
    return hashlib.blake2b(made_from, digest_size=12).hexdigest()


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """A document that contains its text. For thousands of documents, build the text on demand to save RAM."""

    collection: Collection
    point_id: str
    text: str
    payload: dict[str, Any]
    parts: tuple[str, ...] = ()


async def in_batches(documents: Iterable[Document], size: int) -> AsyncIterator[list[Document]]:
    """Yield the documents in lists of at most `size`, and let other tasks run between them."""
    made = iter(documents)
    while batch := list(islice(made, size)):
        yield batch
        await asyncio.sleep(0)


@lru_cache(1_024)
def point_id(kind: str, record_id: str) -> str:
    """Return the UUID of a record's point, which is the same in every collection."""
    return str(uuid.uuid5(_NAMESPACE, f"{kind}:{record_id}"))


SHAPES: Final = dict.fromkeys(
    map(Collection.of, Axis), DocumentShape(("project", "domain", "strategy", "outcome_status"), ("resolved_at",))
)
"""The fields for filters of experience searches."""


def documents_of(entry: Ghap) -> list[WholeDocument]:
    """Return the documents of a resolved entry: always `full`, and the other axes if the entry is on them."""
    payload = payload_of(entry)
    point = point_id("ghap", entry.id)
    return [
        WholeDocument(Collection.of(axis), point, text, payload, full_parts(entry) if axis is Axis.FULL else ())
        for axis, text in axis_texts(entry).items()
    ]


def axis_texts(entry: Ghap) -> dict[Axis, str]:
    """Return the text of each axis of a resolved entry: lines without labels, with distinctive parts first."""
    return {axis: axis_text(entry, axis) for axis in Axis if is_on(axis, entry)}


def axis_text(entry: Ghap, axis: Axis) -> str:
    """Return the text of a resolved entry for one of its axes."""
    end = entry.outcome
    cause = end.root_cause
    if axis is Axis.FULL:
        return _text(*full_parts(entry), entry.domain, *(each.line for each in entry.errors))
    if axis is Axis.SURPRISE:
        return _text(end.surprise, entry.prediction, end.result, cause.description if cause else None)
    if axis is Axis.ROOT_CAUSE:
        return _text(_named(cause), entry.hypothesis, entry.domain, entry.strategy)
    worked = end.lesson.what_worked if end.lesson else None
    tries = f"{entry.iteration_count} iteration{'' if entry.iteration_count == 1 else 's'}"
    return _text(entry.strategy, entry.goal, f"{end.status} after {tries}", worked)


def full_parts(entry: Ghap) -> tuple[str, ...]:
    """Return the statements of a resolved entry. Each statement makes sense on its own."""
    end = entry.outcome
    said = (
        entry.goal,
        entry.hypothesis,
        entry.action,
        entry.prediction,
        f"{end.status}: {end.result}",
        end.surprise,
        _named(end.root_cause),
        end.lesson.what_worked if end.lesson else None,
        end.lesson.takeaway if end.lesson else None,
    )
    return tuple(part for part in said if part)


def is_on(axis: Axis, entry: Ghap) -> bool:
    """Whether a resolved entry has a text on the axis. The text is not built."""
    if axis is Axis.STRATEGY:
        return entry.strategy is not None
    if axis is Axis.SURPRISE:
        return bool(entry.outcome.surprise)
    if axis is Axis.ROOT_CAUSE:
        return entry.outcome.root_cause is not None
    return True


def payload_of(entry: Ghap) -> dict[str, Any]:
    """Return the payload of an entry's points: its id and filter fields. The entry itself is in the journal."""
    end = entry.outcome
    kind = {"domain": entry.domain, "strategy": entry.strategy}
    return {
        "ghap_id": entry.id,
        "project": entry.project,
        **{name: part.value for name, part in kind.items() if part},
        "outcome_status": end.status.value,
        "resolved_at": end.resolved_at.isoformat(),
        **{name: written for name, written in entry.others.items() if name == WRITTEN},
    }


def _named(cause: RootCause | None) -> str | None:
    return f"{cause.category}: {cause.description}" if cause else None


def _text(*parts: str | None) -> str:
    return "\n".join(part for part in parts if part)
