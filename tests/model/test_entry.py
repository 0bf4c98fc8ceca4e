from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model.entry import WEIGHTS, Lesson, Resolution, RootCause, new_ghap_id
from learning_memory_server.model.scripts import words
from learning_memory_server.model.value import new_value_id
from learning_memory_server.model.vocabulary import OutcomeStatus, RootCauseCategory, Strategy, Tier
from tests.support import CONFIRMED, NOON, ghap

LATER = NOON + timedelta(minutes=10)
LESSON = Lesson("Reading the pool's metrics")
CAUSE = RootCause(RootCauseCategory.OVERSIGHT, "Nobody looked.")
SURPRISE = "It stayed slow."
TEN_WORDS = "one two three four five six seven eight nine ten"


def tier_of(status: OutcomeStatus, *, hypothesis: str | None = None, **parts: Any) -> Tier:
    entry = ghap(resolution=Resolution(status, "So it ended.", LATER, **parts))
    return (replace(entry, hypothesis=hypothesis) if hypothesis else entry).tier


@pytest.mark.parametrize(
    ("status", "parts", "tier"),
    [
        (OutcomeStatus.CONFIRMED, {"lesson": LESSON}, Tier.GOLD),
        (OutcomeStatus.CONFIRMED, {}, Tier.SILVER),
        (OutcomeStatus.CONFIRMED, {"surprise": SURPRISE, "root_cause": CAUSE}, Tier.SILVER),
        (OutcomeStatus.CONFIRMED, {"auto_captured": True}, Tier.GOLD),
        (OutcomeStatus.FALSIFIED, {"surprise": SURPRISE, "root_cause": CAUSE, "lesson": LESSON}, Tier.GOLD),
        (OutcomeStatus.FALSIFIED, {"surprise": SURPRISE, "root_cause": CAUSE}, Tier.SILVER),
        (OutcomeStatus.FALSIFIED, {"surprise": SURPRISE, "lesson": LESSON}, Tier.SILVER),
        (OutcomeStatus.FALSIFIED, {"root_cause": CAUSE, "lesson": LESSON}, Tier.SILVER),
        (OutcomeStatus.FALSIFIED, {"auto_captured": True}, Tier.GOLD),
        (OutcomeStatus.ABANDONED, {"lesson": LESSON}, Tier.ABANDONED),
        (OutcomeStatus.ABANDONED, {"auto_captured": True}, Tier.ABANDONED),
    ],
)
def test_the_tier_follows_from_the_outcome_and_its_explanation(
    status: OutcomeStatus, parts: dict[str, Any], tier: Tier
) -> None:
    assert tier_of(status, **parts) is tier


@pytest.mark.parametrize(
    ("hypothesis", "tier"),
    [
        ("cache", Tier.BRONZE),
        ("cache goes stale", Tier.BRONZE),
        ("the cache goes stale", Tier.GOLD),
        ("  cache:  goes ... stale!  ", Tier.BRONZE),
        ("cache cache cache cache", Tier.GOLD),
    ],
)
def test_a_hypothesis_of_fewer_than_four_words_is_bronze(hypothesis: str, tier: Tier) -> None:
    assert tier_of(OutcomeStatus.CONFIRMED, hypothesis=hypothesis, lesson=LESSON) is tier


@pytest.mark.parametrize("hypothesis", ["it doesn't work", "cache isn\u2019t fresh"])
def test_a_word_with_an_apostrophe_is_one_word(hypothesis: str) -> None:
    assert tier_of(OutcomeStatus.CONFIRMED, hypothesis=hypothesis, lesson=LESSON) is Tier.BRONZE


@pytest.mark.parametrize(
    ("hypothesis", "count"),
    [
        ("कैश पुराना", 2),  # Hindi: the cache is old
        ("कैश पुराना है", 3),
        ("कैश में पुराना डेटा है", 5),
        ("แคชเก่า", 2),  # Thai
        ("แคชเก็บข้อมูลเก่า", 4),
        ("ឃ្លាំងចាស់", 2),  # Khmer
        ("缓存旧", 3),
        ("naïve cache's off-by-one", 3),
        ("naïve cache", 2),
        ("می\u200cشود کش", 2),  # Persian, with a joiner inside a word
    ],
)
def test_words_are_counted_alike_in_every_script(hypothesis: str, count: int) -> None:
    assert len(words(hypothesis)) == count
    tier = tier_of(OutcomeStatus.CONFIRMED, hypothesis=hypothesis, lesson=LESSON)
    assert (tier is Tier.BRONZE) is (count < 4)


@pytest.mark.parametrize(
    ("prediction", "tier"),
    [
        (TEN_WORDS, Tier.BRONZE),
        (TEN_WORDS.upper(), Tier.BRONZE),
        ("ten nine eight seven six five four three two one one one", Tier.BRONZE),
        ("one two three four five six seven eight", Tier.BRONZE),
        ("one two three four five six seven", Tier.GOLD),
        (TEN_WORDS + " eleven twelve", Tier.BRONZE),
        (TEN_WORDS + " eleven twelve thirteen", Tier.GOLD),
        ("nothing alike", Tier.GOLD),
    ],
)
def test_a_hypothesis_that_repeats_the_prediction_is_bronze(prediction: str, tier: Tier) -> None:
    entry = ghap(hypothesis=TEN_WORDS, prediction=prediction, resolution=replace(CONFIRMED, lesson=LESSON))

    assert entry.tier is tier


def test_words_are_case_folded_not_just_lowercased() -> None:
    entry = ghap(
        hypothesis="die Stra\u00dfe ist lang",
        prediction="DIE STRASSE IST LANG",
        resolution=replace(CONFIRMED, lesson=LESSON),
    )

    assert entry.tier is Tier.BRONZE


def test_abandoned_takes_precedence_over_bronze_and_bronze_over_gold() -> None:
    assert tier_of(OutcomeStatus.ABANDONED, hypothesis="too short") is Tier.ABANDONED
    assert tier_of(OutcomeStatus.CONFIRMED, hypothesis="too short", auto_captured=True) is Tier.BRONZE


def test_weights_are_those_of_the_contract() -> None:
    assert WEIGHTS == {Tier.GOLD: 1.0, Tier.SILVER: 0.8, Tier.BRONZE: 0.5, Tier.ABANDONED: 0.2}
    assert ghap(resolution=CONFIRMED).weight == 0.8
    assert ghap(resolution=replace(CONFIRMED, lesson=LESSON)).weight == 1.0


def test_an_open_entry_has_no_tier() -> None:
    with pytest.raises(ValueError, match="is open"):
        _ = ghap().tier


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({}, "surprise and root_cause: required"),
        ({"surprise": SURPRISE}, "root_cause: required"),
        ({"root_cause": CAUSE}, "surprise: required"),
    ],
)
def test_falsified_needs_an_explanation_and_the_error_names_what_is_missing(parts: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Resolution(OutcomeStatus.FALSIFIED, "No.", LATER, **parts).require_explanation()

    assert caught.value.message.startswith(named)
    assert caught.value.hint


@pytest.mark.parametrize("status", [OutcomeStatus.CONFIRMED, OutcomeStatus.ABANDONED])
def test_other_outcomes_need_no_explanation(status: OutcomeStatus) -> None:
    Resolution(status, "So.", LATER).require_explanation()


@pytest.mark.parametrize("part", ["hypothesis", "action", "prediction"])
def test_a_change_adds_the_former_triple_to_the_history(part: str) -> None:
    before = ghap()

    changes: dict[str, Any] = {part: "something else"}
    after = before.revised(at=LATER, **changes)

    assert getattr(after, part) == "something else"
    (revision,) = after.history
    assert (revision.at, revision.hypothesis, revision.action, revision.prediction) == (
        LATER,
        before.hypothesis,
        before.action,
        before.prediction,
    )
    assert (before.iteration_count, after.iteration_count) == (1, 2)
    assert before.history == ()


def test_revisions_are_kept_in_order() -> None:
    entry = ghap().revised(at=LATER, action="first").revised(at=LATER + timedelta(minutes=1), action="second")

    assert [revision.action for revision in entry.history] == ["Raise the pool's size", "first"]
    assert entry.iteration_count == 3


def test_repeating_the_same_is_not_an_iteration() -> None:
    before = ghap()

    assert (
        before.revised(at=LATER, hypothesis=before.hypothesis, action=before.action, prediction=before.prediction)
        == before
    )


def test_white_space_at_the_ends_is_not_a_change() -> None:
    before = ghap()

    assert before.revised(at=LATER, hypothesis=f" {before.hypothesis}\n").history == ()


def test_a_note_alone_is_not_an_iteration() -> None:
    after = ghap(notes=("first",)).revised(at=LATER, note="second")

    assert after.notes == ("first", "second")
    assert after.iteration_count == 1


def test_a_strategy_alone_is_not_an_iteration() -> None:
    after = ghap().revised(at=LATER, strategy=Strategy.ASK_USER)

    assert after.strategy is Strategy.ASK_USER
    assert after.iteration_count == 1


def test_a_revision_without_any_part_changes_nothing() -> None:
    assert ghap().revised(at=LATER) == ghap()


def test_ids_contain_their_time_and_differ() -> None:
    ids = {new_ghap_id(NOON) for _ in range(50)}

    assert len(ids) > 45
    assert all(len(i) == len("ghap_20260301_120000_abcdef") for i in ids)
    assert all(i.startswith("ghap_20260301_120000_") for i in ids)
    assert new_value_id(NOON).startswith("value_20260301_120000_")
