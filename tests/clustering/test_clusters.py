"""How a fit looks after experiences have come and gone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from learning_memory_server.clustering.axis_fit import AxisFit, FittedCluster
from learning_memory_server.clustering.clusters import AxisClusters, clusters_of
from learning_memory_server.clustering.evidence import ClusterEvidence
from learning_memory_server.clustering.lineage import Lineage
from learning_memory_server.clustering.placement import Placement
from learning_memory_server.domain.cluster import ClusterId
from learning_memory_server.domain.vocabulary import Axis, OutcomeStatus
from learning_memory_server.errors import NotFoundError
from tests.support import NOON, about, numbered

if TYPE_CHECKING:
    from learning_memory_server.domain.ghap import Ghap

EVIDENCE = ClusterEvidence.of("full_0", np.eye(3, dtype=np.float32), np.ones(3))
ENTRIES = [
    numbered(number, goal=f"Launch the moonshot {number}" if number == 1 else "Fill the pool")
    for number in range(9)
]
NAMES = [entry.id for entry in ENTRIES]


def fit_of(
    members: int, total: int, explanation: str | None = None, label: str = "Pool, moonshot"
) -> AxisFit:
    """A fit of the first entries, of which the first few are a cluster, the later the farther from its centre."""
    cosines = {name: 0.9 - place / 100 for place, name in enumerate(NAMES[:members])}
    cluster = FittedCluster(ClusterId(Axis.FULL, 0), label, cosines, EVIDENCE)
    return AxisFit.made_of(NOON, [cluster] if members else [], NAMES[:total], explanation)


def standing(
    fit: AxisFit,
    entries: list[Ghap] = ENTRIES,
    placed: dict[str, Placement] | None = None,
    before: AxisClusters | None = None,
) -> AxisClusters:
    return clusters_of(Axis.FULL, fit, Lineage(), {e.id: e for e in entries}, placed or {}, before)


def test_a_label_loses_the_words_that_only_a_forgotten_member_had() -> None:
    fit = fit_of(4, 4)
    assert standing(fit).clusters[0].label == "Pool, moonshot"
    assert standing(fit, ENTRIES[1:]).clusters[0].label == "Pool, moonshot"
    assert standing(fit, [ENTRIES[0], *ENTRIES[2:]]).clusters[0].label == "Pool"


def test_a_newcomer_stands_where_its_likeness_puts_it() -> None:
    found = standing(fit_of(3, 3), placed={NAMES[5]: Placement(0, 0.895), NAMES[6]: Placement(None)})
    assert [entry.id for entry in found.clusters[0].members] == [NAMES[0], NAMES[5], NAMES[1], NAMES[2]]
    assert [entry.id for entry in found.clusters[0].exemplars] == [NAMES[0], NAMES[5], NAMES[1]]
    assert (found.total, found.noise_count, found.placed_since) == (5, 1, 2)
    assert found.places == {**dict.fromkeys([*NAMES[:3], NAMES[5]], 0), NAMES[6]: None}


def test_an_abandoned_entry_is_no_exemplar_while_a_gold_one_is_left() -> None:
    central, *gold = (about("pool", number) for number in range(4))
    abandoned = replace(central, resolution=replace(central.outcome, status=OutcomeStatus.ABANDONED))
    assert (abandoned.weight, {entry.weight for entry in gold}) == (0.2, {1.0})

    def exemplars(entries: list[Ghap]) -> list[str]:
        (cluster,) = standing(fit_of(4, 4), entries).clusters
        assert cluster.members[0] is abandoned
        return [entry.id for entry in cluster.exemplars]

    assert exemplars([abandoned, *gold]) == NAMES[1:4]
    assert exemplars([abandoned, *gold[:2]]) == [*NAMES[1:3], NAMES[0]]


def test_a_cluster_without_members_left_is_no_cluster() -> None:
    found = standing(fit_of(3, 4), ENTRIES[3:4])
    assert (found.clusters, found.total, found.noise_count) == ((), 1, 1)


def test_what_has_not_changed_is_not_put_together_again() -> None:
    fit = fit_of(3, 3)
    before = standing(fit)
    same = standing(fit, placed={NAMES[5]: Placement(None)}, before=before)
    assert same.clusters[0] is before.clusters[0]
    joined = standing(fit, placed={NAMES[5]: Placement(0, 0.5)}, before=before)
    assert len(joined.clusters[0].members) == 4
    assert len(standing(fit, ENTRIES[1:], before=joined).clusters[0].members) == 2


@pytest.mark.parametrize(
    ("fit", "placed", "explanation"),
    [
        (fit_of(3, 5, "why"), {}, None),
        (fit_of(2, 5, "why"), {}, "why"),
        (fit_of(2, 5, "why"), {NAMES[5]: Placement(None)}, "At the last fit: why"),
        (fit_of(2, 5, "why"), {NAMES[5]: Placement(0, 0.5)}, None),
        (fit_of(0, 5, "why"), {}, "why"),
    ],
)
def test_a_thin_answer_explains_itself_as_of_now(
    fit: AxisFit, placed: dict[str, Placement], explanation: str | None
) -> None:
    assert standing(fit, placed=placed).explanation == explanation


def test_newcomers_that_fit_nowhere_are_an_explanation() -> None:
    found = standing(fit_of(3, 3), placed={name: Placement(None) for name in NAMES[3:8]})
    assert found.explanation is not None
    assert found.explanation.startswith("5 of 8 experiences are in no cluster: many came after the last fit")


def test_an_error_names_the_ten_largest_clusters() -> None:
    clusters = [
        FittedCluster(ClusterId(Axis.FULL, number), "", {NAMES[number % 9]: 0.5}, EVIDENCE)
        for number in range(12)
    ]
    found = standing(AxisFit.made_of(NOON, clusters, NAMES, None))
    with pytest.raises(NotFoundError, match=r"the 10 largest clusters of full are: full_0, .*full_9[.]$"):
        found.get(ClusterId(Axis.FULL, 40))
