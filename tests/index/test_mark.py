"""A start compares only what is new since the mark, and believes no mark that may be wrong."""

import asyncio
from pathlib import Path
from typing import cast

from learning_memory_server.index.document import Collection
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.index.reconciling import Reconciler
from tests.fast_forward import fast_forward
from tests.index.fake_index import VALUES, Course, FakeIndex, FakeJournal, document


def marked(tmp_path: Path) -> tuple[FakeIndex, FakeJournal, Path]:
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


def test_a_start_compares_only_what_is_new_since_the_mark(tmp_path: Path) -> None:
    index, journal, _ = marked(tmp_path)

    async def scenario() -> None:
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

    asyncio.run(scenario())


def test_a_mark_that_is_cut_anywhere_or_of_other_programs_is_not_believed(tmp_path: Path) -> None:
    index, journal, mark = marked(tmp_path)
    whole = mark.read_bytes()

    async def scenario() -> None:
        cuts = [whole[:size] for size in range(len(whole))]
        changed = [whole.replace(b'"made_by":"', b'"made_by":"0'), whole.replace(b'"values":3', b'"values":2')]
        for content in (*cuts, *changed, b"[]", b"{}", whole + b"x"):
            mark.write_bytes(content)
            assert await everything_is_compared(index, journal)
        mark.write_bytes(whole)
        assert not await everything_is_compared(index, journal)
        mark.unlink()
        assert await everything_is_compared(index, journal)

    asyncio.run(scenario())


def test_a_mark_of_an_earlier_time_is_believed_and_one_of_a_later_time_or_another_journal_is_not(
    tmp_path: Path,
) -> None:
    index, journal, mark = marked(tmp_path)
    whole, lines = mark.read_bytes(), (tmp_path / "values.jsonl").read_bytes()

    async def scenario() -> None:
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

    asyncio.run(scenario())


def test_an_index_that_has_lost_points_or_whose_journal_has_forgotten_some_is_compared_with_everything(
    tmp_path: Path,
) -> None:
    index, journal, mark = marked(tmp_path)
    whole = mark.read_bytes()

    async def scenario() -> None:
        del index.stored[VALUES]["b"]
        assert await everything_is_compared(index, journal)
        mark.write_bytes(whole)
        journal.forget("c")
        assert await everything_is_compared(index, journal)

    asyncio.run(scenario())
