"""From a resolved entry to its points on the four axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from learning_memory_server.indexing.document import point_id
from learning_memory_server.observation.documents import documents_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.indexing.document import Document
    from learning_memory_server.indexing.writer import IndexWriter
    from learning_memory_server.observation.collector import ObservationCollector


class ExperienceSource:
    """Every resolved entry in the journal, as documents."""

    def __init__(self, collector: ObservationCollector) -> None:
        self._collector = collector

    def documents(self) -> Iterator[Document]:
        """Return the documents of all axes of all entries."""
        for entry in self._collector.list_resolved():
            yield from documents_of(entry)

    def forgotten(self) -> Iterator[str]:
        """Return the point ids of the entries that are forgotten."""
        return (point_id("ghap", ghap_id) for ghap_id in self._collector.all_forgotten())


class ObservationPersister:
    """Puts resolved entries into the index.

    Args:
        writer: Tries three times, and remembers what is pending.
    """

    def __init__(self, writer: IndexWriter) -> None:
        self._writer = writer

    async def persist(self, entry: Ghap) -> bool:
        """Index the entry and tell whether it can be found now; if not, it is pending."""
        return await self._writer.write(documents_of(entry))
