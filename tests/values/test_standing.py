"""Which experiences count for a value, and which against it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from learning_memory_server.domain.cluster import ClusterId
from learning_memory_server.domain.support import Support
from learning_memory_server.domain.value import ValueOrder
from learning_memory_server.domain.vocabulary import Axis, OutcomeStatus
from learning_memory_server.values.standing import Standing, ordered, usual_outcome, weigh
from tests.support import CONFIRMED, NOON, numbered
from tests.values.parts import value

if TYPE_CHECKING:
    from learning_memory_server.domain.ghap import Ghap

YES, NO, GIVEN_UP = OutcomeStatus.CONFIRMED, OutcomeStatus.FALSIFIED, OutcomeStatus.ABANDONED


def ended(number: int, status: OutcomeStatus) -> Ghap:
    at = NOON + timedelta(minutes=number)
    return numbered(number, resolution=replace(CONFIRMED, status=status, resolved_at=at))


def run(*statuses: OutcomeStatus) -> list[Ghap]:
    return [ended(number, status) for number, status in enumerate(statuses)]


def standing(
    entries: list[Ghap], *, members: int, axis: Axis = Axis.FULL, outcome: OutcomeStatus | None = None
) -> Standing:
    """How a value stands whose members are the first of the entries, and its witnesses the others."""
    ids = [entry.id for entry in entries]
    judged = value(
        "v", cluster=ClusterId(axis, 0), member_ids=tuple(ids[:members]), radius=0.3, outcome=outcome
    )
    return weigh(judged, ids[members:], {entry.id: entry for entry in entries})


@pytest.mark.parametrize(("usual", "other"), [(YES, NO), (NO, YES)])
@pytest.mark.parametrize("axis", [Axis.FULL, Axis.STRATEGY])
def test_what_ends_as_most_members_did_supports_and_the_opposite_contradicts(
    axis: Axis, usual: OutcomeStatus, other: OutcomeStatus
) -> None:
    entries = run(usual, usual, other, usual, other, other)
    found = standing(entries, members=3, axis=axis, outcome=usual)

    assert found.supporting == tuple(entries[place].id for place in (0, 1, 3))
    assert found.contradicting == tuple(entries[place].id for place in (2, 4, 5))
    assert found.support == Support(3, 3)


@pytest.mark.parametrize("axis", [Axis.SURPRISE, Axis.ROOT_CAUSE])
def test_a_surprise_or_a_root_cause_is_borne_out_by_happening_again(axis: Axis) -> None:
    found = standing(run(NO, NO, NO, YES, NO, GIVEN_UP), members=3, axis=axis, outcome=NO)

    assert found.support == Support(5, 0)


def test_what_was_abandoned_counts_for_nothing() -> None:
    assert standing(run(YES, GIVEN_UP, GIVEN_UP), members=2, outcome=YES).support == Support(1, 0)


def test_where_members_ended_as_often_one_way_as_the_other_nothing_counts() -> None:
    assert standing(run(YES, NO, NO, NO), members=2).support == Support(0, 0)


def test_a_value_of_an_earlier_version_takes_the_side_of_the_members_there_are() -> None:
    entries = run(NO, NO, YES, NO, YES)
    judged = value("v", member_ids=tuple(entry.id for entry in entries[:3]))

    found = weigh(judged, [entry.id for entry in entries[3:]], {entry.id: entry for entry in entries})

    assert found.support == Support(3, 2)


def test_what_is_not_known_any_more_counts_no_more() -> None:
    entries = run(YES, YES, NO)
    judged = value("v", member_ids=(entries[0].id, "ghap_gone"), radius=0.3, outcome=YES)

    found = weigh(judged, ["ghap_gone_too", entries[2].id], {entry.id: entry for entry in entries})

    assert found.supporting == (entries[0].id,)
    assert found.contradicting == (entries[2].id,)


def test_a_member_that_is_named_as_a_witness_counts_once() -> None:
    entries = run(YES)
    judged = value("v", member_ids=(entries[0].id,), radius=0.3, outcome=YES)

    assert weigh(judged, [entries[0].id], {entries[0].id: entries[0]}).support == Support(1, 0)


def test_a_value_is_contested_since_the_experience_that_tipped_the_scales() -> None:
    entries = run(YES, YES, YES, NO, NO, NO, NO, NO)
    assert standing(entries[:6], members=3, outcome=YES).contested_since is None

    found = standing(entries, members=3, outcome=YES)

    assert found.support.is_contested
    assert found.contested_since == NOON + timedelta(minutes=6)


def test_a_value_that_holds_again_is_contested_no_more() -> None:
    contested = run(YES, NO, NO, NO)
    assert standing(contested, members=1, outcome=YES).contested_since == NOON + timedelta(minutes=3)

    assert standing(run(YES, NO, NO, NO, YES, YES), members=1, outcome=YES).contested_since is None
    again = standing(run(YES, NO, NO, NO, YES, YES, NO), members=1, outcome=YES)
    assert again.contested_since == NOON + timedelta(minutes=6)


@pytest.mark.parametrize(
    ("statuses", "usual"),
    [
        ((YES, YES, NO), YES),
        ((NO, GIVEN_UP, GIVEN_UP), NO),
        ((YES, NO), None),
        ((GIVEN_UP,), None),
        ((), None),
    ],
)
def test_the_usual_outcome_is_the_more_frequent_one(
    statuses: tuple[OutcomeStatus, ...], usual: OutcomeStatus | None
) -> None:
    assert usual_outcome(run(*statuses)) is usual


def test_values_are_ordered_by_cluster_size_strength_or_age() -> None:
    large = Standing(value("large", size=9, minutes=1), tuple("a"), tuple("b"))
    strong = Standing(value("strong", size=3, minutes=2), tuple("abcdef"))
    weak = Standing(value("weak", size=3, minutes=3), tuple("abc"))
    equal = Standing(value("equal", size=3, minutes=4), tuple("def"))

    def names(by: ValueOrder) -> list[str]:
        return [each.value.id for each in ordered([strong, large, equal, weak], by)]

    assert names(ValueOrder.CLUSTER_SIZE) == ["large", "equal", "weak", "strong"]
    assert names(ValueOrder.STRENGTH) == ["strong", "equal", "weak", "large"]
    assert names(ValueOrder.NEWEST) == ["equal", "weak", "strong", "large"]
