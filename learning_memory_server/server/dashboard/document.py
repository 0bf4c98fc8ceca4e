"""The data of the page: one JSON document, from the services.

Entries are named by their position in `entries`, to keep the document small.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.advice.again import came_again
from learning_memory_server.errors import InsufficientDataError, LearningMemoryError
from learning_memory_server.index.document import is_on
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.lessons.values.log import Standing, weigh_all
from learning_memory_server.model import limits
from learning_memory_server.model.advice import Advice, Effect, Item
from learning_memory_server.model.moment import as_seen
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.server.views import (
    advice_views,
    entry_views,
    failure_views,
    fields,
    memory_views,
    rule_views,
    value_views,
)
from learning_memory_server.sharing.review import Answerable
from learning_memory_server.system import timeouts
from learning_memory_server.system.ram import trim_heap
from learning_memory_server.system.waiting import Budget

if TYPE_CHECKING:
    from learning_memory_server.advice.log import AdviceLog
    from learning_memory_server.lessons.clusters.clusters import AxisClusters
    from learning_memory_server.lessons.effects import Effects
    from learning_memory_server.model.entry import Ghap
    from learning_memory_server.server.composition.services import Services

_SENT: Final = 5.0  # Seconds after which the page has been sent, and its RAM can be given back


@dataclass(frozen=True, slots=True)
class Dashboard:
    """Gathers the page's data."""

    services: Services

    async def document(
        self,
        project: str | None = None,
        folders: Mapping[str, str] = MappingProxyType({}),
        past: Sequence[Mapping[str, Any]] = (),
        suggestions: Sequence[Mapping[str, Any]] = (),
    ) -> dict[str, Any]:
        """Return the data of the page, of one project or of all.

        `folders` has the folder of each project for which one is known: its files show what became of anchors. `past`
        has the lines of the report about past sessions, and `suggestions` the sentences that may become rules.
        """
        services = self.services
        entries = services.collector.list_resolved(EntryQuery(project=project))
        numbers = {entry.id: number for number, entry in enumerate(entries)}
        axes = await self._axes(project, entries, numbers)
        advice = _of(project, services.advice_log.everything())
        said = {(entry, name): effect for entry, name, effect in services.effects.stated()}
        values = services.value_log.current(None, project, superseded=True)
        standings = weigh_all(values, services.value_log, services.verdicts, services.collector)
        errors = services.failure_log.errors(project)
        named = {each.project for each in entries} | {known[-1].project for known in errors}
        errors.sort(key=lambda known: (as_seen(known[-1].created_at), known[-1].id), reverse=True)
        replaced = services.memory_log.replaced()
        loop = asyncio.get_running_loop()
        loop.call_later(_SENT, loop.run_in_executor, None, trim_heap)
        return {
            "made_at": services.clock().isoformat(),
            "project": project,
            # Thousands, which others should not wait for.
            "entries": await asyncio.to_thread(self._entries, entries, folders),
            "open": [*map(entry_views.open_entry, _of(project, reversed(services.journal.open_entries())))],
            "axes": axes,
            "values": [_value(standing, axes, numbers) | self._never(standing.value.id) for standing in standings],
            "advice": [_advice(each, said) for each in advice],
            "errors": await asyncio.to_thread(lambda: [*map(failure_views.repeated_error, errors)]),
            "shared": [
                entry_views.whole_entry(each) | fields(("author", "confirmations", "contradictions"), each)
                for each in services.shared.newest(project)
            ],
            "memories": [
                {**memory_views.memory(each, replaced.get(each.id, "")), "text": each.text[: limits.PAGE_MEMORY_MAX]}
                for each in _of(project, reversed(services.memory_log.all()))
            ],
            "came_again": [
                {"id": entry.id, "again_in": later} for entry, later in came_again(entries, services.advice_log)
            ],
            "waiting": [*suggestions, *await asyncio.to_thread(self._waiting, named)],
            "rules": self._rules(project),
            "past": [*past],
            "shown": await asyncio.to_thread(_shown, project, services.advice_log, services.effects),
        }

    def _entries(self, entries: Sequence[Ghap], folders: Mapping[str, str]) -> list[dict[str, Any]]:
        entry_notes = self.services.entry_notes
        notes = entry_notes.of(entries, "")
        for name, folder in folders.items():
            own = [entry for entry in entries if entry.project == name]
            entry_notes.freshness.look(own, name, folder)
            notes |= entry_notes.of(own, folder)
        return [entry_views.whole_entry(entry) | notes[entry.id] | self._never(entry.id) for entry in entries]

    def _never(self, name: str) -> dict[str, bool]:
        """Return whether a person wants a thing never shown unasked, as the page has it: only if so."""
        return {"never": True} if self.services.answers.is_never(name) else {}

    def _rules(self, project: str | None) -> list[dict[str, Any]]:
        """Return the accepted rules with how they fared, those that were broken most often first."""
        services = self.services
        rules = [
            each
            for each in services.rule_log.all()
            if each.is_accepted and (project is None or each.applies_in(project))
        ]
        fared = services.rule_counts.fared(rules)
        rules.sort(key=lambda each: (fared[each.id].broken + each.broken_before, each.changed_at), reverse=True)
        return [rule_views.on_page(each, fared[each.id]) for each in rules]

    def _waiting(self, projects: Iterable[str]) -> list[dict[str, Any]]:
        """Return what waits for a person's yes, the oldest first."""
        found = chain.from_iterable(self.services.review.waiting(name, self.services.clock()) for name in projects)
        return [fields(Answerable, each) for each in sorted(found, key=lambda each: (each.since, each.id))]

    async def _axes(self, project: str | None, entries: Sequence[Ghap], numbers: Mapping[str, int]) -> dict[str, Any]:
        """Return the clusters of each axis, how many entries are on it, and how many it needs."""
        # All wait for a child that is starting.
        found = await asyncio.gather(*(self._clusters(axis, project, numbers) for axis in Axis))
        on_axis = await asyncio.to_thread(
            lambda: Counter(axis for entry in entries for axis in Axis if is_on(axis, entry))
        )
        return {axis.value: {"wanted": on_axis[axis], **view} for axis, view in zip(Axis, found, strict=True)}

    async def _clusters(self, axis: Axis, project: str | None, numbers: Mapping[str, int]) -> dict[str, Any]:
        """Return the clusters of an axis, the entries in none, and how many were compared; or why there are none."""
        clusterer = self.services.clusterer
        nothing: dict[str, Any] = {"needed": clusterer.least(axis), "compared": 0, "clusters": [], "alone": []}
        try:
            found: AxisClusters = await clusterer.cluster_axis(axis, project, Budget(index=timeouts.DASHBOARD_SETTLE))
        except InsufficientDataError:
            return nothing
        except LearningMemoryError as error:
            return {**nothing, "notice": error.sentence}
        now = self.services.clock()
        view: dict[str, Any] = {
            "needed": clusterer.least(axis),
            "compared": found.total,
            "clusters": [
                {
                    **value_views.cluster(cluster, now),
                    "is_one_text": cluster.evidence.is_one_text,
                    "members": [numbers[member.id] for member in cluster.members if member.id in numbers],
                }
                for cluster in found.clusters
            ],
            "alone": [numbers[entry.id] for entry in found.noise if entry.id in numbers],
        }
        return {**view, "notice": found.explanation} if found.explanation else view


def _of(project: str | None, things: Iterable[Any]) -> list[Any]:
    """Return the things of a project, or all."""
    return [each for each in things if project in {None, each.project}]


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


def _advice(advice: Advice, said: Mapping[tuple[str, str], Effect]) -> dict[str, Any]:
    """Return a line of the log, with what its entry says that the things did."""
    parts = fields(("channel", "project"), advice)
    items = [
        fields(Item, replace(item, effect=said.get((advice.ghap_id, item.id), item.effect))) for item in advice.items
    ]
    return {"entry": advice.ghap_id, "at": advice.created_at.isoformat(), **parts, "items": items}


def _shown(project: str | None, log: AdviceLog, effects: Effects) -> dict[str, dict[str, Any]]:
    """Return what `status` says agents were shown, of each project; of all, under the empty name."""
    names = {each.project for each in log.everything()} if project is None else set[str]()
    found = {}
    for name in ("", *names):
        of = name or project
        shown = advice_views.shown(log, effects, of)
        found[name] = {**shown, "words": advice_views.in_words(shown)}
    return found
