"""How near a lesson is, and which are near enough."""

from dataclasses import replace

import pytest

from learning_memory_server.advice import constants
from learning_memory_server.advice.scorer import (
    Background,
    Near,
    Scored,
    bar_at_error,
    bar_at_prompt,
    bar_at_start,
    best,
    best_of_each,
    scored,
)
from learning_memory_server.model.advice import Reason
from learning_memory_server.model.entry import Ghap, Lesson
from learning_memory_server.model.vocabulary import OutcomeStatus
from tests.support import CONFIRMED, numbered

WANTED = frozenset({"pool", "checkout", "timeout"})


def entry(number: int, status: OutcomeStatus = OutcomeStatus.CONFIRMED) -> Ghap:
    lesson = Lesson("", f"lesson{number} only{number}")
    return numbered(number, goal=f"goal{number}", resolution=replace(CONFIRMED, status=status, lesson=lesson))


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        pytest.param([0.71, 0.9, 0.8], [2, 3], id="the best first, none that is much weaker"),
        pytest.param([], [], id="none of none"),
        pytest.param([0.66, 0.2], [], id="none below the bar"),
        pytest.param([0.69], [], id="one alone leads as much as is usual"),
        pytest.param([0.7], [1], id="one alone at the bar"),
        pytest.param([0.69, 0.5], [1], id="what leads needs less"),
        pytest.param([0.73, 0.72, 0.71], [], id="what many match as well needs more"),
        pytest.param([0.95, 0.84], [1, 2], id="a second that is nearly as good"),
        pytest.param([0.95, 0.82], [1], id="no second that is much weaker"),
    ],
)
@pytest.mark.parametrize("status", [OutcomeStatus.CONFIRMED, OutcomeStatus.FALSIFIED])
def test_the_best_are_chosen_whatever_their_outcome(
    given: list[float], shown: list[int], status: OutcomeStatus
) -> None:
    scored = [Scored(entry(number, status), score) for number, score in enumerate(given, start=1)]
    assert [int(each.entry.id[-6:], 16) for each in best(scored, 0.7)] == shown


def test_a_falsified_lesson_does_not_come_first_any_more() -> None:
    right, wrong = Scored(entry(1), 0.9), Scored(entry(2, OutcomeStatus.FALSIFIED), 0.88)
    assert best([wrong, right], 0.7) == [right, wrong]


def test_of_several_texts_the_better_score_counts() -> None:
    low, high, other = Scored(entry(1), 0.2), Scored(entry(1), 0.6), Scored(entry(2), 0.4)
    assert sorted(each.score for each in best_of_each([[low, other], [high]])) == [0.4, 0.6]


def test_the_bars_rise_with_a_large_store() -> None:
    assert bar_at_start(0) == bar_at_start(100) == constants.START
    assert bar_at_start(100) < bar_at_start(1_000) < bar_at_start(100_000) < 1
    assert bar_at_prompt(100) > bar_at_start(100)
    assert bar_at_error(1) == bar_at_error(10) < bar_at_error(100) == constants.ERROR


def test_rare_terms_that_a_lesson_shares_count_more_than_common_ones() -> None:
    background = Background(WANTED, [frozenset({"pool"})] * 9 + [frozenset({"checkout"})], [])
    assert 0 < background.coverage(frozenset({"pool"})) < background.coverage(frozenset({"checkout"})) < 1
    assert background.coverage(WANTED | {"other"}) == pytest.approx(1)
    assert background.coverage(frozenset()) == 0


def test_what_all_entries_of_a_small_store_have_counts_nearly_as_much_as_what_none_has() -> None:
    background = Background(frozenset({"pool", "deadlock"}), [frozenset({"pool"})] * 2, [])
    assert background.coverage(frozenset({"pool"})) > 0.3


def test_a_text_without_terms_has_no_coverage() -> None:
    assert Background(frozenset(), [WANTED], []).coverage(WANTED) == 0


def score(background: Background, closeness: float, terms: frozenset[str] = frozenset()) -> Scored:
    return scored(Near(entry(1), closeness, terms), background)


def test_the_same_closeness_is_worth_more_where_others_are_lower() -> None:
    usual, crowded = (Background(WANTED, [], [each] * 50) for each in (0.1, 0.5))
    assert score(usual, 0.6).score > score(crowded, 0.6).score


def test_few_entries_are_compared_with_what_is_usual() -> None:
    one, many = Background(WANTED, [], [0.9]), Background(WANTED, [], [0.9] * 200)
    assert score(one, 0.9).score > score(many, 0.9).score + 0.1


def test_the_part_of_a_score_that_shared_terms_add_is_known() -> None:
    background = Background(WANTED, [frozenset({"pool"})] * 9, [0.2] * 9)
    with_terms, without = score(background, 0.6, WANTED), score(background, 0.6)
    assert with_terms.score - without.score == pytest.approx(with_terms.by_terms)
    assert without.by_terms == 0


@pytest.mark.parametrize(
    ("of", "by_terms", "reason"), [(0.9, 0.1, Reason.SIMILAR), (0.9, 0.3, Reason.BOTH), (0.75, 0.4, Reason.TERMS)]
)
def test_the_reason_says_what_it_matched_by(of: float, by_terms: float, reason: Reason) -> None:
    assert Scored(entry(1), of, by_terms).reason(0.7) is reason
