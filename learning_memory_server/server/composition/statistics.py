"""The numbers behind get_stats."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from learning_memory_server.capture.entries.timeline import Tally
from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.model.lines import counted
from learning_memory_server.model.vocabulary import Axis, OutcomeStatus, Stance, Tier
from learning_memory_server.server.views import advice_views
from learning_memory_server.server.views.calibration_views import calibration_stats
from learning_memory_server.system.files import disk_use
from learning_memory_server.version import VERSION

if TYPE_CHECKING:
    from learning_memory_server.journal.journal import Journal
    from learning_memory_server.server.composition.services import Indexed


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts what is stored, and describes the engine, the model and their versions."""

    services: Indexed
    _counting: list[asyncio.Task[None]] = field(default_factory=list, init=False)

    async def collect(self) -> dict[str, Any]:
        """Return the current numbers. They come from the journal, not from the index."""
        from importlib import metadata

        services, settings = self.services, self.services.settings
        folder = settings.index_directory if settings.qdrant_url is None else None
        is_hashing = settings.embedding_backend == "hashing"
        tally = await self._tallied()
        # In a thread, because there may be many of each.
        kept, sizes, damaged = await asyncio.to_thread(
            lambda: (
                self._kept(),
                (services.journal.size(), folder and disk_use(folder)),
                services.journal.count_damage(),
            )
        )
        return {
            "experiences": {
                "total": tally.outcomes.total(),
                "open": len(services.journal.open_files()),
                "by_axis": {axis.value: tally.axes[axis] for axis in Axis},
                "by_tier": {tier.value: tally.tiers[tier] for tier in Tier},
                "by_outcome": {outcome.value: tally.outcomes[outcome] for outcome in OutcomeStatus},
            },
            "calibration": calibration_stats(tally),
            **kept,
            "index": {
                "engine": "embedded Qdrant" if folder else "Qdrant server",
                "complete": services.writer.is_complete,
                # Unknown until the index has been compared with the journal.
                **({} if services.writer.missing is None else {"pending": services.writer.missing}),
                **({"bytes": sizes[1]} if folder else {}),
                **(services.availability.refusal() if services.availability else {}),
            },
            "journal": {"bytes": sizes[0], "damaged_lines": damaged},
            **({"notice": " ".join(notices)} if (notices := journal_notices(services.journal, damaged)) else {}),
            "model": {
                "backend": settings.embedding_backend,
                **({} if is_hashing else {"name": settings.embedding_model}),
                "state": services.embeddings.state.value,
                **({"runtime": runtime} if (runtime := services.embeddings.runtime) else {}),
            },
            "redaction": services.redaction.describe(),
            "versions": {
                "learning-memory-server": VERSION,
                "python": sys.version.split()[0],
                **{name: metadata.version(name) for name in ("mcp", "qdrant-edge-py")},
            },
        }

    async def _tallied(self) -> Tally:
        """Return the counts of entries. They are kept; what was never counted, or was replaced, is counted first."""
        timeline = self.services.collector.timeline
        if timeline.tally is None:
            timeline.tally = Tally()
            counting = asyncio.to_thread(timeline.tally.count, list(timeline))
            self._counting[:] = [asyncio.create_task(counting)]
        # A call that is cancelled leaves it to the others.
        await asyncio.shield(self._counting[0])
        return timeline.tally

    def _kept(self) -> dict[str, Any]:
        """Return the counts of other things than entries, without the parts of unreadable logs."""
        services = self.services
        stances = Counter(verdict.stance for verdict in services.verdicts.all())
        found: dict[str, Any] = {
            "verdicts": {stance.value: stances[stance] for stance in Stance},
            "advice": advice_views.shown(services.advice_log, services.effects),
        }
        with suppress(JournalUnavailableError):
            found["values"] = len(services.value_log.all())
        with suppress(JournalUnavailableError):
            memories = services.memory_log.all()
            found["memories"] = {
                "total": len(memories),
                "chunks": sum(len(memory.chunking.spans) for memory in memories if memory.chunking),
                "characters": sum(len(memory.text) for memory in memories),
            }
        return found


def journal_notices(journal: Journal, damaged: int) -> list[str]:
    """Return a sentence each about unreadable lines of the journal, and about files that another program changed."""
    notices = []
    if damaged:
        notices.append(
            f"{counted(damaged, 'line')} of the journal cannot be read, so no answer contains what they held. "
            "`learning-memory-server doctor` names them; a backup may have them."
        )
    if changed := journal.changed_by_others:
        names = ", ".join(sorted({path.name for path in changed}))
        notices.append(
            f"Another program changed the journal while this one was using it ({names}), so records may be missing. "
            "Exclude the data folder from programs that synchronize folders, and restore a backup."
        )
    return notices
