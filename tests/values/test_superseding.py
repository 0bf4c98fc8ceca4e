"""Values that take the place of others, and those that say the same."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from learning_memory_server.domain.support import Support
from learning_memory_server.domain.value import ValueOrder
from learning_memory_server.domain.vocabulary import Axis
from learning_memory_server.errors import InvalidInputError, NotFoundError
from tests.support import ALICE, NOON
from tests.values.opposing import BUSY, REWORDED, only, opposite
from tests.values.parts import FULL_0, GOOD, open_values, values_over

if TYPE_CHECKING:
    from pathlib import Path


async def test_a_text_that_says_nearly_the_same_as_a_value_is_shown_that_value(tmp_path: Path) -> None:
    async with open_values(tmp_path) as (store, _):
        value = (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing.value
        trial = await store.validate(REWORDED, FULL_0)
        again = await store.store(ALICE, REWORDED, FULL_0, Axis.FULL)
        elsewhere = await store.validate("something that nobody ever spoke of", FULL_0)

    for similar in (trial.similar, again.similar):
        assert [each.value for each in similar] == [value]
        assert 0.8 <= similar[0].similarity <= 1
    assert elsewhere.similar == ()


async def test_a_superseded_value_leaves_the_list_and_is_kept(tmp_path: Path) -> None:
    async with open_values(tmp_path) as (store, memory):
        old = (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing.value
        new = await store.store(ALICE, REWORDED, FULL_0, Axis.FULL, supersedes=old.id)
        assert new.similar == ()
        assert new.standing.value.supersedes == old.id
        assert [each.value.id for each in await store.list_values()] == [new.standing.value.id]
        assert [each.value.id for each in (await store.validate(GOOD, FULL_0)).similar] == [
            new.standing.value.id
        ]
        await memory.learn(opposite(BUSY))

    async with open_values(tmp_path, learn=False) as (store, _):
        (standing,) = await store.list_values()
        assert standing.value.id == new.standing.value.id
        both = await store.list_values(order=ValueOrder.NEWEST, superseded=True)

    assert [(each.value.id, each.superseded_by) for each in both] == [
        (new.standing.value.id, None),
        (old.id, new.standing.value.id),
    ]
    assert both[0].support == both[1].support == Support(10, 1)


async def test_only_a_value_in_force_can_be_superseded(tmp_path: Path) -> None:
    async with open_values(tmp_path) as (store, memory):
        old = (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing.value
        new = (await store.store(ALICE, REWORDED, FULL_0, Axis.FULL, supersedes=old.id)).standing.value
        with pytest.raises(InvalidInputError, match=f"{old.id} was superseded by {new.id}"):
            await store.store(ALICE, GOOD, FULL_0, Axis.FULL, supersedes=old.id)
        for text in (GOOD, REWORDED):
            with pytest.raises(NotFoundError, match="no value value_1"):
                await store.store(ALICE, text, FULL_0, Axis.FULL, supersedes="value_1")
        assert len(memory.values.all()) == 2

        memory.values.forget([new.id], NOON)
        assert [each.value.id for each in await store.list_values()] == [old.id]


async def test_a_call_that_is_sent_again_supersedes_once(tmp_path: Path) -> None:
    async with open_values(tmp_path) as (store, memory):
        old = (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing.value
        caller = replace(ALICE, request="front:7")
        first = await store.store(caller, REWORDED, FULL_0, Axis.FULL, supersedes=old.id)
        again = await values_over(memory).store(
            replace(caller, again=True), REWORDED, FULL_0, Axis.FULL, supersedes=old.id
        )

        assert again == first
        assert len(memory.values.all()) == 2


async def test_two_calls_at_once_supersede_a_value_once(tmp_path: Path) -> None:
    async with open_values(tmp_path) as (store, memory):
        old = (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing.value
        results = await asyncio.gather(
            *(
                store.store(ALICE, f"{REWORDED}{end}", FULL_0, Axis.FULL, supersedes=old.id)
                for end in ("", " of all")
            ),
            return_exceptions=True,
        )

        assert sum(isinstance(result, InvalidInputError) for result in results) == 1
        assert len(memory.values.all()) == 2


async def test_the_same_words_supersede_nothing_and_keep_their_record(tmp_path: Path) -> None:
    async with open_values(tmp_path) as (store, memory):
        old = (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing.value
        await memory.learn(opposite(BUSY))
        before = await only(store)
        same = await store.store(ALICE, GOOD, FULL_0, Axis.FULL, supersedes=old.id)
        assert (same.standing, same.is_new) == (before, False)

        new = (await store.store(ALICE, REWORDED, FULL_0, Axis.FULL, supersedes=old.id)).standing
        again = await store.store(ALICE, REWORDED, FULL_0, Axis.FULL, supersedes=old.id)
        assert (again.standing, again.is_new) == (new, False)
        assert memory.values.all() == [old, new.value]


async def test_a_value_whose_text_is_wanted_for_another_ones_place_is_named(tmp_path: Path) -> None:
    async with open_values(tmp_path) as (store, memory):
        one = (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing.value
        other = (await store.store(ALICE, REWORDED, FULL_0, Axis.FULL)).standing.value
        with pytest.raises(InvalidInputError, match=f"^supersedes: {one.id} has this text") as refused:
            await store.store(ALICE, GOOD, FULL_0, Axis.FULL, supersedes=other.id)

        assert other.id in str(refused.value.hint)
        assert memory.values.all() == [one, other]
