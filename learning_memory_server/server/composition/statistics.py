"""The numbers behind get_stats."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from learning_memory_server.index.document import axis_texts
from learning_memory_server.model.vocabulary import Axis, OutcomeStatus, Stance, Tier
from learning_memory_server.server.views.calibration_views import calibration_stats
from learning_memory_server.system.files import disk_use
from learning_memory_server.version import VERSION

if TYPE_CHECKING:
    from learning_memory_server.server.composition.services import Indexed


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts what is stored, and describes the engine, the model and their versions."""

    services: Indexed

    async def collect(self) -> dict[str, Any]:
        """Return the current numbers. They come from the journal, not from the index."""
        services, settings = self.services, self.services.settings
        entries = services.collector.list_resolved()
        memories = services.memory_log.all()
        folder = settings.index_directory if settings.qdrant_url is None else None
        is_hashing = settings.embedding_backend == "hashing"
        sizes = await asyncio.to_thread(lambda: (services.journal.size(), folder and disk_use(folder)))
        damaged = await asyncio.to_thread(services.journal.count_damage)
        return {
            "experiences": {
                "total": len(entries),
                "open": len(services.journal.open_files()),
                "by_axis": _counted((axis for entry in entries for axis in axis_texts(entry)), Axis),
                "by_tier": _counted((entry.tier for entry in entries), Tier),
                "by_outcome": _counted((entry.outcome.status for entry in entries), OutcomeStatus),
            },
            "calibration": calibration_stats(entries),
            "values": len(services.value_log.all()),
            "verdicts": _counted((verdict.stance for verdict in services.verdicts.all()), Stance),
            "advice": services.advice_log.counts(),
            "memories": {
                "total": len(memories),
                "chunks": sum(len(memory.chunking.spans) for memory in memories if memory.chunking),
                "characters": sum(len(memory.text) for memory in memories),
            },
            "index": {
                "engine": "embedded Qdrant" if folder else "Qdrant server",
                "complete": services.writer.is_complete,
                # Unknown until the index has been compared with the journal.
                **({} if services.writer.missing is None else {"pending": services.writer.missing}),
                **({"bytes": sizes[1]} if folder else {}),
                **(services.availability.describe() if services.availability else {}),
            },
            "journal": {"bytes": sizes[0], "damaged_lines": damaged},
            **({"notice": damage_notice(damaged)} if damaged else {}),
            "model": {
                "backend": settings.embedding_backend,
                **({} if is_hashing else {"name": settings.embedding_model}),
                "state": services.embeddings.state.value,
                **({"runtime": runtime} if (runtime := services.embeddings.runtime) else {}),
            },
            "redaction": services.redaction.describe(),
            "versions": _versions(),
        }


def _versions() -> dict[str, str]:
    from importlib import metadata  # noqa: PLC0415 - a sixteenth of a hub's imports

    libraries = ("mcp", "qdrant-client", "qdrant-edge-py")
    return {
        "learning-memory-server": VERSION,
        "python": sys.version.split()[0],
        **{name: metadata.version(name) for name in libraries},
    }


def damage_notice(lines: int) -> str:
    """Return what an agent and a person should know about a journal with lines that cannot be read."""
    what = "line" if lines == 1 else "lines"
    return (
        f"{lines:,} {what} of the journal cannot be read, so no answer contains what they held. "
        "`learning-memory-server doctor` names them; a backup may have them."
    )


def _counted(names: Iterable[StrEnum], every: Iterable[StrEnum]) -> dict[str, int]:
    counts = Counter(names)
    return {name.value: counts[name] for name in every}
