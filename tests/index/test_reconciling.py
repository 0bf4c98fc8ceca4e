"""What is to be written and removed, and that every course of events ends with an index like the journal.

A start compares only what is new since the mark, and believes no mark that may be wrong.
"""

import asyncio
import tempfile
from functools import partial
from pathlib import Path
from typing import TypeAlias, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from learning_memory_server.errors import NoAnswerError
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


@fast_forward
async def test_what_may_have_been_written_after_its_removal_is_removed_again() -> None:
    index = FakeIndex()
    reconciler = reconciler_of(document("late"), index=index)
    index.fault = lambda: "late"
    with pytest.raises(NoAnswerError):
        await reconciler.write([document("late")])
    index.fault = lambda: "none"
    reconciler.remove({"late"})
    await reconciler.delete_pending()
    index.arrive()

    reconciler.look_again()
    assert not reconciler.pending_deletes
    await asyncio.sleep(11)
    reconciler.look_again()
    assert reconciler.pending_deletes == {"late"}
    await reconciler.delete_pending()
    assert not index.stored[VALUES]
    await asyncio.sleep(11)
    reconciler.look_again()
    assert not reconciler.pending_deletes


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
    reconciler.lose()
    assert not reconciler.searchable


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
        if is_embedded:
            # Here only a mark that says too much could leave the two different.
            await course.kill("")
        else:
            course.writer.server_returned()
        # A late write counts for ten seconds after a removal, and is looked for once a minute.
        await asyncio.sleep(40 if is_embedded else 200)
        assert index.texts() == {key: each.text for key, each in journal.kept.items()}
        assert course.writer.missing == 0
        await course.end()


Marked: TypeAlias = tuple[FakeIndex, FakeJournal, Path]


@pytest.fixture
def marked(tmp_path: Path) -> Marked:
    """An index and a journal with three documents, and the mark that says so."""

    courses: list[Course] = []

    @fast_forward
    async def be_quiet() -> None:
        course = Course(tmp_path, is_embedded=True)
        for name in "abc":
            await course.write(name)
        await asyncio.sleep(60)
        await course.end()
        courses.append(course)

    be_quiet()
    index, journal = courses[0].index, courses[0].journal
    assert index.mark_file
    index.compared = 0
    return index, journal, index.mark_file


async def compared(index: FakeIndex, journal: FakeJournal) -> Reconciler:
    """Compare as the next process does."""
    reconciler = Reconciler(cast("VectorIndex", index), [journal], asyncio.Event())
    await reconciler.compare()
    return reconciler


async def everything_is_compared(index: FakeIndex, journal: FakeJournal) -> bool:
    before = index.compared
    await (await compared(index, journal)).catch_up()
    assert index.texts() == {key: each.text for key, each in journal.kept.items()}
    return index.compared > before


async def test_a_start_compares_only_what_is_new_since_the_mark(marked: Marked) -> None:
    index, journal, _ = marked
    journal.keep([document("d")])
    await index.write([document("d")])
    journal.keep([document("e")])
    reconciler = await compared(index, journal)
    assert (index.compared, reconciler.pending) == (0, 1)
    assert reconciler.searchable == set(Collection)
    assert not await everything_is_compared(index, journal)
    index.batches.clear()
    # The mark is the same still: all that is new since then is looked up, and nothing is written again.
    assert not await everything_is_compared(index, journal)
    assert index.batches == []


async def test_no_mark_is_kept_while_something_is_pending(marked: Marked) -> None:
    index, journal, mark = marked
    journal.keep([document("d")])
    reconciler = await compared(index, journal)
    mark.unlink()
    await reconciler.flush()
    assert (reconciler.pending, mark.exists()) == (1, False)
    await reconciler.catch_up()
    await reconciler.flush()
    assert (reconciler.pending, mark.exists()) == (0, True)


@pytest.mark.slow
async def test_a_mark_that_is_cut_anywhere_or_of_other_programs_is_not_believed(marked: Marked) -> None:
    index, journal, mark = marked
    whole = mark.read_bytes()
    cuts = [whole[:size] for size in range(len(whole))]
    changed = [whole.replace(b'"made_by":"', b'"made_by":"0'), whole.replace(b'"values":3', b'"values":2')]
    for content in (*cuts, *changed, b"[]", b"{}", whole + b"x"):
        mark.write_bytes(content)
        assert await everything_is_compared(index, journal)
    mark.write_bytes(whole)
    assert not await everything_is_compared(index, journal)
    mark.unlink()
    assert await everything_is_compared(index, journal)


async def test_a_mark_of_an_earlier_time_is_believed_and_one_of_a_later_time_or_another_journal_is_not(
    marked: Marked, tmp_path: Path
) -> None:
    index, journal, mark = marked
    whole, lines = mark.read_bytes(), (tmp_path / "values.jsonl").read_bytes()

    journal.keep([document("d")])
    await index.write([document("d")])
    assert not await everything_is_compared(index, journal)
    # The journal is restored from a backup: the mark is now of a later time.
    journal.kept = {key: each for key, each in journal.kept.items() if key[1] == "a"}
    index.stored = {name: {k: v for k, v in points.items() if k == "a"} for name, points in index.stored.items()}
    (tmp_path / "values.jsonl").write_bytes(lines.splitlines(keepends=True)[0])
    assert await everything_is_compared(index, journal)
    # A line was rewritten, such as by a redaction.
    (tmp_path / "values.jsonl").write_bytes(lines.replace(b'"id":"a"', b'"id":"x"'))
    mark.write_bytes(whole)
    assert await everything_is_compared(index, journal)
    (tmp_path / "values.jsonl").unlink()
    mark.write_bytes(whole)
    assert await everything_is_compared(index, journal)


async def test_an_index_that_has_lost_points_or_whose_journal_has_forgotten_some_is_compared_with_everything(
    marked: Marked,
) -> None:
    index, journal, mark = marked
    whole = mark.read_bytes()
    del index.stored[VALUES]["b"]
    assert await everything_is_compared(index, journal)
    mark.write_bytes(whole)
    journal.forget("c")
    assert await everything_is_compared(index, journal)
