"""The data of the page: one JSON document, from the services.

Entries are named by their position in `entries`, to keep the document small.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.index.document import Collection, point_id
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.learning.calibration import lift, trials_of
from learning_memory_server.learning.failures.remedies import remedy_for
from learning_memory_server.learning.values.log import Standing, weigh_all
from learning_memory_server.model import limits
from learning_memory_server.model.advice import Advice, Item
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.server.views import cluster_views, entry_views, fields, memory_views, value_views
from learning_memory_server.system import timeouts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.journal.failures import FailureLog
    from learning_memory_server.learning.clusters.clusters import AxisClusters
    from learning_memory_server.model.entry import Ghap
    from learning_memory_server.model.failure import Failure
    from learning_memory_server.server.composition.services import Services
    from learning_memory_server.server.dashboard.map_layout import FrameStore

VERSION: Final = 1
"""The version of the document."""
_DIGITS: Final = 4
"""Of a place on the map: a ten-thousandth is less than a pixel."""


@dataclass(frozen=True, slots=True)
class Dashboard:
    """Gathers the page's data."""

    services: Services
    frames: FrameStore

    async def document(self, project: str | None = None) -> dict[str, Any]:
        """Return the data of the page, of one project or of all."""
        services = self.services
        entries = services.collector.list_resolved(EntryQuery(project=project))
        numbers = {entry.id: number for number, entry in enumerate(entries)}
        axes = await self._axes(project, entries, numbers)
        advice = [each for each in services.advice_log.all() if _is_of(project, each.project)]
        values = services.value_log.current(None, project, superseded=True)
        standings = weigh_all(values, services.value_log, services.verdicts, services.collector)
        found = lift(trials_of(advice, entries))
        return {
            "version": VERSION,
            "made_at": services.clock().isoformat(),
            "project": project,
            # Thousands, which others should not wait for.
            "entries": await asyncio.to_thread(lambda: [entry_views.whole_entry(entry) for entry in entries]),
            "open": [
                entry_views.open_entry(entry)
                for entry in reversed(services.journal.open_entries())
                if _is_of(project, entry.project)
            ],
            "axes": axes,
            "values": [_value(standing, axes, numbers) for standing in standings],
            "advice": [_advice(each) for each in advice],
            "failures": await asyncio.to_thread(_failures, services.failure_log, project),
            "memories": [
                {**memory_views.memory(each), "text": each.text[: limits.PAGE_MEMORY_MAX]}
                for each in reversed(services.memory_log.all())
                if _is_of(project, each.project)
            ],
            "lift": {
                "difference": found.difference,
                "interval": list(found.interval),
                "shown": found.shown.count,
                "withheld": found.withheld.count,
            },
            "health": await services.statistics.collect(),
        }

    async def _axes(self, project: str | None, entries: Sequence[Ghap], numbers: Mapping[str, int]) -> dict[str, Any]:
        """Return the map and the clusters of each axis; without an index, only why there is none."""
        try:
            rows = {axis.value: await self.services.index.vectors(Collection.of(axis)) for axis in Axis}
            # Both wait for a child that is starting.
            places, *clusters = await asyncio.gather(
                self._places(rows), *(self._clusters(axis, project, numbers) for axis in Axis)
            )
        except LearningMemoryError as error:
            return {axis.value: {"of": [], "places": [], "clusters": [], "notice": error.sentence} for axis in Axis}
        axes = {}
        for axis, found in zip(Axis, clusters, strict=True):
            placed = places.get(axis, {})
            shown = {
                numbers[entry.id]: placed[point] for entry in entries if (point := point_id("ghap", entry.id)) in placed
            }
            axes[axis.value] = {
                "of": list(shown),
                "places": [[round(float(part), _DIGITS) for part in place] for place in shown.values()],
                **found,
            }
        return axes

    async def _places(
        self, rows: Mapping[str, Mapping[str, NDArray[np.float32]]]
    ) -> dict[str, dict[str, NDArray[np.float32]]]:
        """Return where the points of each axis are that has any."""
        import numpy as np  # noqa: PLC0415 - not before a map is wanted

        # Sorted, because the order of writing must not matter.
        ids = {axis: sorted(found) for axis, found in rows.items() if found}
        matrices = {
            axis: await asyncio.to_thread(np.array, [rows[axis][point] for point in points], np.float32)
            for axis, points in ids.items()
        }
        origins = {axis: await self.services.index.origin(Collection.of(Axis(axis))) for axis in ids}
        forgotten = len(self.services.collector.all_forgotten())
        frames = await self.frames.current(matrices, forgotten, origins)
        return {
            axis: dict(zip(ids[axis], await asyncio.to_thread(frames[axis].places_of, matrix), strict=True))
            for axis, matrix in matrices.items()
        }

    async def _clusters(self, axis: Axis, project: str | None, numbers: Mapping[str, int]) -> dict[str, Any]:
        try:
            found: AxisClusters = await self.services.clusterer.cluster_axis(axis, project, timeouts.DASHBOARD_SETTLE)
        except LearningMemoryError as error:
            return {"clusters": [], "notice": error.message}
        now = self.services.clock()
        view = {
            "clusters": [
                {
                    **cluster_views.cluster(cluster, now),
                    "members": [numbers[member.id] for member in cluster.members if member.id in numbers],
                }
                for cluster in found.clusters
            ]
        }
        return {**view, "notice": found.explanation} if found.explanation else view


def _is_of(project: str | None, its_own: str) -> bool:
    return project is None or its_own == project


def _value(standing: Standing, axes: Mapping[str, Any], numbers: Mapping[str, int]) -> dict[str, Any]:
    """Return a value with every entry for and against it.

    `cluster` is the cluster on the page that has most of the entries it was drawn from. Its id may be another one: the
    clusters of one project have ids of their own.
    """
    shown = value_views.value(standing)
    drawn_from = {numbers[name] for name in standing.value.evidence.member_ids if name in numbers}
    found = axes[standing.value.cluster_id.axis.value]["clusters"]
    most = (each for each in found if 2 * len(drawn_from.intersection(each["members"])) > len(drawn_from))
    cluster = next((each["cluster_id"] for each in most), None)
    support = {
        **shown["support"],
        "supported_by": list(standing.supporting),
        "contradicted_by": list(standing.contradicting),
    }
    return {**shown, "support": support, "cluster": cluster}


def _advice(advice: Advice) -> dict[str, Any]:
    return {
        "entry": advice.ghap_id,
        "at": advice.created_at.isoformat(),
        "channel": advice.channel.value,
        "withheld": advice.withheld,
        "probability": advice.probability,
        "project": advice.project,
        "items": [fields(Item, item) for item in advice.items],
    }


def _failures(failures: FailureLog, project: str | None) -> list[dict[str, Any]]:
    known = {each[0].error: each for each in failures.errors() if _is_of(project, each[0].project)}
    return [_failure(each, known[each.error]) for each in failures.all() if each.error in known]


def _failure(failure: Failure, known: list[Failure]) -> dict[str, Any]:
    remedy = remedy_for(failure.command, known)
    return {
        "id": failure.id,
        "error": failure.error,
        "signature": failure.signature,
        "command": failure.command,
        "remedy": remedy and remedy.text,
        "mended": failure.remedy is not None or failure.episode is not None,
        "shown": failure.shown,
        "support": failure.support,
        "times": failure.times,
        "project": failure.project,
        "at": failure.created_at.isoformat(),
    }
