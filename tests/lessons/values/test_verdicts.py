"""Verdicts: one for each value and entry, given with a value or later, and forgotten with either."""

from dataclasses import replace
from pathlib import Path

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.embedding.scale import DEFAULT_SCALE
from learning_memory_server.errors import (
    InvalidInputError,
    JournalUnavailableError,
    NotFoundError,
    StorageUnavailableError,
)
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.journal.journal import Journal
from learning_memory_server.lessons.values.log import VerdictLog
from learning_memory_server.lessons.values.store import CitedEntries, ValueStore
from learning_memory_server.model.value import Support, verdict_id
from learning_memory_server.model.vocabulary import Axis, OutcomeStatus, Stance
from tests.lessons.values.parts import CACHE, FULL_0, GOOD, POOL, REWORDED, open_values, value, values_over
from tests.support import ALICE, NOON, Parts, about, confirm, numbered, open_parts, start

YES, NO, NEITHER = Stance.SUPPORTS, Stance.CONTRADICTS, Stance.NEITHER
ENTRIES = [numbered(number) for number in range(3)]


def lines(journal: Journal) -> int:
    return len((journal.path / "verdicts.jsonl").read_bytes().splitlines())


async def test_the_last_verdict_on_a_pair_counts(tmp_path: Path) -> None:
    async with open_parts(tmp_path) as parts:
        parts.collector.add_resolved(ENTRIES)
        parts.values.add(value("v"))
        judge = values_over(parts)
        one, two, _ = (entry.id for entry in ENTRIES)
        assert judge.judge(ALICE, "v", one, YES).support == Support(1, 0)
        assert judge.judge(ALICE, "v", two, YES).support == Support(2, 0)
        assert judge.judge(ALICE, "v", one, NO).support == Support(1, 1)
        assert judge.judge(ALICE, "v", two, NEITHER).support == Support(0, 1)
        assert lines(parts.journal) == 4

        assert judge.judge(ALICE, "v", two, NEITHER).support == Support(0, 1)
        assert lines(parts.journal) == 4

    again = VerdictLog(Journal(parts.journal.path).verdicts).all()
    assert {each.ghap_id: each.stance for each in again} == {one: NO, two: NEITHER}
    assert {each.project for each in again} == {"p"}


async def test_a_call_that_is_repeated_after_a_later_verdict_changes_nothing(parts: Parts) -> None:
    parts.collector.add_resolved(ENTRIES)
    parts.values.add(value("v"))
    first = replace(ALICE, request="front:1")
    values_over(parts).judge(first, "v", ENTRIES[0].id, YES)
    values_over(parts).judge(replace(ALICE, request="front:2"), "v", ENTRIES[0].id, NO)

    fresh = replace(values_over(parts), verdicts=VerdictLog(parts.journal.verdicts))
    repeated = fresh.judge(replace(first, again=True), "v", ENTRIES[0].id, YES)

    assert repeated.support == Support(0, 1)
    assert lines(parts.journal) == 2


async def test_only_a_resolved_entry_and_a_known_value_can_be_judged(parts: Parts) -> None:
    parts.collector.add_resolved(ENTRIES)
    parts.values.add(value("v"))
    still_open = start(parts.collector)
    parts.collector.forget([ENTRIES[0].id], NOON)
    for ghap_id in ("ghap_unknown", ENTRIES[0].id):
        with pytest.raises(NotFoundError, match=f"^ghap_id: there is no entry {ghap_id}"):
            values_over(parts).judge(ALICE, "v", ghap_id, YES)
    with pytest.raises(InvalidInputError, match=f"^ghap_id: {still_open.id} is still open"):
        values_over(parts).judge(ALICE, "v", still_open.id, YES)
    with pytest.raises(NotFoundError, match="no value w"):
        values_over(parts).judge(ALICE, "w", ENTRIES[1].id, YES)
    assert parts.verdicts.all() == []

    confirm(parts.collector, ghap_id=still_open.id)
    assert values_over(parts).judge(ALICE, "v", still_open.id, YES).support == Support(1)


async def test_a_value_is_stored_with_its_verdicts_or_unattested(store: ValueStore, parts: Parts) -> None:
    plain = await store.store(ALICE, REWORDED, FULL_0, Axis.FULL)
    assert plain.standing.support == Support()

    cited = CitedEntries((POOL[0].id, POOL[1].id), (CACHE[0].id,))
    stored = await store.store(ALICE, GOOD, FULL_0, Axis.FULL, cited=cited)
    assert stored.standing.supporting == cited.supported_by
    assert stored.standing.contradicting == cited.contradicted_by

    more = await store.store(ALICE, GOOD, FULL_0, Axis.FULL, cited=CitedEntries((POOL[1].id, POOL[2].id)))
    assert (more.is_new, more.standing.support) == (False, Support(3, 1))
    assert lines(parts.journal) == 4


async def test_a_value_with_an_unusable_citation_is_not_stored(store: ValueStore, parts: Parts) -> None:
    still_open = start(parts.collector)
    for cited, error, message in (
        (CitedEntries(("ghap_unknown",)), NotFoundError, "^supported_by: there is no entry ghap_unknown"),
        (CitedEntries((), (still_open.id,)), InvalidInputError, "^contradicted_by: .* is still open"),
        (CitedEntries((POOL[0].id,), (POOL[0].id,)), InvalidInputError, "^supported_by, contradicted_by: .* both"),
    ):
        with pytest.raises(error, match=message):
            await store.store(ALICE, GOOD, FULL_0, Axis.FULL, cited=cited)
    assert parts.values.all() == []
    assert parts.verdicts.all() == []


async def test_without_its_verdicts_a_value_is_not_stored_either(store: ValueStore, parts: Parts) -> None:
    await store.validate(GOOD, FULL_0)
    parts.verdicts.all()
    (parts.journal.path / "verdicts.jsonl").mkdir()
    with pytest.raises(JournalUnavailableError):
        await store.store(ALICE, GOOD, FULL_0, Axis.FULL, cited=CitedEntries((POOL[0].id,)))
    (parts.journal.path / "verdicts.jsonl").rmdir()

    assert parts.values.all() == []


def test_verdicts_are_found_by_what_they_are_about(journal: Journal) -> None:
    log = VerdictLog(journal.verdicts)
    log.record(ALICE, value("v"), NOON, {"a": YES, "b": NO})
    log.record(ALICE, value("w"), NOON, {"a": NEITHER})

    assert {each.id for each in log.about({"a"})} == {verdict_id("v", "a"), verdict_id("w", "a")}
    assert {each.id for each in log.about({"v"})} == {verdict_id("v", "a"), verdict_id("v", "b")}
    assert log.about(set()) == []


def test_a_purge_removes_forgotten_verdicts(journal: Journal, collector: ObservationCollector) -> None:
    log = VerdictLog(journal.verdicts)
    collector.add_resolved(ENTRIES[:2])
    one, two = (entry.id for entry in ENTRIES[:2])
    log.record(ALICE, value("v"), NOON, {one: YES, two: NO})

    log.forget((each.id for each in log.about({one})), NOON)
    collector.forget([one], NOON)
    journal.purge()

    assert [each.ghap_id for each in VerdictLog(journal.verdicts).all()] == [two]
    assert one.encode() not in (journal.path / "verdicts.jsonl").read_bytes()


@pytest.mark.parametrize("status", [OutcomeStatus.CONFIRMED, OutcomeStatus.FALSIFIED])
async def test_an_entry_near_a_value_names_it_until_it_is_judged(
    status: OutcomeStatus, store: ValueStore, parts: Parts
) -> None:
    near = about("pool", 100)
    near = replace(near, resolution=replace(near.outcome, status=status))
    await parts.learn(near, about("types", 101))
    assert await values_over(parts).find_near(near) is None

    stored = (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing.value
    assert await values_over(parts).find_near(near) is None, "the scale of the model is not known yet"
    parts.index.scale.known = DEFAULT_SCALE
    assert await values_over(parts).find_near(near) == stored
    assert await values_over(parts).find_near(about("types", 101)) is None
    assert await values_over(parts).find_near(replace(near, project="another")) is None
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(VectorIndex, "usual_closeness", lambda *_: 0.9)
        assert await values_over(parts).find_near(near) is None, "all experiences are as near"
    given_up = replace(near, resolution=replace(near.outcome, status=OutcomeStatus.ABANDONED))
    assert await values_over(parts).find_near(given_up) is None

    values_over(parts).judge(ALICE, stored.id, near.id, NEITHER)
    assert await values_over(parts).find_near(near) is None


async def test_a_failing_engine_names_no_value(store: ValueStore, parts: Parts) -> None:
    parts.index.scale.known = DEFAULT_SCALE
    await store.store(ALICE, GOOD, FULL_0, Axis.FULL)
    parts.store.down = StorageUnavailableError("down")
    assert await values_over(parts).find_near(about("pool", 100)) is None


async def test_values_are_listed_by_relevance_with_and_without_the_index(tmp_path: Path) -> None:
    async with open_values(tmp_path) as (store, parts):
        pool = (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing.value
        other = value("other", size=99)
        parts.values.add(other)
        everything = values_over(parts).list_values()
        assert [each.value for each in everything] == [other, pool]

        found, mode = await values_over(parts).by_relevance(GOOD, everything)
        assert ([each.value for each in found], mode.value) == ([pool, other], "hybrid")

    async with open_parts(tmp_path) as parts:
        found, mode = await values_over(parts).by_relevance(GOOD, values_over(parts).list_values())
        assert ([each.value.id for each in found], mode.value) == ([pool.id, "other"], "lexical")


async def test_a_test_of_a_text_shows_the_lessons_and_failed_hypotheses_closest_to_it(tmp_path: Path) -> None:
    async with open_values(tmp_path, learn=False) as (store, parts):
        wrong = [
            replace(
                about("pool", number),
                resolution=replace(about("pool", number).outcome, status=OutcomeStatus.FALSIFIED, lesson=None),
            )
            for number in (50, 51, 52, 53)
        ]
        await parts.learn(*POOL, *CACHE, *wrong)
        trial = await store.validate(f"{GOOD} because52", FULL_0)

        assert len(trial.closest.lessons) == len(trial.closest.falsified) == 3
        assert trial.closest.falsified[0] == wrong[2]
        assert {entry.id for entry in trial.closest.lessons} <= {entry.id for entry in POOL}
