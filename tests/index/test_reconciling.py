"""What is to be written and removed, and that every course of events ends with an index like the journal."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from learning_memory_server.errors import NoAnswerError, StorageUnavailableError
from learning_memory_server.index.document import Collection, Document, WholeDocument, digest_of
from learning_memory_server.index.engines.base import Record
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.index.rebuilding import OutdatedPoints
from learning_memory_server.index.reconciling import Reconciler
from learning_memory_server.index.writer import IndexWriter
from tests.fast_forward import fast_forward

FULL, VALUES, MEMORIES = Collection.EXPERIENCES_FULL, Collection.VALUES, Collection.MEMORIES


def document(name: str, text: str = "text", collection: Collection = VALUES) -> WholeDocument:
    return WholeDocument(collection, name, text, {"name": name})


class FakeJournal:
    """A source of documents."""

    def __init__(self, *documents: Document) -> None:
        self.kept = {(each.collection, each.point_id): each for each in documents}
        self.gone: set[str] = set()

    def documents(self) -> Iterable[Document]:
        return list(self.kept.values())

    def forgotten(self) -> Iterable[str]:
        return self.gone

    def knows(self, payload: Any) -> bool:
        return bool(payload)

    def forget(self, name: str) -> None:
        self.gone.add(name)
        self.kept = {key: each for key, each in self.kept.items() if key[1] != name}


class FakeIndex:
    """An index in memory. Each request asks `fault` what becomes of it."""

    def __init__(self) -> None:
        self.stored: dict[str, dict[str, Document]] = {each: {} for each in Collection}
        self.batches: list[list[str]] = []
        self.fault: Callable[[], str] = lambda: "none"
        self.delayed: list[Callable[[], None]] = []
        self.is_open = True

    async def _do(self, change: Callable[[], None]) -> None:
        fault = self.fault()
        await asyncio.sleep(0)
        if fault == "down":
            raise StorageUnavailableError("The engine is down.")
        if fault == "lost answer":
            change()
            raise NoAnswerError("No answer.")
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

    async def flush(self) -> None: ...

    async def write(self, documents: Sequence[Document]) -> None:
        self.batches.append([each.point_id for each in documents])

        def change() -> None:
            for each in documents:
                self.stored[each.collection][each.point_id] = each

        await self._do(change)

    async def remove(self, ids: Sequence[str]) -> None:
        def change() -> None:
            for points in self.stored.values():
                for point in ids:
                    points.pop(point, None)

        await self._do(change)

    async def digests(self) -> dict[str, dict[str, str | None]]:
        await self._do(lambda: None)
        return {
            collection: {name: digest_of(each) for name, each in points.items()}
            for collection, points in self.stored.items()
        }

    async def former_ids(self) -> dict[str, set[str]]:
        return {collection: set() for collection in Collection}

    async def retrieve(self, collection: str, ids: Sequence[str]) -> list[Record]:
        return [Record(each, self.stored[collection][each].payload) for each in ids]

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
    reconciler.remove({"late"})
    await reconciler.delete_pending()
    await reconciler.write([late, other])
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
    reconciler.is_known = False
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

    def __init__(self, path: Path) -> None:
        self.index, self.journal = FakeIndex(), FakeJournal()
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
            self.journal.kept |= {(each.collection, each.point_id): each for each in made}
            self.calls.append(asyncio.create_task(self.writer.write(made)))

    async def forget(self, name: str) -> None:
        self.journal.forget(name)
        self.calls.append(asyncio.create_task(self.writer.remove([name])))

    async def kill(self, _: str) -> None:
        await self.end()
        self.start()

    async def arrive(self, _: str) -> None:
        self.index.arrive()

    async def lose(self, _: str) -> None:
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


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "forget", "forget", "kill", "arrive", "lose", "restore", "wait"]),
        st.sampled_from("abcd"),
        st.sampled_from(["none", "none", "down", "lost answer", "late"]),
    ),
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, is_overlapping=st.booleans())
@fast_forward
async def test_any_course_of_writes_removals_faults_and_kills_ends_with_an_index_like_the_journal(
    tmp_path: Path, steps: list[tuple[str, str, str]], is_overlapping: bool
) -> None:
    course = Course(tmp_path)
    index, journal = course.index, course.journal
    for what, name, fault in steps:
        index.fault = partial(str, fault)
        await getattr(course, what)(name)
        await (asyncio.sleep(0) if is_overlapping else asyncio.gather(*course.calls))
    index.fault = lambda: "none"
    index.arrive()
    await asyncio.gather(*course.calls)
    course.writer.server_returned()
    # A late write counts for ten seconds after a removal, and is looked for once a minute.
    await asyncio.sleep(200)
    assert index.texts() == {key: each.text for key, each in journal.kept.items()}
    assert course.writer.missing == 0
    await course.end()
