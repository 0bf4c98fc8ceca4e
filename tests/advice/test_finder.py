"""Which experiences and values are found for a goal and a hypothesis."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from learning_memory_server.lessons.finder import Background, Ranked, Scored, best, sunk

from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.index.ranking.threshold import ADVICE, ERROR, least_at_error, least_of_advice
from learning_memory_server.lessons.values.log import Likeness, document_of
from learning_memory_server.model.advice import AdviceKind, Reason
from learning_memory_server.model.entry import Ghap, Lesson
from learning_memory_server.model.vocabulary import OutcomeStatus, Stance
from tests.advice.parts import MeasuredModel, finder_over
from tests.embedding.test_scale import Unknown
from tests.lessons.values.parts import value
from tests.support import (
    ALICE,
    CAROL,
    CONFIRMED,
    NOON,
    TOPICS,
    Parts,
    about,
    full_ghap,
    ghap,
    ids,
    numbered,
    open_parts,
)


def asked(topic: str = "pool", **changes: object) -> Ghap:
    words = TOPICS[topic]
    given = {"goal": f"{words} again", "hypothesis": f"{words} because", "resolution": None}
    return numbered(99, **{**given, **changes})


async def ranked(
    parts: Parts, entry: Ghap | None = None, effects: Mapping[str, tuple[int, int]] = {}, **options: Any
) -> Ranked:
    found = await finder_over(parts, **options).rank(entry or asked(), effects)
    assert found
    return found


async def chosen(parts: Parts, **which: Any) -> list[str]:
    return [item.id for item in (await ranked(parts, **which)).items()]


async def test_experiences_of_the_same_kind_are_found_and_others_are_not(parts: Parts) -> None:
    assert await chosen(parts) == []
    await parts.learn(about("pool", 1), about("cache", 2), about("types", 3))
    assert await chosen(parts) == ids([about("pool", 1)])


async def test_nothing_is_found_for_a_goal_that_is_new(parts: Parts) -> None:
    await parts.learn(about("pool", 1), about("cache", 2))
    entry = asked(goal="Paint the shed", hypothesis="Two coats will cover the old colour")
    assert await chosen(parts, entry=entry) == []


async def test_pending_experiences_are_found_too(parts: Parts) -> None:
    parts.collector.add_resolved([about("pool", 1), about("cache", 2)])
    assert await chosen(parts) == ids([about("pool", 1)])


async def test_other_projects_are_found_only_if_wanted(parts: Parts) -> None:
    await parts.learn(replace(about("pool", 1), project=CAROL.project))
    assert await chosen(parts) == []
    assert await chosen(parts, is_everywhere=True) == ids([about("pool", 1)])


async def test_forgotten_experiences_are_not_found_while_the_index_still_has_them(parts: Parts) -> None:
    await parts.learn(about("pool", 1), about("cache", 2))
    parts.collector.forget([about("pool", 1).id], NOON)
    assert await chosen(parts) == []


async def test_an_experience_without_a_lesson_is_not_found(parts: Parts) -> None:
    mute = about("pool", 1)
    await parts.learn(replace(mute, resolution=replace(mute.outcome, lesson=None)))
    assert await chosen(parts) == []


async def test_what_an_entry_does_and_predicts_is_asked_for_too(parts: Parts) -> None:
    await parts.learn(about("pool", 1), about("cache", 2))
    entry = asked(goal="Mend the job", hypothesis="It hangs")
    assert await chosen(parts, entry=entry) == []
    asks = replace(entry, action=TOPICS["pool"], prediction=f"{TOPICS['pool']} again")
    assert await chosen(parts, entry=asks) == ids([about("pool", 1)])


async def test_of_several_texts_the_better_answer_counts(parts: Parts) -> None:
    await parts.learn(about("pool", 1), about("cache", 2))
    texts = [TOPICS["pool"], TOPICS["cache"]]

    async def scores(*texts: str) -> dict[str, float]:
        found = await finder_over(parts).rank_texts(texts, ALICE.project, {})
        assert found
        return {each.entry.id: each.score for each in found.experiences}

    alone = [await scores(text) for text in texts]
    assert await scores(*texts) == {name: max(each[name] for each in alone) for name in alone[0]}


async def test_what_is_known_makes_room_for_the_next_best(parts: Parts) -> None:
    entries = [scored(number, score, OutcomeStatus.CONFIRMED) for number, score in enumerate((0.9, 0.88, 0.86), 1)]
    found = replace(await ranked(parts), experiences=entries, values=[], least=0.7)
    assert [item.id for item in found.items()] == ids([each.entry for each in entries[:2]])
    assert [item.id for item in found.items({entries[0].entry.id})] == ids([each.entry for each in entries[1:]])


async def test_an_experience_that_misled_sinks_below_the_threshold(parts: Parts) -> None:
    await parts.learn(about("pool", 1), about("cache", 2))
    assert await chosen(parts, effects={about("pool", 1).id: (9, 0)}) == []


async def test_an_old_experience_is_found_behind_many_newer_ones(parts: Parts) -> None:
    await parts.learn(about("pool", 1), *(about("cache", number) for number in range(2, 9)))
    assert await chosen(parts, background=4) == ids([about("pool", 1)])


async def test_values_are_found_unless_an_entry_contradicts_them(parts: Parts) -> None:
    entry = about("pool", 1)
    parts.values.add(good := value(TOPICS["pool"], project=ALICE.project))
    await parts.learn(entry)
    await parts.writer.write([document_of(good)])
    both = await ranked(parts)
    (found,) = (item for item in both.items() if item.kind is AdviceKind.VALUE)
    assert (found.id, found.reason) == (good.id, Reason.SIMILAR)
    assert found.score == pytest.approx(both.values[0].similarity, abs=0.001)
    parts.verdicts.record(ALICE, good, NOON, {entry.id: Stance.CONTRADICTS})
    assert (await ranked(parts)).best_values() == []


async def test_no_values_are_looked_for_where_only_lessons_are_told(parts: Parts) -> None:
    parts.values.add(good := value(TOPICS["pool"], project=ALICE.project))
    await parts.learn(about("pool", 1))
    await parts.writer.write([document_of(good)])
    assert [each.value for each in (await ranked(parts)).values] == [good]
    found = await finder_over(parts).rank_texts([TOPICS["pool"]], ALICE.project, {})
    assert found
    assert ([each.entry.id for each in found.experiences], found.values) == (ids([about("pool", 1)]), [])


async def test_a_value_about_something_else_is_not_found(parts: Parts) -> None:
    parts.values.add(other := value(TOPICS["types"], project=ALICE.project))
    await parts.writer.write([document_of(other)])
    assert (await ranked(parts)).best_values() == []


async def test_an_index_that_is_not_open_says_nothing(tmp_path: Path) -> None:
    async with open_parts(tmp_path, load=MeasuredModel) as parts:
        parts.collector.add_resolved([about("pool", 1)])
        assert await finder_over(parts).rank(asked(), {}) is None


async def test_a_model_whose_scale_is_not_known_says_nothing(tmp_path: Path) -> None:
    async with open_parts(tmp_path, load=HashingEmbedder) as parts:
        await parts.ready()
        await parts.learn(about("pool", 1))
        assert await finder_over(parts).rank(asked(), {}) is None


async def test_an_unknown_model_says_nothing_until_its_scale_is_measured(tmp_path: Path) -> None:
    async with open_parts(tmp_path, load=Unknown) as parts:
        await parts.ready()
        await parts.learn(about("pool", 1))
        assert await finder_over(parts).rank(asked(), {}) is None
        await parts.writer.complete()
        assert ids([item.entry for item in (await ranked(parts)).experiences]) == [about("pool", 1).id]


def test_what_is_shown_at_a_prompt_must_be_nearer_and_at_an_error_less_near() -> None:
    near, nearer, far = (
        Scored(about("pool", number), score) for number, score in enumerate((0.56, 0.6, 0.48), start=1)
    )
    both = Ranked([near, nearer], [], 0.0, 0.5, 0.4)
    assert [item.id for item in both.items()] == ids([nearer.entry, near.entry])
    assert both.lesson(is_error=False) == (nearer.entry, nearer.item(0.55))
    alone = Ranked([far], [], 0.0, 0.5, 0.4)
    assert alone.lesson(is_error=False) is None
    assert alone.lesson(is_error=True) == (far.entry, far.item(0.4))
    assert least_at_error(1) == least_at_error(10) < least_at_error(100) == ERROR


@pytest.mark.parametrize(("usual", "shown"), [(0.1, 1), (0.2, 0)])
def test_a_value_must_be_nearer_than_experiences_usually_are(usual: float, shown: int) -> None:
    assert len(Ranked([], [Likeness(value("v"), 0.45)], usual, 0.5, 0.4).best_values()) == shown


WANTED = frozenset({"pool", "checkout", "timeout"})


def scored(number: int, score: float, status: OutcomeStatus = OutcomeStatus.CONFIRMED) -> Scored:
    lesson = Lesson("", f"lesson{number} only{number}")
    return Scored(numbered(number, resolution=replace(CONFIRMED, status=status, lesson=lesson)), score)


@pytest.mark.parametrize(
    ("confirmed", "falsified", "shown"),
    [
        pytest.param([0.71, 0.9, 0.8], [], [2, 3], id="the best first, none that is much weaker"),
        pytest.param([], [], [], id="none of none"),
        pytest.param([0.66, 0.2], [], [], id="none below the threshold"),
        pytest.param([0.69], [], [], id="one alone leads as much as is usual"),
        pytest.param([0.7], [], [1], id="one alone at the threshold"),
        pytest.param([0.69, 0.5], [], [1], id="what leads needs less"),
        pytest.param([0.73, 0.72, 0.71], [], [], id="what many match as well as needs more"),
        pytest.param([0.95, 0.84], [], [1, 2], id="a second that is nearly as good"),
        pytest.param([0.95, 0.82], [], [1], id="no second that is much weaker"),
        pytest.param([0.9, 0.88, 0.86], [0.84], [4, 1, 2, 3], id="what was wrong and matches as well comes first"),
        pytest.param([0.9], [0.75], [1], id="what was wrong and matches much worse does not come"),
        pytest.param([0.9], [0.8], [1, 2], id="what was wrong and matches worse comes second"),
    ],
)
def test_the_best_are_shown(confirmed: list[float], falsified: list[float], shown: list[int]) -> None:
    statuses = [OutcomeStatus.CONFIRMED] * len(confirmed) + [OutcomeStatus.FALSIFIED] * len(falsified)
    scores = zip([*confirmed, *falsified], statuses, strict=True)
    candidates = [scored(number, *each) for number, each in enumerate(scores, start=1)]
    assert [int(each.entry.id[-6:], 16) for each in best(candidates, 0.7)] == shown


def test_the_threshold_rises_with_a_large_store_only() -> None:
    assert least_of_advice(0) == least_of_advice(100) == ADVICE
    assert least_of_advice(100) < least_of_advice(1_000) < least_of_advice(100_000) < 1


def test_rare_terms_that_an_experience_shares_count_more_than_common_ones() -> None:
    background = Background(WANTED, [frozenset({"pool"})] * 9 + [frozenset({"checkout"})], [])
    assert 0 < background.coverage(frozenset({"pool"})) < background.coverage(frozenset({"checkout"})) < 1
    assert background.coverage(WANTED | {"other"}) == pytest.approx(1)
    assert background.coverage(frozenset()) == 0


def test_what_all_entries_of_a_small_store_have_counts_nearly_as_much_as_what_none_has() -> None:
    background = Background(frozenset({"pool", "deadlock"}), [frozenset({"pool"})] * 2, [])
    assert background.coverage(frozenset({"pool"})) > 0.3


def test_a_text_without_terms_has_no_coverage() -> None:
    assert Background(frozenset(), [WANTED], []).coverage(WANTED) == 0


def test_the_same_cosine_is_worth_more_where_others_are_lower() -> None:
    usual = Background(WANTED, [], [0.1] * 50)
    crowded = Background(WANTED, [], [0.5] * 50)
    assert usual.score(0.6, 0.0) > crowded.score(0.6, 0.0)


def test_few_entries_are_compared_with_what_is_usual() -> None:
    one, many = Background(WANTED, [], [0.9]), Background(WANTED, [], [0.9] * 200)
    assert one.score(0.9, 0.0) > many.score(0.9, 0.0) + 0.1


def test_an_experience_that_misled_more_often_than_it_helped_sinks() -> None:
    assert sunk(0.9, misled=0, helped=3) == 0.9
    assert sunk(0.9, misled=1, helped=1) == 0.9
    assert sunk(0.9, misled=2, helped=0) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("score", "shared", "reason"), [(0.9, 0.1, Reason.SIMILAR), (0.9, 0.3, Reason.BOTH), (0.75, 0.4, Reason.TERMS)]
)
def test_what_is_kept_says_what_it_matched_by(score: float, shared: float, reason: Reason) -> None:
    item = replace(scored(1, score), shared=shared).item(0.7)
    assert (item.kind, item.score, item.reason) == (AdviceKind.EXPERIENCE, score, reason)


def test_the_shared_part_of_a_score_is_what_the_terms_add() -> None:
    background = Background(WANTED, [frozenset({"pool"})] * 9, [0.2] * 9)
    added = background.score(0.6, background.shared(WANTED)) - background.score(0.6, 0.0)
    assert background.shared(WANTED) == pytest.approx(added)


def test_an_entry_teaches_by_its_lesson_or_its_root_cause() -> None:
    assert about("pool", 1).learned
    assert full_ghap().learned
    assert not ghap(resolution=CONFIRMED).learned
    # What worked was for its own case.
    assert not ghap(resolution=replace(CONFIRMED, lesson=Lesson("looking closely"))).learned
