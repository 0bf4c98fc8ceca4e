from dataclasses import replace
from datetime import timedelta

from learning_memory_server.learning.clusters.clusters import Outcomes
from learning_memory_server.model.entry import Ghap, RootCause
from learning_memory_server.model.vocabulary import OutcomeStatus, RootCauseCategory
from tests.support import CONFIRMED, NOON, numbered


def ended(day: int, status: OutcomeStatus, cause: RootCauseCategory | None = None) -> Ghap:
    resolution = replace(
        CONFIRMED,
        status=status,
        root_cause=RootCause(cause, "Because.") if cause else None,
        resolved_at=NOON + timedelta(days=day),
    )
    return numbered(day, resolution=resolution)


def test_outcomes_and_causes_are_counted_most_frequent_first() -> None:
    outcomes = Outcomes.of(
        [
            ended(0, OutcomeStatus.CONFIRMED),
            ended(1, OutcomeStatus.FALSIFIED, RootCauseCategory.OVERSIGHT),
            ended(2, OutcomeStatus.FALSIFIED, RootCauseCategory.WRONG_ASSUMPTION),
            ended(3, OutcomeStatus.FALSIFIED, RootCauseCategory.WRONG_ASSUMPTION),
            ended(4, OutcomeStatus.ABANDONED),
        ]
    )

    assert list(outcomes.by_status.items()) == [
        (OutcomeStatus.FALSIFIED, 3),
        (OutcomeStatus.ABANDONED, 1),
        (OutcomeStatus.CONFIRMED, 1),
    ]
    assert list(outcomes.by_root_cause.items()) == [
        (RootCauseCategory.WRONG_ASSUMPTION, 2),
        (RootCauseCategory.OVERSIGHT, 1),
    ]


def test_recent_members_are_those_of_the_last_thirty_days() -> None:
    outcomes = Outcomes.of([ended(day, OutcomeStatus.CONFIRMED) for day in (40, 0, 10, 11)])

    assert (outcomes.times[0], outcomes.times[-1]) == (NOON, NOON + timedelta(days=40))
    now = NOON + timedelta(days=40)
    assert outcomes.recent(now) == 3
    assert outcomes.recent(now + timedelta(seconds=1)) == 2
    assert outcomes.recent(now + timedelta(days=31)) == 0
