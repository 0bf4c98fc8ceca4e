"""The walk of `replay`: what would have been shown at the start of each entry, by the ranking of a session.

The entries go through time again, in a temporary store: at the start of each one, only the experiences, values and
verdicts of before can be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from learning_memory_server.learning.advice.finder import AdviceFinder
from learning_memory_server.learning.advice.ranking import AT_MOST, best
from learning_memory_server.learning.values.log import document_of as value_document
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.value import Value
from learning_memory_server.server.composition.services import open_services

if TYPE_CHECKING:
    from learning_memory_server.embedding.base import Embedder
    from learning_memory_server.learning.advice.finder import Ranked
    from learning_memory_server.learning.advice.ranking import Scored
    from learning_memory_server.model.verdict import Verdict
    from learning_memory_server.server.composition.services import Services
    from learning_memory_server.server.operations import Report
    from learning_memory_server.server.settings import Settings


@dataclass(frozen=True, slots=True)
class Past:
    """What the journal learned, in any order.

    Args:
        entries: Resolved entries.
        values: Values.
        verdicts: The verdicts on them.
    """

    entries: Sequence[Ghap]
    values: Sequence[Value] = ()
    verdicts: Sequence[Verdict] = ()


@dataclass(frozen=True, slots=True)
class Moment:
    """The start of an entry, and what would have been shown.

    Args:
        entry: The entry.
        experiences: Experiences with their scores.
        values: Values with their cosines.
    """

    entry: Ghap
    experiences: tuple[Scored, ...] = ()
    values: tuple[tuple[Value, float], ...] = ()

    @property
    def is_told(self) -> bool:
        """Whether anything would have been shown."""
        return bool(self.experiences or self.values)


@dataclass(frozen=True, slots=True)
class Replayed:
    """The starts of entries in time order, and whether a threshold was measured for the model."""

    moments: tuple[Moment, ...]
    is_measured: bool


async def replay(
    settings: Settings,
    past: Past,
    *,
    since: datetime | None = None,
    load: Callable[[], Embedder] | None = None,
    report: Report | None = None,
) -> Replayed:
    """Return what would have been shown at the start of each entry.

    Args:
        settings: The settings; only those of the model matter.
        past: What was learned.
        since: Only entries started then or later are told something.
        load: Returns an embedding model to use instead of the one in the settings.
        report: Is told how many entries are done.
    """
    events: list[tuple[datetime, str, Ghap | Value | Verdict]] = sorted(
        [
            *((entry.outcome.resolved_at, entry.id, entry) for entry in past.entries),
            *((value.created_at, value.id, value) for value in past.values),
            *((verdict.created_at, verdict.id, verdict) for verdict in past.verdicts),
        ],
        key=lambda event: event[:2],
    )
    moments, is_measured, learned = [], True, 0
    with TemporaryDirectory() as folder:
        here = settings.model_copy(
            update={"storage_path": Path(folder), "journal_path": None, "qdrant_url": None}
        )
        async with open_services(here, purpose="replay", load=load) as services:
            finder = AdviceFinder(
                services.collector, services.index, services.value_log, services.verdicts, is_everywhere=False
            )
            await services.writer.complete()
            starts = sorted(past.entries, key=lambda entry: (entry.created_at, entry.id))
            for number, entry in enumerate(starts):
                if report:
                    report("replaying", number, len(starts))
                while learned < len(events) and events[learned][0] <= entry.created_at:
                    await _learn(services, events[learned][2])
                    learned += 1
                if since and entry.created_at < since:
                    continue
                ranked = await finder.rank(at_its_start(entry), {})
                is_measured = is_measured and ranked is not None
                moments.append(_moment(entry, ranked) if ranked else Moment(entry))
    return Replayed(tuple(moments), is_measured)


def at_its_start(entry: Ghap) -> Ghap:
    """Return an entry with the hypothesis that it began with."""
    return replace(entry, hypothesis=entry.history[0].hypothesis) if entry.history else entry


async def _learn(services: Services, event: Ghap | Value | Verdict) -> None:
    if isinstance(event, Ghap):
        services.collector.add_resolved([event])
        await services.persister.persist(event)
    elif isinstance(event, Value):
        services.value_log.add(event)
        await services.writer.write([value_document(event)])
    else:
        services.verdicts.add(event)


def _moment(entry: Ghap, ranked: Ranked) -> Moment:
    experiences = best(ranked.experiences, ranked.least)
    return Moment(entry, tuple(experiences), tuple(ranked.best_values()[: AT_MOST - len(experiences)]))
