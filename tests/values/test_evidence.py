"""Values over time: what later experience says of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
import pytest

from learning_memory_server.domain.cluster import ClusterId
from learning_memory_server.domain.support import Support
from learning_memory_server.domain.value import Evidence, Value, ValueOrder
from learning_memory_server.domain.vocabulary import Axis, OutcomeStatus
from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.indexing.document import Collection, point_id
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.record import JournalRecord
from learning_memory_server.values.circles import Circle
from learning_memory_server.values.log import ValueLog
from learning_memory_server.values.witness_log import WitnessLog
from tests.support import ALICE, NOON, about, open_memory
from tests.values.opposing import BUSY, CALM, only, opposite
from tests.values.parts import CACHE, FULL_0, GOOD, open_values, values_over

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support import Memory

TWELVE = [about("pool", number) for number in (*range(10), 50, 51)]


async def stored(memory: Memory) -> Value:
    """A value that twelve experiences support, as it is stored when they are a cluster."""
    await memory.learn(*TWELVE)
    records = await memory.store.scroll(Collection.EXPERIENCES_FULL, with_vectors=True)
    circle = Circle.around("", np.array([record.vector for record in records]))
    evidence = Evidence(
        member_ids=tuple(entry.id for entry in TWELVE),
        centroid=tuple(map(float, circle.centre)),
        similarity=0.9,
        centroid_distance=0.1,
        threshold=0.2,
        embedding=await memory.index.origin(),
        radius=circle.radius,
        outcome=OutcomeStatus.CONFIRMED,
    )
    value = Value("value_1", GOOD, FULL_0, ALICE.project, memory.clock(), evidence)
    memory.values.add(value)
    return value


async def test_a_value_becomes_contested_as_opposite_outcomes_arrive(tmp_path: Path) -> None:
    async with open_values(tmp_path, learn=False) as (store, memory):
        await memory.learn(*TWELVE, *CACHE)
        value = (await store.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing.value
        assert value.evidence.outcome is OutcomeStatus.CONFIRMED
        assert (await only(store)).support == Support(12, 0)
        assert (await only(store)).support.strength == pytest.approx(0.757, abs=1e-3)

        strengths = []
        for number in range(12):
            await memory.learn(opposite(BUSY + number))
            standing = await only(store)
            assert not standing.support.is_contested
            strengths.append(standing.support.strength)
        assert strengths == sorted(strengths, reverse=True)
        await memory.learn(opposite(BUSY + 12))
        standing = await only(store)

        assert standing.value == value
        assert standing.support == Support(12, 13)
        assert standing.support.is_contested
        assert standing.contested_since == NOON + timedelta(minutes=BUSY + 12, seconds=30)
        assert standing.contradicting == tuple(opposite(BUSY + number).id for number in range(13))


async def test_further_experiences_of_the_kind_support_it_and_others_are_nothing_to_it(
    tmp_path: Path,
) -> None:
    async with open_values(tmp_path, learn=False) as (store, memory):
        await stored(memory)
        again = [about("pool", CALM + number) for number in range(3)]
        await memory.learn(
            *again, *(about("types", BUSY + number) for number in range(3)), about("cache", 300)
        )
        standing = await only(store)

    assert standing.support == Support(15, 0)
    assert standing.supporting[-3:] == tuple(entry.id for entry in again)


async def test_what_was_there_before_the_value_and_not_among_its_members_does_not_count(
    tmp_path: Path,
) -> None:
    async with open_values(tmp_path, learn=False) as (store, memory):
        await stored(memory)
        await memory.learn(opposite(-5), opposite(-6))

        assert (await only(store)).support == Support(12, 0)


async def test_a_forgotten_experience_counts_no_more_on_either_side(tmp_path: Path) -> None:
    async with open_values(tmp_path, learn=False) as (store, memory):
        await stored(memory)
        against = [opposite(BUSY + number) for number in range(13)]
        await memory.learn(*against)
        assert (await only(store)).support.is_contested

        memory.collector.forget([against[0].id, TWELVE[0].id], memory.clock())
        standing = await only(store)
        assert standing.support == Support(11, 12)
        memory.collector.forget([entry.id for entry in against[1:]], memory.clock())
        standing = await only(store)
        assert standing.support == Support(11, 0)
        assert standing.contested_since is None
        memory.journal.purge()

    again = ValueLog(Journal(memory.journal.path).values).all()
    assert len(again) == 1


async def test_what_was_judged_outlives_the_process_and_is_not_written_twice(tmp_path: Path) -> None:
    async with open_values(tmp_path, learn=False) as (store, memory):
        await stored(memory)
        await memory.learn(*(opposite(BUSY + number) for number in range(3)))
        before = await only(store)
        written = (memory.journal.path / "evidence.jsonl").read_bytes()
        assert len(written.splitlines()) == 3

    async with open_values(tmp_path, learn=False) as (store, memory):
        assert await only(store) == replace(before, value=memory.values.all()[0])
        await memory.learn(opposite(BUSY + 9))
        assert (await only(store)).support == Support(12, 4)
        now = (memory.journal.path / "evidence.jsonl").read_bytes()

    assert now.startswith(written)
    assert len(now.splitlines()) == 4
    assert all(len(line) < 300 for line in now.splitlines())


async def test_what_a_line_was_lost_of_is_judged_again(tmp_path: Path) -> None:
    async with open_values(tmp_path, learn=False) as (store, memory):
        await stored(memory)
        await memory.learn(*(opposite(BUSY + number) for number in range(3)))
        before = (await only(store)).support
        (memory.journal.path / "evidence.jsonl").unlink()

    async with open_values(tmp_path, learn=False) as (store, _):
        assert (await only(store)).support == before


async def test_nothing_is_judged_while_an_experience_is_resolved(tmp_path: Path) -> None:
    async with open_values(tmp_path, learn=False) as (store, memory):
        await stored(memory)
        await memory.learn(opposite(BUSY))

        assert not (memory.journal.path / "evidence.jsonl").exists()
        assert (await only(store)).support == Support(12, 1)


async def test_an_experience_that_is_not_indexed_yet_is_judged_later(tmp_path: Path) -> None:
    async with open_values(tmp_path, learn=False) as (store, memory):
        await stored(memory)
        memory.collector.add_resolved([opposite(BUSY)])
        assert (await only(store)).support == Support(12, 0)

        await memory.writer.find_pending()
        await memory.writer.catch_up()
        assert (await only(store)).support == Support(12, 1)


async def test_an_engine_that_is_down_delays_the_judgement_and_no_list(tmp_path: Path) -> None:
    async with open_values(tmp_path, learn=False) as (store, memory):
        await stored(memory)
        await memory.learn(opposite(BUSY))
        memory.store.down = StorageUnavailableError("down")
        assert (await only(store)).support == Support(12, 0)
        memory.store.down = None
        assert (await only(store)).support == Support(12, 1)


async def test_evidence_that_cannot_be_written_down_fails_no_list_and_is_not_lost(tmp_path: Path) -> None:
    async with open_values(tmp_path, learn=False) as (store, memory):
        await stored(memory)
        await only(store)
        await memory.learn(opposite(BUSY))
        blocked = memory.journal.path / "evidence.jsonl"
        blocked.mkdir()
        await only(store)
        blocked.rmdir()

        assert (await only(store)).support == Support(12, 1)


async def test_a_value_of_another_model_or_an_earlier_version_is_judged_by_its_members_vectors(
    tmp_path: Path,
) -> None:
    async with open_values(tmp_path, learn=False) as (store, memory):
        kept = await stored(memory)
        memory.values.forget([kept.id], NOON)
        foreign = replace(kept.evidence, embedding="another", centroid=(1.0,), radius=0.1)
        early = replace(kept.evidence, radius=None, outcome=None)
        memory.values.add(replace(kept, id="foreign", evidence=foreign))
        memory.values.add(replace(kept, id="early", evidence=early))
        memory.values.add(replace(kept, id="odd", evidence=replace(kept.evidence, centroid=(1.0,))))
        await memory.learn(opposite(BUSY), about("types", BUSY + 1))
        standings = await store.list_values()

    assert [standing.support for standing in standings] == [Support(12, 1)] * 3


async def test_a_circle_waits_until_all_members_are_indexed(tmp_path: Path) -> None:
    async with open_values(tmp_path, learn=False) as (store, memory):
        kept = await stored(memory)
        memory.values.forget([kept.id], NOON)
        memory.values.add(replace(kept, id="early", evidence=replace(kept.evidence, radius=None)))
        await memory.index.remove([point_id("ghap", TWELVE[0].id)])
        await memory.learn(opposite(BUSY))
        assert (await only(store)).support == Support(12, 0)

        await memory.writer.find_pending()
        await memory.writer.catch_up()
        assert (await only(store)).support == Support(12, 1)


async def test_a_value_from_elsewhere_hears_the_experiences_that_were_judged_before_it_came(
    tmp_path: Path,
) -> None:
    async with open_values(tmp_path, learn=False) as (store, memory):
        value = await stored(memory)
        await memory.learn(opposite(BUSY))
        await only(store)
        store.add_new([replace(value, id="elsewhere", created_at=value.created_at - timedelta(seconds=1))])

        elsewhere = (await store.list_values(order=ValueOrder.NEWEST))[1]
        assert elsewhere.value.id == "elsewhere"
        assert elsewhere.support == Support(12, 1)


async def test_a_list_can_be_read_from_the_journal_alone(tmp_path: Path) -> None:
    async with open_values(tmp_path, learn=False) as (store, memory):
        value = await stored(memory)
        await memory.learn(opposite(BUSY), opposite(BUSY + 1))
        await only(store)

    journal = Journal(memory.journal.path)
    assert set(WitnessLog(journal.evidence).of_values()[value.id]) == {
        opposite(BUSY).id,
        opposite(BUSY + 1).id,
    }


async def test_what_is_not_judged_yet_is_counted_until_it_is(tmp_path: Path) -> None:
    async with open_values(tmp_path, learn=False) as (store, memory):
        await stored(memory)
        assert store.count_unjudged([await only(store)]) == 0
        memory.collector.add_resolved([opposite(BUSY), about("types", BUSY + 1), opposite(-5)])
        assert store.count_unjudged([await only(store)]) == 2
        assert store.count_unjudged([]) == 0

        await memory.ready()
        assert store.count_unjudged([await only(store)]) == 0
        memory.collector.add_resolved([opposite(BUSY + 2)])
        assert store.count_unjudged([await only(store)]) == 1
        memory.collector.forget([opposite(BUSY + 2).id], memory.clock())
        assert store.count_unjudged([await only(store)]) == 0


async def test_only_experiences_on_the_axes_of_the_values_are_counted(tmp_path: Path) -> None:
    async with open_values(tmp_path, learn=False) as (store, memory):
        kept = await stored(memory)
        memory.values.forget([kept.id], NOON)
        memory.values.add(replace(kept, id="warning", cluster_id=ClusterId(Axis.SURPRISE, 0)))
        memory.collector.add_resolved([opposite(BUSY), about("pool", BUSY + 1)])

        assert store.count_unjudged([await only(store)]) == 1


async def test_the_journal_alone_tells_what_is_judged_also_of_what_counts_for_nothing(tmp_path: Path) -> None:
    async with open_values(tmp_path, learn=False) as (store, memory):
        await stored(memory)
        await memory.learn(opposite(BUSY), about("types", BUSY + 1))
        assert unjudged_in(memory) == 2
        await only(store)
        assert unjudged_in(memory) == 0

    async with open_memory(tmp_path) as memory:
        # Neither the model nor the index is there yet.
        store = values_over(memory)
        assert store.count_unjudged([await only(store)]) == 0
        memory.collector.add_resolved([opposite(BUSY + 2)])
        assert store.count_unjudged([await only(store)]) == unjudged_in(memory) == 1
        await memory.ready()
        assert (await only(store)).support == Support(12, 2)
        assert unjudged_in(memory) == 0


async def test_what_was_judged_before_a_value_from_elsewhere_came_is_to_be_judged_again(
    tmp_path: Path,
) -> None:
    async with open_values(tmp_path, learn=False) as (store, memory):
        value = await stored(memory)
        await memory.learn(opposite(BUSY))
        await only(store)
        store.add_new([replace(value, id="elsewhere", created_at=value.created_at - timedelta(seconds=1))])
        assert unjudged_in(memory) == 1

        await store.list_values()
        assert unjudged_in(memory) == 0


async def test_a_line_of_an_earlier_version_keeps_what_it_says_and_is_judged_once_more(
    tmp_path: Path,
) -> None:
    async with open_values(tmp_path, learn=False) as (store, memory):
        value = await stored(memory)
        await memory.learn(opposite(BUSY))
        near = {value.id: 0.9}
        line = JournalRecord("evidence", opposite(BUSY).id, memory.clock(), {"near": near})
        memory.journal.evidence.append([line])
        assert unjudged_in(memory) == 1

        assert (await only(store)).support == Support(12, 1)
        assert unjudged_in(memory) == 0
        assert memory.journal.evidence.read().records[-1].data == {"near": near, "of": 1}


def unjudged_in(memory: Memory) -> int:
    """What somebody finds who reads the journal without the model."""
    journal = Journal(memory.journal.path)
    values = ValueLog(journal.values).all()
    return WitnessLog(journal.evidence).count_unjudged(values, values, memory.collector)
