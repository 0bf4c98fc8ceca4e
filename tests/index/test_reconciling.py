"""What is to be written and removed, and that every course of events ends with an index like the journal."""

import asyncio
import tempfile
from collections.abc import Callable, Container, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from learning_memory_server.errors import NoAnswerError, StorageUnavailableError
from learning_memory_server.index.document import DIGEST, Collection, Document, WholeDocument, digest_of
from learning_memory_server.index.engines.base import Record
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.index.rebuilding import OutdatedPoints
from learning_memory_server.index.reconciling import Reconciler
from learning_memory_server.index.writer import IndexWriter
from learning_memory_server.journal.line import JournalRecord
from learning_memory_server.journal.log import Log
from tests.fast_forward import fast_forward
from tests.support import NOON

FULL, VALUES, MEMORIES = Collection.EXPERIENCES_FULL, Collection.VALUES, Collection.MEMORIES


def document(name: str, text: str = "text", collection: Collection = VALUES) -> WholeDocument:
    return WholeDocument(collection, name, text, {"name": name})


class FakeJournal:
    """A source of documents. In a folder, it has a line for each that is kept or forgotten."""

    def __init__(self, *documents: Document, folder: Path | None = None) -> None:
        self.kept = {(each.collection, each.point_id): each for each in documents}
        self.gone: set[str] = set()
        self.log = Log((folder or Path("nowhere")) / "values")
        self._is_written = folder is not None

    def keep(self, documents: Sequence[Document]) -> None:
        if self._is_written:
            self.log.append([JournalRecord("value", documents[0].point_id, NOON, {})])
        self.kept |= {(each.collection, each.point_id): each for each in documents}

    def documents(self, only: Container[str] | None = None) -> Iterable[Document]:
        return [each for each in self.kept.values() if only is None or each.point_id in only]

    def forgotten(self, only: Container[str] | None = None) -> Iterable[str]:
        return [each for each in self.gone if only is None or each in only]

    def knows(self, payload: Any) -> bool:
        return "name" in payload

    def forget(self, name: str) -> None:
        if self._is_written:
            self.log.append([JournalRecord.tombstone("value", name, NOON)])
        self.gone.add(name)
        self.kept = {key: each for key, each in self.kept.items() if key[1] != name}


class FakeIndex:
    """An index in memory. Each request asks `fault` what becomes of it.

    With a `mark_file`, it is one in this process: nothing happens after a request.
    """

    def __init__(self, mark_file: Path | None = None) -> None:
        self.stored: dict[str, dict[str, Document]] = {each: {} for each in Collection}
        self.flushed: dict[str, dict[str, Document]] = {each: {} for each in Collection}
        self.mark_file = mark_file
        self.changes = 0
        self.compared = 0
        self.batches: list[list[str]] = []
        self.fault: Callable[[], str] = lambda: "none"
        self.delayed: list[Callable[[], None]] = []
        self.writing = asyncio.Event()
        self.writing.set()
        self.is_open = True

    async def _do(self, change: Callable[[], None]) -> None:
        fault = self.fault()
        await asyncio.sleep(0)
        if fault == "down" or (self.mark_file and fault == "late"):
            raise StorageUnavailableError("The engine is down.")
        if fault == "lost answer":
            change()
            raise StorageUnavailableError("It failed.") if self.mark_file else NoAnswerError("No answer.")
        if fault == "late":
            self.delayed.append(change)
            raise NoAnswerError("No answer.")
        change()

    def arrive(self) -> None:
        """Let the server do what it was asked earlier."""
        for change in self.delayed:
            change()
        self.delayed.clear()

    async def open(self) -> None: ...

    async def discard(self) -> None: ...

    async def flush(self) -> None:
        for collection, points in self.stored.items():
            self.flushed[collection] = dict(points)
            await asyncio.sleep(0)

    def cut_power(self) -> None:
        """Lose what was not flushed."""
        self.stored = {collection: dict(points) for collection, points in self.flushed.items()}

    async def counts(self) -> dict[str, int]:
        await self._do(lambda: None)
        return {collection: len(points) for collection, points in self.stored.items()}

    async def write(self, documents: Sequence[Document]) -> None:
        self.batches.append([each.point_id for each in documents])
        await self.writing.wait()

        def change() -> None:
            self.changes += 1
            for each in documents:
                self.stored[each.collection][each.point_id] = each

        await self._do(change)

    async def remove(self, ids: Sequence[str]) -> None:
        def change() -> None:
            self.changes += 1
            for points in self.stored.values():
                for point in ids:
                    points.pop(point, None)

        await self._do(change)

    async def digests(self) -> dict[str, dict[str, str | None]]:
        self.compared += 1
        await self._do(lambda: None)
        return {
            collection: {name: digest_of(each) for name, each in points.items()}
            for collection, points in self.stored.items()
        }

    async def former_ids(self) -> dict[str, set[str]]:
        return {collection: set() for collection in Collection}

    async def retrieve(self, collection: str, ids: Sequence[str]) -> list[Record]:
        await asyncio.sleep(0)
        found = {name: self.stored[collection][name] for name in ids if name in self.stored[collection]}
        return [Record(name, {**each.payload, DIGEST: digest_of(each)}) for name, each in found.items()]

    async def is_intact(self) -> bool:
        return True

    def texts(self) -> dict[tuple[str, str], str]:
        return {(c, p): each.text for c, points in self.stored.items() for p, each in points.items()}


def reconciler_of(*documents: Document, index: FakeIndex | None = None) -> Reconciler:
    made = Reconciler(cast("VectorIndex", index or FakeIndex()), [FakeJournal(*documents)], asyncio.Event())
    made.add(documents)
    return made


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


class Course:
    """A journal, an index, and one process after another that keeps them equal."""

    def __init__(self, path: Path, *, is_embedded: bool) -> None:
        self.index = FakeIndex(path / "mark.json" if is_embedded else None)
        self.journal = FakeJournal(folder=path)
        self.calls: list[asyncio.Task[bool]] = []
        self._outdated = OutdatedPoints(path / "outdated.json")
        self.start()

    def start(self) -> None:
        self.writer = IndexWriter(cast("VectorIndex", self.index), [self.journal], self._outdated)
        self._run = asyncio.create_task(self.writer.run())

    async def end(self) -> None:
        self._run.cancel()
        await asyncio.wait([self._run])
        await self.writer.stop()

    async def write(self, name: str) -> None:
        if name not in self.journal.gone:
            made = [document(name, collection=each) for each in (FULL, VALUES)]
            self.journal.keep(made)
            self.calls.append(asyncio.create_task(self.writer.write(made)))

    async def forget(self, name: str) -> None:
        self.journal.forget(name)
        self.calls.append(asyncio.create_task(self.writer.remove([name])))

    async def kill(self, _: str) -> None:
        await self.end()
        self.start()

    async def cut_power(self, _: str) -> None:
        await self.end()
        self.index.cut_power()
        self.start()

    async def arrive(self, _: str) -> None:
        self.index.arrive()

    async def lose(self, name: str) -> None:
        if self.index.mark_file:
            await self.end()
            self.index.stored[FULL].pop(name, None)
            self.start()
        else:
            self.index.stored[FULL].clear()
            self.writer.server_returned()

    async def restore(self, name: str) -> None:
        """Let the server come back from a snapshot with earlier texts."""
        for points in self.index.stored.values():
            if each := points.get(name):
                points[name] = document(name, "an earlier text", each.collection)
        self.writer.server_returned()

    async def wait(self, _: str) -> None:
        await asyncio.sleep(3)

    async def be_quiet(self, _: str) -> None:
        await asyncio.sleep(40)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "write",
                "write",
                "forget",
                "forget",
                "kill",
                "arrive",
                "lose",
                "restore",
                "wait",
                "be_quiet",
                "cut_power",
            ]
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
        changed = [
            whole.replace(b'"made_by":"', b'"made_by":"0'),
            whole.replace(b'"values":3', b'"values":2'),
        ]
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
        index.stored = {
            name: {k: v for k, v in points.items() if k == "a"} for name, points in index.stored.items()
        }
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
