"""Values that supersede others, and values that say nearly the same."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from learning_memory_server.errors import InvalidInputError, NotFoundError
from learning_memory_server.learning.values.store import ValueStore
from learning_memory_server.model.support import Support
from learning_memory_server.model.value import ValueOrder
from learning_memory_server.model.vocabulary import Axis, Stance
from tests.learning.values.parts import FULL_0, GOOD, POOL, REWORDED, open_values, values_over
from tests.support import ALICE, NOON, Parts


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
