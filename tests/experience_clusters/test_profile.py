"""How the members of a cluster ended."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from learning_memory_server.domain.ghap import Ghap, RootCause
from learning_memory_server.domain.vocabulary import OutcomeStatus, RootCauseCategory
from learning_memory_server.experience_clusters.profile import Profile
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
    profile = Profile.of(
        [
            ended(0, OutcomeStatus.CONFIRMED),
            ended(1, OutcomeStatus.FALSIFIED, RootCauseCategory.OVERSIGHT),
            ended(2, OutcomeStatus.FALSIFIED, RootCauseCategory.WRONG_ASSUMPTION),
            ended(3, OutcomeStatus.FALSIFIED, RootCauseCategory.WRONG_ASSUMPTION),
            ended(4, OutcomeStatus.ABANDONED),
        ]
    )

    assert list(profile.outcomes.items()) == [
        (OutcomeStatus.FALSIFIED, 3),
        (OutcomeStatus.ABANDONED, 1),
        (OutcomeStatus.CONFIRMED, 1),
    ]
    assert list(profile.root_causes.items()) == [
        (RootCauseCategory.WRONG_ASSUMPTION, 2),
        (RootCauseCategory.OVERSIGHT, 1),
    ]


def test_recent_members_are_those_of_the_last_thirty_days() -> None:
    profile = Profile.of([ended(day, OutcomeStatus.CONFIRMED) for day in (40, 0, 10, 11)])

    assert (profile.times[0], profile.times[-1]) == (NOON, NOON + timedelta(days=40))
    now = NOON + timedelta(days=40)
    assert profile.recent(now) == 3
    assert profile.recent(now + timedelta(seconds=1)) == 2
    assert profile.recent(now + timedelta(days=31)) == 0
