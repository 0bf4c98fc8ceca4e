"""Record what agents saw of values in resolved entries, and name a value that an entry may bear on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from learning_memory_server.errors import (
    EmbeddingUnavailableError,
    InvalidInputError,
    NotFoundError,
    StorageUnavailableError,
)
from learning_memory_server.index.document import Collection, point_id
from learning_memory_server.index.ranking.threshold import NEAR
from learning_memory_server.learning.values.closest import lesson_of
from learning_memory_server.learning.values.log import Standing, weigh_all
from learning_memory_server.model.vocabulary import OutcomeStatus, Stance
from learning_memory_server.system import timeouts
from learning_memory_server.system.waiting import each_request_within

if TYPE_CHECKING:
    from learning_memory_server.capture.entries.collector import ObservationCollector
    from learning_memory_server.index.index import VectorIndex
    from learning_memory_server.learning.values.log import ValueLog, VerdictLog
    from learning_memory_server.model.caller import Caller
    from learning_memory_server.model.entry import Ghap
    from learning_memory_server.model.moment import Clock
    from learning_memory_server.model.value import Value


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict that was recorded, and the value's standing with it."""

    ghap_id: str
    stance: Stance
    standing: Standing


@dataclass(eq=False)
class ValueJudge:
    """Records verdicts."""

    log: ValueLog
    verdicts: VerdictLog
    collector: ObservationCollector
    index: VectorIndex
    clock: Clock

    def judge(self, caller: Caller, value_id: str, ghap_id: str, stance: Stance) -> Judgement:
        """Record what an entry says about a value. The last verdict on a pair replaces earlier ones."""
        value = self.log.find(value_id)
        if value is None:
            raise NotFoundError(f"There is no value {value_id}.", hint="Call list_values to see the ids.")
        done = caller.request and caller.again and self.verdicts.find_by_request(caller.request)
        if not done:
            require_resolved("ghap_id", [ghap_id], self.collector)
            self.verdicts.record(caller, value, self.clock(), {ghap_id: stance})
        (standing,) = weigh_all([value], self.log, self.verdicts, self.collector)
        return Judgement(ghap_id, stance, standing)

    async def find_near(self, entry: Ghap) -> Value | None:
        """Return the value that an entry most likely bears on; None if none is near, or it cannot be found in time.

        Values that are superseded or that already have a verdict on the entry are left out, and an abandoned entry
        bears on none: nothing was found out.
        """
        values = self.log.current()
        judged = {each.value_id for each in self.verdicts.all() if each.ghap_id == entry.id}
        by_point = {point_id("value", value.id): value for value in values if value.id not in judged}
        is_ready = self.index.is_open and self.index.scale.known
        if not by_point or not is_ready or entry.outcome.status is OutcomeStatus.ABANDONED:
            return None
        try:
            # The model may be late, too.
            async with asyncio.timeout(timeouts.NAMED_VALUE):
                vector = await self.index.embed(learned_text(entry), timeouts.NAMED_VALUE)
                with each_request_within(timeouts.NAMED_VALUE_REQUEST):
                    hits = await self.index.nearest(Collection.VALUES, vector, limit=1, ids=by_point.keys())
        except (EmbeddingUnavailableError, StorageUnavailableError, TimeoutError):
            return None
        return next((by_point[hit.id] for hit in hits if hit.score >= NEAR), None)


def learned_text(entry: Ghap) -> str:
    """Return what is compared with values: what was believed, and what was learned."""
    return "\n".join(part for part in (entry.goal, entry.hypothesis, lesson_of(entry)) if part)


def require_resolved(field: str, ghap_ids: Iterable[str], collector: ObservationCollector) -> None:
    """Require that every id is that of a resolved entry."""
    looked = collector.look_up(ghap_ids)
    if missing := [*looked.unknown, *looked.before]:
        raise NotFoundError(
            f"{field}: there is no entry {', '.join(missing)}.",
            hint="Only resolved entries can be judged; get_cluster_members and search_experiences show their ids.",
        )
    if still_open := [entry.id for entry in looked.found if entry.resolution is None]:
        raise InvalidInputError(
            f"{field}: {', '.join(still_open)} is still open.",
            hint="Resolve it with resolve_ghap first: only what really happened can support or contradict a value.",
        )
