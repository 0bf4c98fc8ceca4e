"""Values that supersede others, and values that say nearly the same."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.errors import (
    DiskFullError,
    EmbeddingUnavailableError,
    InsufficientDataError,
    InvalidInputError,
    JournalUnavailableError,
    NotFoundError,
)
from learning_memory_server.index.document import Collection, point_id
from learning_memory_server.journal.journal import Journal
from learning_memory_server.lessons.values.log import ValueLog
from learning_memory_server.lessons.values.store import ValueStore
from learning_memory_server.model.value import ClusterId, Support, Value, ValueOrder
from learning_memory_server.model.vocabulary import Axis, Stance
from tests.fast_forward import fast_forward
from tests.lessons.values.parts import FULL_0, GOOD, POOL, REWORDED, open_values, value, values_over
from tests.support import ALICE, CAROL, NOON, TOPICS, Parts, SilentModel, within


def listed(parts: Parts, **which: Any) -> list[Value]:
    return [standing.value for standing in values_over(parts).list_values(**which)]


async def test_a_text_in_the_middle_of_its_cluster_is_stored_with_its_evidence(store: ValueStore, parts: Parts) -> None:
    topic = (await store.validate(GOOD, FULL_0)).topic
    value = (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing.value

    assert topic.valid
    assert (value.text, value.cluster_id, value.project) == (GOOD, FULL_0, ALICE.project)
    assert value.id.startswith("value_20260301_12")
    evidence = value.evidence
    assert set(evidence.member_ids) == {entry.id for entry in POOL}
    assert evidence.similarity == pytest.approx(topic.similarity)
    assert evidence.centroid_distance == pytest.approx(1 - topic.similarity, abs=1e-6)
    assert evidence.threshold == topic.threshold
    assert evidence.embedding == await parts.index.origin(Collection.EXPERIENCES_FULL)
    assert sum(x * x for x in evidence.centroid) == pytest.approx(1, abs=1e-5)
    assert len(evidence.centroid) == 384
    assert listed(parts) == [value]
    (record,) = await parts.store.retrieve(Collection.VALUES, [point_id("value", value.id)])
    assert record.payload.keys() == {"value_id", "digest"}


@pytest.mark.slow
async def test_a_value_and_its_evidence_survive_a_restart(tmp_path: Path) -> None:
    async with open_values(tmp_path) as (store, _):
        value = (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing.value

    async with open_values(tmp_path, learn=False) as (_, parts):
        (again,) = listed(parts)

    assert again == value


@pytest.mark.slow
async def test_storing_the_same_text_again_returns_the_same_value(store: ValueStore, parts: Parts) -> None:
    first = await store.store(ALICE, GOOD, FULL_0, Axis.FULL)
    again = await store.store(ALICE, f" {GOOD}\n", FULL_0, Axis.FULL)

    assert (first.is_new, again.is_new) == (True, False)
    assert again.standing == first.standing
    assert again.similar == ()
    assert len(parts.journal.values.read().records) == 1
    assert (await parts.index.counts())["values"] == 1


@pytest.mark.slow
async def test_concurrent_calls_with_the_same_text_store_one_value(store: ValueStore, parts: Parts) -> None:
    results = await asyncio.gather(*(store.store(ALICE, GOOD, FULL_0, Axis.FULL) for _ in range(3)))

    # Each asks a model in a thread of its own, so any of them may be first.
    assert sorted(result.is_new for result in results) == [False, False, True]
    assert len({result.standing.value.id for result in results}) == 1
    assert len(parts.journal.values.read().records) == 1


@pytest.mark.slow
async def test_the_same_text_elsewhere_or_no_longer_in_force_is_another_value(store: ValueStore, parts: Parts) -> None:
    there = value("there", cluster=ClusterId(Axis.STRATEGY, 0), project=ALICE.project)
    parts.values.add(replace(there, text=GOOD))
    for caller in (ALICE, CAROL):
        assert (await store.store(caller, GOOD, FULL_0, Axis.FULL)).is_new
    (ours, theirs) = parts.values.all()[1:]
    parts.values.forget([theirs.id], parts.clock())
    other = f"{GOOD} first"
    await store.store(ALICE, other, FULL_0, Axis.FULL, supersedes=ours.id)

    assert (await store.store(CAROL, GOOD, FULL_0, Axis.FULL)).is_new
    assert (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).is_new
    assert not (await store.store(ALICE, other, FULL_0, Axis.FULL)).is_new


@pytest.mark.slow
@pytest.mark.parametrize("text", ["something that nobody ever spoke of", f"{TOPICS['cache']} first"])
async def test_a_text_outside_the_cluster_is_refused_and_not_stored(text: str, store: ValueStore, parts: Parts) -> None:
    topic = (await store.validate(text, FULL_0)).topic
    assert not topic.valid
    with pytest.raises(InvalidInputError, match=r"^text: not accepted as a value of full_0") as caught:
        await store.store(ALICE, text, FULL_0, Axis.FULL)

    assert topic.reason in caught.value.message
    assert f"{topic.centroid_distance:.3f}" in caught.value.message
    assert f"{topic.threshold:.3f}" in caught.value.message
    assert caught.value.hint
    assert listed(parts) == []
    assert (await parts.index.counts())["values"] == 0
    assert parts.journal.values.read().records == []


async def test_a_value_is_kept_of_forty_equal_entries(tmp_path: Path) -> None:
    async with open_values(tmp_path, learn=False) as (store, parts):
        await parts.learn(*(replace(POOL[0], id=f"ghap_20260301_120000_{number:06x}") for number in range(40)))
        said = "a timeout at checkout means that the pool of the database is exhausted"
        stored = await store.store(ALICE, said, FULL_0, Axis.FULL)

    assert len(stored.standing.value.evidence.member_ids) == 40


async def test_a_refusal_names_the_nearer_cluster(store: ValueStore) -> None:
    topic = (await store.validate(f"{TOPICS['cache']} first", FULL_0)).topic

    assert "closer to cluster full_1" in topic.reason


@pytest.mark.slow
async def test_the_axis_must_match_the_cluster(store: ValueStore, parts: Parts) -> None:
    with pytest.raises(InvalidInputError, match=r"^axis: strategy .*full_0; expected full\.$"):
        await store.store(ALICE, GOOD, FULL_0, Axis.STRATEGY)

    assert listed(parts) == []


@pytest.mark.slow
async def test_an_unknown_cluster_is_not_found(store: ValueStore) -> None:
    for attempt in (
        lambda: store.validate(GOOD, ClusterId(Axis.FULL, 7)),
        lambda: store.store(ALICE, GOOD, ClusterId(Axis.FULL, 7), Axis.FULL),
    ):
        with pytest.raises(NotFoundError, match="full_0, full_1"):
            await attempt()


async def test_validate_and_store_report_too_few_experiences(tmp_path: Path) -> None:
    async with open_values(tmp_path, learn=False) as (store, parts):
        await parts.learn(*POOL[:5])
        for attempt in (lambda: store.validate(GOOD, FULL_0), lambda: store.store(ALICE, GOOD, FULL_0, Axis.FULL)):
            with pytest.raises(InsufficientDataError, match=r"\b5\b.*\b12\b"):
                await attempt()


@pytest.mark.slow
async def test_a_value_that_cannot_be_indexed_is_stored_and_pending(tmp_path: Path) -> None:
    async with open_values(tmp_path) as (store, parts):
        await store.validate(GOOD, FULL_0)
        parts.store.failures = [DiskFullError("full")]
        value = (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing.value
        assert listed(parts) == [value]

    async with open_values(tmp_path, learn=False) as (store, parts):
        assert (await parts.index.counts())["values"] == 1


async def test_a_value_that_cannot_be_journalled_is_not_stored(store: ValueStore, parts: Parts) -> None:
    await store.validate(GOOD, FULL_0)
    (parts.journal.path / "values.jsonl").mkdir()
    with pytest.raises(JournalUnavailableError):
        await store.store(ALICE, GOOD, FULL_0, Axis.FULL)
    (parts.journal.path / "values.jsonl").rmdir()

    assert listed(parts) == []
    assert (await parts.index.counts())["values"] == 0


async def test_values_are_listed_by_axis_and_project(tmp_path: Path) -> None:
    async with open_values(tmp_path, learn=False) as (_, parts):
        parts.values.add(value("c", size=3, minutes=1, project=CAROL.project))
        parts.values.add(value("a", size=5, project=ALICE.project))
        parts.values.add(value("b", size=4, cluster=ClusterId(Axis.ROOT_CAUSE, 1), project=ALICE.project))

        assert [each.id for each in listed(parts)] == ["a", "b", "c"]
        assert [each.id for each in listed(parts, axis=Axis.ROOT_CAUSE)] == ["b"]
        assert [each.id for each in listed(parts, axis=Axis.FULL)] == ["a", "c"]
        assert [each.id for each in listed(parts, project=CAROL.project)] == ["c"]
        assert [each.id for each in listed(parts, axis=Axis.FULL, project=ALICE.project)] == ["a"]
        assert listed(parts, axis=Axis.SURPRISE) == []


async def test_values_are_forgotten_by_id_and_by_project(tmp_path: Path) -> None:
    async with open_values(tmp_path, learn=False) as (_, parts):
        a, b = value("a", size=5, project=ALICE.project), value("b", size=4, project=ALICE.project)
        c = value("c", size=3, project=CAROL.project)
        parts.values.add(a, b, c)

        assert parts.values.look_up(["a"]).found == (a,)
        assert parts.values.look_up_project(ALICE.project).found == (a, b)
        assert listed(parts) == [a, b, c]
        assert parts.values.forget(["a"], parts.clock()).found == (a,)
        (left,) = parts.values.look_up_project(ALICE.project).found
        assert parts.values.forget([left.id], parts.clock()).found == (b,)

        assert listed(parts) == [c]
        assert parts.values.citing(["2"]) == [c]
        assert ValueLog(parts.journal.values).look_up(["a", "b"]).before == ("a", "b")


def test_a_log_is_read_from_the_disk_oldest_first(journal: Journal) -> None:
    written = [value("b", size=1), value("a", size=2, minutes=1)]
    ValueLog(journal.values).add(*written)

    assert ValueLog(journal.values).all() == written
    assert [document.text for document in ValueLog(journal.values).documents()] == ["text b", "text a"]


@pytest.mark.slow
@pytest.mark.parametrize("silent", ["model", "engine"])
@fast_forward
async def test_a_silent_model_or_engine_keeps_no_tool_waiting(tmp_path: Path, silent: str) -> None:
    model = SilentModel()

    async with open_values(tmp_path, load=lambda: model) as (values, parts):
        assert (await values.validate(GOOD, FULL_0)).topic.valid
        stored = await values.store(ALICE, GOOD, FULL_0, Axis.FULL)
        parts.store.hangs = silent == "engine"
        if silent == "model":
            model.released.clear()
            with within(2.2), pytest.raises(EmbeddingUnavailableError, match="in time"):
                await values.validate(f"{GOOD} again", FULL_0)
        else:
            with within(2.2):
                assert (await values.validate(f"{GOOD} again", FULL_0)).similar == ()
        with within(2.2):
            found, _ = await values_over(parts).by_relevance(GOOD, values_over(parts).list_values())
        assert [each.value for each in found] == [stored.standing.value]
        parts.store.hangs = False
        model.released.set()


async def test_a_text_similar_to_a_value_is_shown_that_value(store: ValueStore) -> None:
    value = (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing.value
    trial = await store.validate(REWORDED, FULL_0)
    again = await store.store(ALICE, REWORDED, FULL_0, Axis.FULL)
    elsewhere = await store.validate("something that nobody ever spoke of", FULL_0)

    for similar in (trial.similar, again.similar):
        assert [each.value for each in similar] == [value]
        assert 0.8 <= similar[0].similarity <= 1
    assert elsewhere.similar == ()


@pytest.mark.slow
async def test_a_superseded_value_leaves_the_list_but_is_kept(tmp_path: Path) -> None:
    async with open_values(tmp_path) as (store, parts):
        old = (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing.value
        new = await store.store(ALICE, REWORDED, FULL_0, Axis.FULL, supersedes=old.id)
        assert new.similar == ()
        assert new.standing.value.supersedes == old.id
        assert [each.value.id for each in values_over(parts).list_values()] == [new.standing.value.id]
        assert [each.value.id for each in (await store.validate(GOOD, FULL_0)).similar] == [new.standing.value.id]
        values_over(parts).judge(ALICE, old.id, POOL[0].id, Stance.SUPPORTS)

    async with open_values(tmp_path, learn=False) as (_, parts):
        (standing,) = values_over(parts).list_values()
        assert standing.value.id == new.standing.value.id
        both = values_over(parts).list_values(order=ValueOrder.NEWEST, superseded=True)

    assert [(each.value.id, each.superseded_by) for each in both] == [
        (new.standing.value.id, None),
        (old.id, new.standing.value.id),
    ]
    assert [each.support for each in both] == [Support(), Support(1)]
    assert [each.is_in_force for each in both] == [True, False]


async def test_only_a_value_in_force_can_be_superseded(store: ValueStore, parts: Parts) -> None:
    old = (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing.value
    new = (await store.store(ALICE, REWORDED, FULL_0, Axis.FULL, supersedes=old.id)).standing.value
    with pytest.raises(InvalidInputError, match=f"{old.id} was superseded by {new.id}"):
        await store.store(ALICE, GOOD, FULL_0, Axis.FULL, supersedes=old.id)
    for text in (GOOD, REWORDED):
        with pytest.raises(NotFoundError, match="no value value_1"):
            await store.store(ALICE, text, FULL_0, Axis.FULL, supersedes="value_1")
    assert len(parts.values.all()) == 2

    parts.values.forget([new.id], NOON)
    assert [each.value.id for each in values_over(parts).list_values()] == [old.id]


async def test_a_repeated_call_supersedes_once(store: ValueStore, parts: Parts) -> None:
    old = (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing.value
    caller = replace(ALICE, request="front:7")
    first = await store.store(caller, REWORDED, FULL_0, Axis.FULL, supersedes=old.id)
    again = await values_over(parts).store(replace(caller, again=True), REWORDED, FULL_0, Axis.FULL, supersedes=old.id)

    assert again == first
    assert len(parts.values.all()) == 2


async def test_concurrent_calls_supersede_a_value_once(store: ValueStore, parts: Parts) -> None:
    old = (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing.value
    results = await asyncio.gather(
        *(store.store(ALICE, f"{REWORDED}{end}", FULL_0, Axis.FULL, supersedes=old.id) for end in ("", " of all")),
        return_exceptions=True,
    )

    assert sum(isinstance(result, InvalidInputError) for result in results) == 1
    assert len(parts.values.all()) == 2


async def test_the_same_text_supersedes_nothing_and_keeps_verdicts(store: ValueStore, parts: Parts) -> None:
    old = (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing.value
    values_over(parts).judge(ALICE, old.id, POOL[0].id, Stance.CONTRADICTS)
    (before,) = values_over(parts).list_values()
    same = await store.store(ALICE, GOOD, FULL_0, Axis.FULL, supersedes=old.id)
    assert (same.standing, same.is_new) == (before, False)

    new = (await store.store(ALICE, REWORDED, FULL_0, Axis.FULL, supersedes=old.id)).standing
    again = await store.store(ALICE, REWORDED, FULL_0, Axis.FULL, supersedes=old.id)
    assert (again.standing, again.is_new) == (new, False)
    assert parts.values.all() == [old, new.value]


async def test_superseding_with_the_text_of_an_existing_value_names_that_value(store: ValueStore, parts: Parts) -> None:
    one = (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing.value
    other = (await store.store(ALICE, REWORDED, FULL_0, Axis.FULL)).standing.value
    with pytest.raises(InvalidInputError, match=f"^supersedes: {one.id} already has this text") as refused:
        await store.store(ALICE, GOOD, FULL_0, Axis.FULL, supersedes=other.id)

    assert other.id in str(refused.value.hint)
    assert parts.values.all() == [one, other]
