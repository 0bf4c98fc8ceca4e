"""Experiences that speak against a value of the pool."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from learning_memory_server.domain.ghap import RootCause
from learning_memory_server.domain.vocabulary import OutcomeStatus, RootCauseCategory
from tests.support import TOPICS, about

if TYPE_CHECKING:
    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.values.standing import Standing
    from learning_memory_server.values.store import ValueStore

REWORDED = f"{TOPICS['pool']} first"
CALM, BUSY = 100, 200
"""Where the numbers of later experiences begin; a number is a minute."""


def opposite(number: int) -> Ghap:
    """An experience of the pool that ended the other way."""
    entry = about("pool", number)
    return replace(
        entry,
        resolution=replace(
            entry.outcome,
            status=OutcomeStatus.FALSIFIED,
            lesson=None,
            surprise=f"{TOPICS['pool']} as before",
            root_cause=RootCause(RootCauseCategory.WRONG_ASSUMPTION, f"{TOPICS['pool']} balancer"),
        ),
    )


async def only(store: ValueStore) -> Standing:
    (standing,) = await store.list_values()
    return standing
