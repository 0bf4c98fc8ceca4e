"""What there is in a memory, in figures."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from importlib import metadata
from typing import TYPE_CHECKING, Any

from learning_memory_server.domain.vocabulary import Axis, OutcomeStatus, Tier
from learning_memory_server.journal.files import disk_use
from learning_memory_server.observation.documents import axis_texts
from learning_memory_server.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable
    from enum import StrEnum

    from learning_memory_server.embedding.service import EmbeddingService
    from learning_memory_server.indexing.writer import IndexWriter
    from learning_memory_server.journal.journal import Journal
    from learning_memory_server.memories.log import MemoryLog
    from learning_memory_server.observation.collector import ObservationCollector
    from learning_memory_server.server.config import Settings
    from learning_memory_server.values.log import ValueLog


class Statistics:
    """Counts what is kept and says what keeps it."""

    def __init__(  # noqa: PLR0913 - it looks at everything
        self,
        settings: Settings,
        journal: Journal,
        collector: ObservationCollector,
        values: ValueLog,
        memories: MemoryLog,
        embeddings: EmbeddingService,
        writer: IndexWriter,
    ) -> None:
        self._settings = settings
        self._journal = journal
        self._collector = collector
        self._values = values
        self._memories = memories
        self._embeddings = embeddings
        self._writer = writer

    async def collect(self) -> dict[str, Any]:
        """Return the figures of this moment, all from the journal; the index is not asked."""
        entries = self._collector.list_resolved()
        memories = self._memories.all()
        folder = self._settings.index_directory if self._settings.qdrant_url is None else None
        is_hashing = self._settings.embedding_backend == "hashing"
        sizes = await asyncio.to_thread(lambda: (self._journal.size(), folder and disk_use(folder)))
        return {
            "experiences": {
                "total": len(entries),
                "open": len(self._journal.open_files()),
                "by_axis": _counted((axis for entry in entries for axis in axis_texts(entry)), Axis),
                "by_tier": _counted((entry.tier for entry in entries), Tier),
                "by_outcome": _counted((entry.outcome.status for entry in entries), OutcomeStatus),
            },
            "values": len(self._values.all()),
            "memories": {
                "total": len(memories),
                "chunks": sum(len(memory.cuts.spans) for memory in memories if memory.cuts),
                "characters": sum(len(memory.text) for memory in memories),
            },
            "index": {
                "engine": "embedded Qdrant" if folder else "Qdrant server",
                "complete": self._writer.is_complete and not self._writer.pending,
                "pending": self._writer.pending,
                **({"bytes": sizes[1]} if folder else {}),
            },
            "journal": {"bytes": sizes[0]},
            "model": {
                "backend": self._settings.embedding_backend,
                **({} if is_hashing else {"name": self._settings.embedding_model}),
                "state": self._embeddings.state.value,
                **({"runtime": runtime} if (runtime := self._embeddings.runtime) else {}),
            },
            "versions": {
                "learning-memory-server": VERSION,
                "python": sys.version.split()[0],
                **{name: metadata.version(name) for name in ("mcp", "qdrant-client", "qdrant-edge-py")},
            },
        }


def _counted(names: Iterable[StrEnum], every: Iterable[StrEnum]) -> dict[str, int]:
    """Return how often each name occurs, those included that never do."""
    counts = Counter(names)
    return {name.value: counts[name] for name in every}
