"""How values stand, with what the journal knows of the experiences that count for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from learning_memory_server.values.standing import weigh

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from learning_memory_server.domain.value import Value
    from learning_memory_server.observation.collector import ObservationCollector
    from learning_memory_server.values.log import ValueLog
    from learning_memory_server.values.standing import Standing


def weigh_all(
    values: Sequence[Value],
    log: ValueLog,
    witnesses: Mapping[str, Sequence[str]],
    collector: ObservationCollector,
) -> list[Standing]:
    """Return how values stand, in their order.

    Args:
        values: Which.
        log: All values.
        witnesses: The ids of the later experiences that count for each value, by its id.
        collector: Where the experiences are.
    """
    cited = {name for value in values for name in value.evidence.member_ids}
    cited.update(name for value in values for name in witnesses.get(value.id, ()))
    entries = {entry.id: entry for entry in collector.look_up(cited).found if entry.resolution}
    successors = log.successors()
    return [weigh(value, witnesses.get(value.id, ()), entries, successors.get(value.id)) for value in values]
