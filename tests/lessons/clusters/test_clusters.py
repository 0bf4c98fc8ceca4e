"""The current view of a fit after experiences have come and gone."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from learning_memory_server.errors import NotFoundError
from learning_memory_server.lessons.clustering.topic import ClusterEvidence
from learning_memory_server.lessons.clusters.clusters import (
    AxisClusters,
    AxisFit,
    FittedCluster,
    Lineage,
    Outcomes,
    clusters_of,
)
from learning_memory_server.model.entry import Ghap, RootCause
from learning_memory_server.model.value import ClusterId
from learning_memory_server.model.vocabulary import Axis, OutcomeStatus, RootCauseCategory
from tests.support import CONFIRMED, NOON, about, numbered

EVIDENCE = ClusterEvidence.of("full_0", np.eye(3, dtype=np.float32), np.ones(3))
ENTRIES = [
    numbered(number, goal=f"Launch the moonshot {number}" if number == 1 else "Fill the pool") for number in range(9)
]
NAMES = [entry.id for entry in ENTRIES]


def fit_of(members: int, total: int, explanation: str | None = None, label: str = "Pool, moonshot") -> AxisFit:
    """A fit of the first entries, the first few of them in a cluster, each farther from its centre than the last."""
    cosines = {name: 0.9 - place / 100 for place, name in enumerate(NAMES[:members])}
    cluster = FittedCluster(ClusterId(Axis.FULL, 0), label, cosines, EVIDENCE)
    return AxisFit(Axis.FULL, (cluster,) if members else (), NAMES[:total], explanation)


def standing(fit: AxisFit, entries: list[Ghap] = ENTRIES, stale: int = 0) -> AxisClusters:
    return clusters_of(fit, NOON, Lineage(), {e.id: e for e in entries}, stale)


def test_a_label_loses_the_terms_that_only_a_forgotten_member_had() -> None:
    fit = fit_of(4, 4)
    assert standing(fit).clusters[0].label == "Pool, moonshot"
    assert standing(fit, ENTRIES[1:]).clusters[0].label == "Pool, moonshot"
    assert standing(fit, [ENTRIES[0], *ENTRIES[2:]]).clusters[0].label == "Pool"


def test_an_abandoned_entry_is_not_an_exemplar_while_a_gold_one_is_left() -> None:
    central, *gold = (about("pool", number) for number in range(4))
    abandoned = replace(central, resolution=replace(central.outcome, status=OutcomeStatus.ABANDONED))
    assert (abandoned.weight, {entry.weight for entry in gold}) == (0.2, {1.0})

    def exemplars(entries: list[Ghap]) -> list[str]:
        (cluster,) = standing(fit_of(4, 4), entries).clusters
        assert cluster.members[0] is abandoned
        return [entry.id for entry in cluster.exemplars]

    assert exemplars([abandoned, *gold]) == NAMES[1:4]
    assert exemplars([abandoned, *gold[:2]]) == [*NAMES[1:3], NAMES[0]]


def test_what_was_forgotten_since_the_fit_is_not_shown() -> None:
    found = standing(fit_of(3, 5), [ENTRIES[0], *ENTRIES[2:4]], stale=2)
    assert [entry.id for entry in found.clusters[0].members] == [NAMES[0], NAMES[2]]
    assert (found.noise, found.total, found.stale) == ((ENTRIES[3],), 3, 2)
    assert found.places == {NAMES[0]: 0, NAMES[2]: 0, NAMES[3]: None}


def test_a_cluster_that_lost_all_members_disappears() -> None:
    found = standing(fit_of(3, 4), ENTRIES[3:4])
    assert (found.clusters, found.total, found.noise) == ((), 1, (ENTRIES[3],))


def test_noise_is_listed_newest_first() -> None:
    assert standing(fit_of(0, 9)).noise == tuple(reversed(ENTRIES))


def test_an_error_names_the_ten_largest_clusters() -> None:
    clusters = tuple(
        FittedCluster(ClusterId(Axis.FULL, number), "", {NAMES[number % 9]: 0.5}, EVIDENCE) for number in range(12)
    )
    found = standing(AxisFit(Axis.FULL, clusters, NAMES, None))
    with pytest.raises(NotFoundError, match=r"the 10 largest clusters of full are: full_0, .*full_9[.]$"):
        found.get(ClusterId(Axis.FULL, 40))


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
