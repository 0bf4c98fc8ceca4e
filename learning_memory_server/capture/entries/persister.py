"""Resolved entries on their way from the journal to the index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from learning_memory_server.index.document import point_id
from learning_memory_server.index.entry_documents import documents_of

if TYPE_CHECKING:
    from learning_memory_server.capture.entries.collector import ObservationCollector
    from learning_memory_server.index.document import Document
    from learning_memory_server.index.engines.base import Payload
    from learning_memory_server.index.writer import IndexWriter
    from learning_memory_server.model.entry import Ghap


class ExperienceSource:
    """All resolved entries of the journal, as documents."""

    def __init__(self, collector: ObservationCollector) -> None:
        self._collector = collector

    def documents(self) -> Iterator[Document]:
        """Return the documents of all axes of all entries."""
        for entry in self._collector.list_resolved():
            yield from documents_of(entry)

    def forgotten(self) -> Iterator[str]:
        """Return the point ids of forgotten entries."""
        return (point_id("ghap", ghap_id) for ghap_id in self._collector.all_forgotten())

    def knows(self, payload: Payload) -> bool:
        """Return whether a point is of an entry that is resolved or forgotten."""
        return self._collector.has_resolved(str(payload.get("ghap_id")))


class ObservationPersister:
    """Writes resolved entries to the index."""

    def __init__(self, writer: IndexWriter) -> None:
        self._writer = writer

    async def persist(self, entry: Ghap) -> bool:
        """Index the entry. Return whether it is in the index now; if not, it is pending."""
        return await self._writer.write(documents_of(entry))
