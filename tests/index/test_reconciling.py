"""What is to be written and removed, and that every course of events ends with an index like the journal."""

import asyncio
import tempfile
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from learning_memory_server.index.document import Collection, WholeDocument
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.index.reconciling import Reconciler
from tests.fast_forward import fast_forward
from tests.index.fake_index import FULL, MEMORIES, VALUES, Course, FakeIndex, FakeJournal, document, reconciler_of


async def test_a_later_version_replaces_an_earlier_one() -> None:
    index = FakeIndex()
    await reconciler_of(document("a", "old"), document("a", "new"), index=index).catch_up()
    assert index.texts() == {(VALUES, "a"): "new"}


async def test_a_point_is_pending_in_each_of_its_collections() -> None:
    full, value = document("a", collection=FULL), document("a")
    reconciler = reconciler_of(full, value)
    assert reconciler.pending == 2
    await reconciler.write([full])
    assert reconciler.pending == 1


async def test_batches_are_small_and_of_similar_length() -> None:
    index = FakeIndex()
    await reconciler_of(*(document(str(n), "x" * (n * 7 % 20)) for n in range(20)), index=index).catch_up()
    lengths = [[int(name) * 7 % 20 for name in batch] for batch in index.batches]
    assert lengths == [list(range(8)), list(range(8, 16)), list(range(16, 20))]


async def test_what_has_been_pending_longest_comes_first_even_if_it_is_long() -> None:
    index = FakeIndex()
    long = [document(str(n), "long text") for n in range(64)]
    await reconciler_of(*long, document("later", "x"), index=index).catch_up()
    assert {name for batch in index.batches[:-1] for name in batch} == {str(n) for n in range(64)}


async def test_what_is_no_longer_pending_when_its_turn_comes_is_left_out() -> None:
    index = FakeIndex()
    reconciler = reconciler_of(*(document(str(n)) for n in range(16)), index=index)

    def forget() -> str:
        if len(index.batches) == 1:
            reconciler.remove({"8", "9"})
        return "none"

    index.fault = forget
    assert await reconciler.catch_up() == 14
    assert index.batches[1] == ["10", "11", "12", "13", "14", "15"]
    assert not {"8", "9"}.intersection(index.stored[VALUES])


async def test_a_version_that_came_while_another_was_written_stays_pending() -> None:
    old = document("a", "old")
    reconciler = reconciler_of(old)
    reconciler.add([document("a", "new")])
    await reconciler.write([old])
    assert reconciler.pending == 1


async def test_what_is_removed_while_it_is_being_written_is_removed_once_it_is_written() -> None:
    late, other = document("late"), document("other")
    index = FakeIndex()
    reconciler = reconciler_of(late, other, index=index)
    index.writing.clear()
    writing = asyncio.create_task(reconciler.write([late, other]))
    await asyncio.sleep(0)
    reconciler.remove({"late"})
    await reconciler.delete_pending()
    index.writing.set()
    await writing
    assert reconciler.pending_deletes == {"late"}
    assert reconciler.pending == 0
    await reconciler.catch_up()
    assert set(index.stored[VALUES]) == {"other"}


async def test_a_collection_that_has_half_of_its_documents_is_searched_and_one_that_has_less_is_not() -> None:
    index = FakeIndex()
    wanted = [document(str(n), collection=each) for each in (FULL, MEMORIES) for n in range(10)]
    await index.write([each for each in wanted if int(each.point_id) < (5 if each.collection == FULL else 4)])
    reconciler = Reconciler(cast("VectorIndex", index), [FakeJournal(*wanted)], asyncio.Event())
    assert not reconciler.searchable

    await reconciler.compare()
    assert reconciler.searchable == set(Collection) - {MEMORIES}
    assert reconciler.pending == 5 + 6
    await reconciler.catch_up()
    assert reconciler.searchable == set(Collection)

    # What becomes pending later does not stop searches; a loss does.
    reconciler.add([document("new", collection=MEMORIES)])
    reconciler.invalidate()
    assert MEMORIES in reconciler.searchable
    reconciler.mark_lost()
    assert not reconciler.searchable


async def test_searches_use_the_index_while_it_is_compared() -> None:
    index = FakeIndex()
    await index.write([document("kept")])
    reconciler = Reconciler(cast("VectorIndex", index), [FakeJournal(document("kept"))], asyncio.Event())
    seen: list[int] = []
    read_digests = index.digests

    async def digests() -> dict[str, dict[str, str | None]]:
        seen.append(len(reconciler.searchable))
        return await read_digests()

    index.digests = digests  # type: ignore[method-assign]
    await reconciler.compare()
    assert seen == [len(Collection)]


async def test_points_without_a_record_stay_and_those_of_forgotten_or_changed_records_go() -> None:
    index = FakeIndex()
    await index.write([document("kept"), document("stale"), WholeDocument(VALUES, "foreign", "text", {})])
    reconciler = Reconciler(cast("VectorIndex", index), [FakeJournal(document("kept"))], asyncio.Event())
    await reconciler.reconcile()
    assert set(index.stored[VALUES]) == {"kept", "foreign"}
    assert reconciler.superfluous == 1


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["write", "write", "forget", "forget", "kill", "arrive", "lose", "restore", "wait", "be_quiet", "cut_power"]
        ),
        st.sampled_from("abcd"),
        st.sampled_from(["none", "none", "down", "lost answer", "late"]),
    ),
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, is_overlapping=st.booleans(), is_embedded=st.booleans())
@fast_forward
async def test_any_course_of_writes_removals_faults_and_kills_ends_with_an_index_like_the_journal(
    tmp_path: Path, steps: list[tuple[str, str, str]], is_overlapping: bool, is_embedded: bool
) -> None:
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        course = Course(Path(folder), is_embedded=is_embedded)
        index, journal = course.index, course.journal
        for what, name, fault in steps:
            index.fault = partial(str, fault)
            await getattr(course, what)(name)
            await (asyncio.sleep(0) if is_overlapping else asyncio.gather(*course.calls))
        index.fault = lambda: "none"
        index.arrive()
        await asyncio.gather(*course.calls)
        if not is_embedded:
            course.writer.server_returned()
        # A late write counts for ten seconds after a removal, and is looked for once a minute.
        await asyncio.sleep(200)
        assert index.texts() == {key: each.text for key, each in journal.kept.items()}
        assert course.writer.missing == 0
        await course.end()
