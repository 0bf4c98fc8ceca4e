from dataclasses import replace

import pytest

from learning_memory_server.index.ranking.threshold import ADVICE, least_of_advice
from learning_memory_server.learning.advice.finder import Background, Scored, best, is_instructive, sunk
from learning_memory_server.model.advice import Kind, Reason
from learning_memory_server.model.vocabulary import OutcomeStatus
from tests.support import CONFIRMED, about, full_ghap, ghap, numbered

WANTED = frozenset({"pool", "checkout", "timeout"})


def scored(number: int, score: float, status: OutcomeStatus = OutcomeStatus.CONFIRMED) -> Scored:
    return Scored(numbered(number, resolution=replace(CONFIRMED, status=status)), score)


def shown(*candidates: Scored, least: float = 0.7) -> list[int]:
    return [int(each.entry.id[-6:], 16) for each in best(candidates, least)]


def test_at_most_two_are_shown_and_the_best_first() -> None:
    assert shown(scored(1, 0.71), scored(2, 0.9), scored(3, 0.8)) == [2, 3]


def test_nothing_below_the_threshold_is_shown() -> None:
    assert shown(scored(1, 0.66), scored(2, 0.2)) == []
    assert shown() == []
    # One alone leads as much as is usual.
    assert shown(scored(1, 0.69)) == []
    assert shown(scored(1, 0.7)) == [1]


def test_what_leads_needs_less_than_what_many_match_as_well_as() -> None:
    assert shown(scored(1, 0.69), scored(2, 0.5)) == [1]
    assert shown(scored(1, 0.73), scored(2, 0.72), scored(3, 0.71)) == []


def test_a_second_one_that_is_much_weaker_is_not_shown() -> None:
    assert shown(scored(1, 0.95), scored(2, 0.84)) == [1, 2]
    assert shown(scored(1, 0.95), scored(2, 0.82)) == [1]


def test_a_falsified_hypothesis_that_matches_as_well_comes_before_confirmed_ones() -> None:
    falsified = scored(4, 0.84, OutcomeStatus.FALSIFIED)
    assert shown(scored(1, 0.9), scored(2, 0.88), scored(3, 0.86), falsified) == [4, 1]


def test_a_falsified_hypothesis_that_matches_worse_comes_after_confirmed_ones() -> None:
    assert shown(scored(1, 0.9), scored(2, 0.75, OutcomeStatus.FALSIFIED)) == [1]
    assert shown(scored(1, 0.9), scored(2, 0.8, OutcomeStatus.FALSIFIED)) == [1, 2]


def test_the_threshold_rises_with_a_large_store_only() -> None:
    assert least_of_advice(0) == least_of_advice(100) == ADVICE
    assert least_of_advice(100) < least_of_advice(1_000) < least_of_advice(100_000) < 1


def test_rare_terms_that_an_experience_shares_count_more_than_common_ones() -> None:
    background = Background(WANTED, [frozenset({"pool"})] * 9 + [frozenset({"checkout"})], [])
    assert 0 < background.coverage(frozenset({"pool"})) < background.coverage(frozenset({"checkout"})) < 1
    assert background.coverage(WANTED | {"other"}) == pytest.approx(1)
    assert background.coverage(frozenset()) == 0


def test_a_text_without_terms_has_no_coverage() -> None:
    assert Background(frozenset(), [WANTED], []).coverage(WANTED) == 0


def test_the_same_cosine_is_worth_more_where_others_are_lower() -> None:
    usual = Background(WANTED, [], [0.1] * 50)
    crowded = Background(WANTED, [], [0.5] * 50)
    assert usual.score(0.6, frozenset()) > crowded.score(0.6, frozenset())


def test_few_entries_are_compared_with_what_is_usual() -> None:
    one, many = Background(WANTED, [], [0.9]), Background(WANTED, [], [0.9] * 200)
    assert one.score(0.9, frozenset()) > many.score(0.9, frozenset()) + 0.1


def test_an_experience_that_misled_more_often_than_it_helped_sinks() -> None:
    assert sunk(0.9, misled=0, helped=3) == 0.9
    assert sunk(0.9, misled=1, helped=1) == 0.9
    assert sunk(0.9, misled=2, helped=0) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("score", "shared", "reason"), [(0.9, 0.1, Reason.SIMILAR), (0.9, 0.3, Reason.BOTH), (0.75, 0.4, Reason.TERMS)]
)
def test_what_is_kept_says_what_it_matched_by(score: float, shared: float, reason: Reason) -> None:
    item = replace(scored(1, score), shared=shared).item(0.7)
    assert (item.kind, item.score, item.reason) == (Kind.EXPERIENCE, score, reason)


def test_the_shared_part_of_a_score_is_what_the_terms_add() -> None:
    background = Background(WANTED, [frozenset({"pool"})] * 9, [0.2] * 9)
    added = background.score(0.6, WANTED) - background.score(0.6, frozenset())
    assert background.shared(WANTED) == pytest.approx(added)


def test_an_entry_teaches_by_its_lesson_or_its_root_cause() -> None:
    assert is_instructive(about("pool", 1))
    assert is_instructive(full_ghap())
    assert not is_instructive(ghap(resolution=CONFIRMED))
