"""List values with their standings, ordered by support or by relevance to a question."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from learning_memory_server.errors import EmbeddingUnavailableError, StorageUnavailableError
from learning_memory_server.index.document import Collection
from learning_memory_server.index.engines.base import Filter
from learning_memory_server.index.ranking.hybrid import Query, mode_for
from learning_memory_server.index.ranking.threshold import strength
from learning_memory_server.learning.values.log import Standing, ordered, weigh_all
from learning_memory_server.model import limits
from learning_memory_server.model.support import Status
from learning_memory_server.model.value import ValueOrder
from learning_memory_server.model.vocabulary import Axis, SearchMode
from learning_memory_server.recall import lexical
from learning_memory_server.system import timeouts
from learning_memory_server.system.waiting import each_request_within

if TYPE_CHECKING:
    from learning_memory_server.capture.entries.collector import ObservationCollector
    from learning_memory_server.index.index import VectorIndex
    from learning_memory_server.learning.values.log import ValueLog, VerdictLog


@dataclass(eq=False)
class ValueListing:
    """Lists values."""

    log: ValueLog
    verdicts: VerdictLog
    collector: ObservationCollector
    index: VectorIndex
    _told: bool = field(default=False, init=False)

    def list_values(
        self,
        axis: Axis | None = None,
        project: str | None = None,
        *,
        order: ValueOrder = ValueOrder.SUPPORT,
        superseded: bool = False,
    ) -> list[Standing]:
        """Return the standings of the values."""
        chosen = self.log.current(axis, project, superseded=superseded)
        return ordered(weigh_all(chosen, self.log, self.verdicts, self.collector), order)

    async def by_relevance(self, query: str, standings: Sequence[Standing]) -> tuple[list[Standing], SearchMode]:
        """Return the standings with those that match a question best first, and how they were matched.

        Those that do not match, or are not indexed yet, follow in the order given.
        """
        by_id = {each.value.id: each for each in standings}
        mode = mode_for(query)
        try:
            async with self.index.in_time(timeouts.LISTING_INDEX):
                with each_request_within(timeouts.LISTING_REQUEST):
                    matches = await self.index.search_hybrid(
                        Query(Collection.VALUES, query, max(len(by_id), 1), Filter()),
                        lambda payload: payload["value_id"] in by_id,
                        model_within=timeouts.LISTING_MODEL,
                    )
            best = [str(match.payload["value_id"]) for match in matches]
        except (EmbeddingUnavailableError, StorageUnavailableError):
            mode = SearchMode.LEXICAL
            texts = [(name, each.value.text) for name, each in by_id.items()]
            best = [name for name, _ in lexical.rank(query, texts, len(texts))]
        ranked = dict.fromkeys([*best, *by_id])
        return [by_id[name] for name in ranked], mode

    async def matching(self, query: str, project: str | None = None) -> list[Standing]:
        """Return the values in force that match a question best, at most two, best first.

        None come if none is strong enough, if the model's scale is not known, or if the index is not open or late.
        """
        in_force = {each.value.id: each for each in self.list_values(project=project) if each.is_in_force}
        if not in_force or not self.index.is_open:
            return []
        asked = Query(Collection.VALUES, query, limits.VALUES_MATCHING, Filter())
        try:
            async with asyncio.timeout(timeouts.MATCHING):
                with each_request_within(timeouts.MATCHING_REQUEST):
                    matches = await self.index.search_hybrid(
                        asked, lambda payload: payload["value_id"] in in_force, model_within=timeouts.MATCHING
                    )
        except (EmbeddingUnavailableError, StorageUnavailableError, TimeoutError):
            return []
        return [
            in_force[match.payload["value_id"]]
            for match in matches
            if (least := match.explanation.basis.least) is not None and strength(match.explanation) >= least
        ]

    def notice(self, standings: Sequence[Standing]) -> str | None:
        """Return a notice that values of earlier versions have lost their support: once in a process."""
        lost = [each for each in standings if each.value.is_earlier and each.support.status is Status.UNATTESTED]
        if self._told or not lost:
            return None
        self._told = True
        subject = "1 value is" if len(lost) == 1 else f"{len(lost):,} values are"
        return (
            f"{subject} unattested now: support comes from verdicts alone, no longer from how entries ended. When an "
            "entry supports or contradicts a value, call judge_value."
        )
