"""What the embedded engine must survive: restarts, killed processes, damage, a full disk."""

import asyncio
import math
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from learning_memory_server.errors import DiskFullError, MissingCollectionError, StorageUnavailableError
from learning_memory_server.index.engines.base import CollectionSpec, Filter, Point, SparseVector
from learning_memory_server.index.engines.edge import EdgeStore
from learning_memory_server.system.files import disk_use
from tests.index.engines.double import opened
from tests.index.engines.points import EAST, WORD, numbers, point, uid
from tests.sparing_store import SparingStore
from tests.system.test_ram import resident

MORE_THAN_ANY_DISK = 2**62

WRITE_AND_DIE = """
import asyncio, os, signal, sys
from pathlib import Path
from uuid import UUID
from learning_memory_server.index.engines.base import CollectionSpec, Point
from learning_memory_server.index.engines.edge import EdgeStore

async def main():
    store = EdgeStore(Path(sys.argv[1]))
    await store.ensure(CollectionSpec("notes", 4, keyword_fields=("project",)))
    points = [Point(str(UUID(int=n)), [1.0, n, 0.0, 0.0], {"project": f"p{n % 2}"}) for n in range(250)]
    await store.upsert("notes", points)
    await store.delete("notes", [str(UUID(int=0))])
    if sys.argv[2] == "SIGKILL":
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(0)

asyncio.run(main())
"""


def points(count: int) -> list[Point]:
    return [point(n, [1.0, float(n), 0.0, 0.0], project="a") for n in range(count)]


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "data" / "index"


@pytest.fixture
async def store(index: Path) -> AsyncIterator[EdgeStore]:
    async with opened(EdgeStore(index)) as store:
        yield store


@pytest.fixture
async def used(index: Path, spec: CollectionSpec) -> Path:
    """The directory of a closed store with three points."""
    async with opened(EdgeStore(index), spec) as store:
        await store.upsert("notes", points(3))
    return index


async def test_reopening_finds_everything_without_ensuring(used: Path, store: EdgeStore) -> None:
    records = await store.scroll("notes", with_vectors=True)
    assert numbers(records) == [0, 1, 2]
    assert records[0].vector is not None
    assert records[0].vector.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert names(used) == ["notes"]


@pytest.mark.usefixtures("used")
async def test_reopening_with_another_dimension_replaces_the_collection(store: EdgeStore, spec: CollectionSpec) -> None:
    assert await store.ensure(replace(spec, dimension=5)) == ("Collection `notes` holds vectors of 4 numbers, not 5.")
    assert await store.count("notes") == 0


@asynccontextmanager
async def others_run(turns: int) -> AsyncIterator[None]:
    """Require that another task has at least so many turns meanwhile."""
    had = 0

    async def count_turns() -> None:
        nonlocal had
        while True:
            had += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(count_turns())
    yield
    task.cancel()
    assert had >= turns


async def test_calls_can_run_between_two_batches_of_a_read_and_during_a_long_write(
    store: EdgeStore, spec: CollectionSpec
) -> None:
    await store.ensure(spec)
    await store.upsert("notes", points(250))
    # Twice, and for as many turns as it takes to read, handle and answer a request.
    async with others_run(40):
        assert len(await store.scroll("notes", with_vectors=True)) == 250
    async with others_run(40):
        assert len(await store.retrieve("notes", [uid(n) for n in range(250)], with_vectors=True)) == 250
    async with others_run(10):
        await store.upsert("notes", points(1_000))


def test_the_directory_is_for_its_owner_only(used: Path) -> None:
    assert used.stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
@pytest.mark.parametrize(("death", "code"), [("exit", 0), ("SIGKILL", -signal.SIGKILL)])
async def test_a_killed_process_loses_no_acknowledged_write(
    index: Path, store: EdgeStore, death: str, code: int
) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", WRITE_AND_DIE, str(index), death)
    assert await process.wait() == code
    assert numbers(await store.scroll("notes")) == list(range(1, 250))
    even = Filter(matches=(("project", "p0"),))
    assert len(await store.search("notes", [1.0, 1.0, 0.0, 0.0], limit=250, where=even)) == 124
    assert numbers(await store.search("notes", [1.0, 1.0, 0.0, 0.0], limit=1)) == [1]


async def test_a_second_store_on_the_same_directory_is_refused(used: Path, store: EdgeStore) -> None:
    await store.count("notes")
    async with opened(EdgeStore(used)) as second:
        with pytest.raises(StorageUnavailableError, match="in use by another process"):
            await second.count("notes")


async def test_an_empty_directory_is_treated_as_missing(index: Path, store: EdgeStore, spec: CollectionSpec) -> None:
    (index / "notes").mkdir(parents=True)
    with pytest.raises(MissingCollectionError):
        await store.count("notes")
    await store.ensure(spec)
    await store.upsert("notes", points(1))


async def test_an_interrupted_creation_restarts(used: Path, store: EdgeStore, spec: CollectionSpec) -> None:
    half = used / ".others.new"
    (used / "notes").rename(half)
    next(half.glob("segments/*/segment.json")).unlink()
    await store.ensure(replace(spec, name="others"))
    assert await store.count("others") == 0
    assert names(used) == ["others"]


@pytest.mark.slow
async def test_a_file_in_place_of_the_directory_is_a_clear_error(
    tmp_path: Path, store: EdgeStore, spec: CollectionSpec
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "index").write_text("not a directory")
    with pytest.raises(StorageUnavailableError, match="File exists") as caught:
        await store.ensure(spec)
    assert "rebuilt from the journal" in str(caught.value.hint)


async def test_a_full_disk_is_an_error_before_anything_is_written(used: Path, spec: CollectionSpec) -> None:
    async with opened(EdgeStore(used, min_free_bytes=MORE_THAN_ANY_DISK)) as store:
        for operation in (
            store.ensure(spec),
            store.ensure(replace(spec, name="others")),
            store.upsert("notes", points(1)),
            store.delete("notes", [uid(0)]),
        ):
            with pytest.raises(DiskFullError, match="needed to write safely"):
                await operation
    assert names(used) == ["notes"]


async def test_a_payload_that_is_not_json_is_refused(store: EdgeStore, spec: CollectionSpec) -> None:
    await store.ensure(spec)
    with pytest.raises(StorageUnavailableError):
        await store.upsert("notes", [Point(uid(0), EAST, {"x": object()})])
    assert await store.count("notes") == 0


async def test_a_crash_in_the_middle_of_a_promotion_loses_neither_collection(
    used: Path, store: EdgeStore, spec: CollectionSpec
) -> None:
    (used / "notes").rename(used / ".notes.old")

    await store.ensure(spec)
    assert await store.count("notes") == 3
    await (await store.rebuild(spec, resume=True)).finish([])
    assert await store.count("notes") == 0
    await store.close()
    assert names(used) == ["notes"]


async def test_keyword_fields_share_an_index(store: EdgeStore, spec: CollectionSpec) -> None:
    await store.ensure(spec)
    await store.ensure(replace(spec, keyword_fields=(*spec.keyword_fields, "later")))
    schema = store._shards.get("notes").engine.info().payload_schema
    assert sorted(schema) == ["created_at", "keys__project__tags", "later", "seen_at"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is released")
async def test_what_is_read_when_a_collection_is_opened_leaves_ram(used: Path, store: EdgeStore) -> None:
    large = [replace(point, payload={"text": "x" * 100_000}) for point in points(30)]
    async with opened(EdgeStore(used)) as writing:
        await writing.upsert("notes", large)

    assert await store.count("notes") == len(large)
    logs = list((used / "notes" / "wal").glob("open-*"))
    assert disk_use(used / "notes" / "wal") > sum(len(point.payload["text"]) for point in large)
    assert [resident(path) for path in logs] == [0] * len(logs)
    indexes = list((used / "notes").rglob("payload_index/**/*.dat"))
    assert sum(path.stat().st_size for path in indexes) > 10 << 20
    assert sum(map(resident, indexes)) < 1 << 20


async def test_terms_are_found_after_a_restart_and_deleted_points_no_longer_count(
    index: Path, store: EdgeStore, spec: CollectionSpec
) -> None:
    stored = [replace(point, terms=SparseVector([7, 100 + n], [2.0, 1.0])) for n, point in enumerate(points(9))]
    async with opened(EdgeStore(index), spec) as before:
        await before.upsert("notes", stored)
        await before.delete("notes", [point.id for point in stored[3:]])
        assert len(await before.search("notes", WORD, limit=9)) == 3

    hits = await store.search("notes", WORD, limit=9)

    assert numbers(hits) == [0, 1, 2]
    assert hits[0].score == pytest.approx(2 * math.log(1 + 0.5 / 3.5), rel=1e-4)


@pytest.mark.parametrize("made_by", [EdgeStore, SparingStore])
async def test_an_empty_collection_answers_the_same_whether_it_was_made_or_will_be(
    made_by: type[EdgeStore], index: Path
) -> None:
    spec = CollectionSpec("notes", 4, keyword_fields=("project",))
    async with opened(made_by(index), spec) as store:
        await store.delete("notes", [uid(1)])
        await store.flush()
        assert await store.retrieve("notes", [uid(1)], with_vectors=True) == await store.scroll("notes") == []
        assert await store.count("notes", Filter((("project", "a"),))) == await store.count("notes") == 0
        assert await store.is_intact("notes")
        for query in (EAST, WORD):
            assert await store.search("notes", query, limit=3, where=Filter((("project", "a"),))) == []

        await store.upsert("notes", points(3))
        assert await store.count("notes") == 3
        assert await store.ensure(spec) is None
        for kept in ([], [0, 1]):
            rebuild = await store.rebuild(spec, resume=False)
            await rebuild.upsert(points(len(kept)))
            await rebuild.finish(list(map(uid, kept)))
            assert numbers(await store.scroll("notes")) == kept
    async with opened(made_by(index), spec) as store:
        assert await store.count("notes") == 2
