"""A store of any size in seconds: real texts and entries, with vectors scattered around real embeddings.

Embedding 10,000 entries on four axes takes a quarter of an hour, and what is measured here does not depend on
where exactly a stored vector lies. So each theme's text is embedded once, and its entries get that vector with
noise.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from learning_memory_server.domain.ghap import Ghap, Lesson, Resolution, RootCause
from learning_memory_server.domain.vocabulary import (
    Axis,
    Domain,
    OutcomeStatus,
    RootCauseCategory,
    Strategy,
)
from learning_memory_server.indexing.document import Collection, FilterFields
from learning_memory_server.journal.codec import ghap_to_data
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.record import JournalRecord
from learning_memory_server.observation.documents import (
    FILTER_FIELDS,
    axis_texts,
    documents_of,
)
from learning_memory_server.storage.base import CollectionSpec, Point
from learning_memory_server.storage.edge import EdgeStore

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from learning_memory_server.embedding.base import Embedder

_COMPONENTS = (
    "login test",
    "payment webhook",
    "search index",
    "nightly import",
    "image upload",
    "session cache",
    "mobile layout",
    "report export",
)
_FAULTS = (
    "fails now and then because two workers share a file",
    "is slow because it runs one query for each row",
    "shows old data because the cache key lacks the user's language",
    "crashes on dates because the server's time zone is not UTC",
    "works on a laptop and not in CI because a variable is missing",
)
_NOISE = 0.6
"""The length of the noise added to a theme's vector of length 1."""
_START = datetime(2026, 1, 1, tzinfo=UTC)


def themes() -> list[str]:
    """Return the sentences that entries are about."""
    return [f"The {component} {fault}" for component in _COMPONENTS for fault in _FAULTS]


def make_entry(number: int, generator: random.Random) -> Ghap:
    """Return a resolved entry about one of the themes."""
    theme = themes()[number % len(themes())]
    falsified = generator.random() < 0.5
    created = _START + timedelta(minutes=7 * number)
    return Ghap(
        id=f"ghap_{created:%Y%m%d_%H%M%S}_{number:06x}",
        project=f"project-{number % 5}",
        agent_session="0123456789abcdef",
        created_at=created,
        domain=generator.choice(list(Domain)),
        strategy=generator.choice(list(Strategy)),
        goal=f"Find out why it happens, case {number}",
        hypothesis=theme,
        action=f"Change one thing at a time and watch, attempt {generator.randint(1, 9)}",
        prediction="After the change it does not happen in a hundred runs",
        resolution=Resolution(
            status=OutcomeStatus.FALSIFIED if falsified else OutcomeStatus.CONFIRMED,
            result="It still happened, as often as before" if falsified else "It did not happen again",
            resolved_at=created + timedelta(minutes=5),
            surprise=f"{theme}, and also without any load" if falsified else None,
            root_cause=RootCause(generator.choice(list(RootCauseCategory)), theme) if falsified else None,
            lesson=Lesson("Reading the log from the first error on", f"When {theme}, look at its inputs"),
        ),
    )


async def populate(storage: Path, count: int, embedder: Embedder) -> None:
    """Fill an empty storage folder with `count` resolved entries and their points."""
    generator = random.Random(count)
    entries = [make_entry(number, generator) for number in range(count)]
    now = datetime.now(UTC)
    Journal(storage / "journal").entries.append(
        [JournalRecord("ghap", entry.id, now, ghap_to_data(entry)) for entry in entries]
    )
    noise = np.random.default_rng(count)
    store = EdgeStore(storage / "index" / embedder.identity.digest)
    try:
        for collection in Collection:
            fields = FILTER_FIELDS.get(collection, FilterFields())
            spec = CollectionSpec(collection, embedder.identity.dimension, fields.keywords, fields.datetimes)
            await store.ensure(spec)
        for axis in Axis:
            centres: dict[int, NDArray[np.float32]] = {}
            points = []
            for number, entry in enumerate(entries):
                document = next((d for d in documents_of(entry) if d.collection == Collection.of(axis)), None)
                if document is None:
                    continue
                theme = number % len(themes())
                if theme not in centres:
                    centres[theme] = embedder.embed_documents([axis_texts(entry)[axis]])[0]
                scatter = noise.standard_normal(embedder.identity.dimension)
                vector = centres[theme] + _NOISE * scatter / np.linalg.norm(scatter)
                points.append(
                    Point(document.point_id, (vector / np.linalg.norm(vector)).tolist(), document.payload)
                )
            await store.upsert(Collection.of(axis), points)
    finally:
        await store.close()
