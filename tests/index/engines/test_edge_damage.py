"""What is damage to the embedded engine, and what becomes of a collection that is given up for it."""

import errno
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.errors import DamagedCollectionError, StorageUnavailableError
from learning_memory_server.index.engines.base import CollectionSpec, Point
from learning_memory_server.index.engines.edge import EdgeStore
from learning_memory_server.index.engines.edge_shards import engine_errors
from tests.index.engines.double import opened
from tests.index.engines.points import uid
from tests.index.engines.test_edge import index, names, points, store, used
from tests.journal.mortal import PowerLossError

__all__ = ["index", "store", "used"]


@pytest.mark.parametrize(
    "victim",
    [
        "edge_config.json",
        "segments/*/segment.json",
        "segments/*/vector_storage-dense/vectors/chunk_0.mmap",  # the engine opens it anyway
        "segments/*/payload_storage/page_0.dat",  # the same
        "segments/*/vector_storage-dense/vectors/status.dat",  # the engine panics
        "wal/open-*",
    ],
)
async def test_a_damaged_collection_says_so_without_its_path(
    used: Path, store: EdgeStore, spec: CollectionSpec, victim: str
) -> None:
    for file in (used / "notes").glob(victim):
        file.write_bytes(b"garbage")
    with pytest.raises(StorageUnavailableError, match="`notes` is damaged") as caught:
        await store.count("notes")
    assert caught.value.hint is not None
    assert "reindex" in caught.value.hint
    assert str(used) not in caught.value.message
    assert await store.ensure(spec) == caught.value.message
    assert await store.count("notes") == 0


async def test_a_damaged_collection_leaves_the_others_usable(
    used: Path, store: EdgeStore, spec: CollectionSpec
) -> None:
    await store.ensure(replace(spec, name="others"))
    (used / "notes" / "edge_config.json").unlink()
    with pytest.raises(StorageUnavailableError, match="`notes` is damaged"):
        await store.count("notes")
    await store.upsert("others", points(2))
    assert await store.count("others") == 2


DAMAGE = (
    "IO Error: Failed to deserialize /x/edge_config.json: EOF while parsing a value at line 1 column 0",
    'failed to open WAL /x: Can\'t init WAL: Custom { kind: InvalidData, error: "Illegal segment header" }',
    'failed to open WAL /x: Can\'t init WAL: Custom { kind: InvalidInput, error: "invalid segment capacity: 0" }',
    "index out of bounds: the len is 0 but the index is 0",
    "elements range 3104..3136 is out of bounds, file contains 0 elements",
    "Failed to read segment state /x/segment.json",
    "Service error: Bitmask file does not exist: /x/bitmask.dat",
    "path /x/config.json doesn't exist",
    "IO Error: invalid utf-8 sequence of 1 bytes from index 0",
    "IO Error: Can't parse version from /x: empty string, expected a semver version",
    "Failed to decode value: Failed to decompress LZ4 value: the offset to copy is not contained",
    "IO Error: No such file or directory (os error 2)",
)
PASSING = (
    "Failed to open mmap payload storage: Cannot allocate memory (os error 12)",
    "Out of memory, free: 23527350272, IO Error: Cannot allocate memory (os error 12)",
    "IO Error: failed to open file `/x/edge_config.json`: Permission denied (os error 13)",
    "Failed to read segment state /x/segment.json: Too many open files (os error 24)",
    "failed to load segment /x: IO Error: No space left on device (os error 28)",
    "Something that nobody has seen before",
)


@pytest.mark.parametrize(
    ("error", "is_damage"),
    [
        *((Exception(text), True) for text in DAMAGE),
        *((Exception(text), False) for text in PASSING),
        *((error, True) for error in (ValueError("not JSON"), KeyError("vectors"), FileNotFoundError())),
        *((error, False) for error in (PermissionError(), MemoryError(), OSError(errno.EMFILE, "Too many open files"))),
    ],
)
def test_only_what_says_so_is_damage(error: Exception, *, is_damage: bool) -> None:
    with pytest.raises(StorageUnavailableError) as raised, engine_errors("notes", opening=True):
        raise error
    assert isinstance(raised.value, DamagedCollectionError) == is_damage


async def test_an_empty_collection_replaces_a_damaged_one(used: Path, store: EdgeStore, spec: CollectionSpec) -> None:
    (used / "notes" / "edge_config.json").write_text("{}")

    assert await store.ensure(spec) == "Collection `notes` is damaged and cannot be opened."
    assert await store.count("notes") == 0
    assert await store.ensure(spec) is None


def spoiled(used: Path, spec: CollectionSpec, kind: str) -> CollectionSpec:
    """Spoil the collection that is there, or return a specification that it does not fit."""
    if kind == "damaged":
        (used / "notes" / "edge_config.json").write_text("{}")
    return {"dimension": replace(spec, dimension=5), "refused": replace(spec, refuses=lambda _: "Not so.")}.get(
        kind, spec
    )


@pytest.mark.parametrize("kind", ["damaged", "dimension", "refused"])
@pytest.mark.parametrize("step", range(5))
async def test_a_death_while_a_collection_is_given_up_leaves_it_or_its_successor(
    used: Path, spec: CollectionSpec, kind: str, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = spoiled(used, spec, kind)
    vectors = {path.name: path.read_bytes() for path in (used / "notes").rglob("*.mmap")}
    steps = iter(range(step))

    def mortal(change: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*given: Any, **options: Any) -> Any:
            if next(steps, None) is None:
                raise PowerLossError
            return change(*given, **options)

        return changed

    with monkeypatch.context() as patch, suppress(PowerLossError):
        for owner, name in ((Path, "rename"), (Path, "rmdir"), (shutil, "rmtree"), (Path, "write_text")):
            patch.setattr(owner, name, mortal(getattr(owner, name)))
        async with opened(EdgeStore(used), wanted):
            pass
    for _ in range(2):
        # One whose successor is given up before it is complete is still there.
        async with opened(EdgeStore(used), wanted) as store:
            assert await store.count("notes") == 0
        assert {path.name: path.read_bytes() for path in (used / ".notes.given-up").rglob("*.mmap")} == vectors
        (used / "notes" / "edge_config.json").write_text("{}")
    async with opened(EdgeStore(used), wanted) as store:
        await store.upsert("notes", [Point(uid(9), [1.0] * wanted.dimension, {})])
        await store.tidy(lambda _: set())
        assert names(used) == ["notes"]
        assert await store.count("notes") == 1


@pytest.mark.parametrize("dropped", ["staged", "successor"])
async def test_a_death_while_a_collection_is_removed_leaves_nothing_that_is_read(
    used: Path, spec: CollectionSpec, dropped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(EdgeStore(used), spec) as store:
        name = "notes" if dropped == "successor" else "notes_next"
        if dropped == "successor":
            (used / ".notes.given-up").mkdir()
        else:
            await (await store.rebuild(spec, resume=True)).upsert(points(3))

    def half(path: Path, **_: Any) -> None:
        if path.exists():
            shutil.copytree(path, path.with_name("half"))
            (path / "edge_config.json").unlink()
            raise PowerLossError

    async with opened(EdgeStore(used)) as store:
        with monkeypatch.context() as patch, suppress(PowerLossError):
            patch.setattr(shutil, "rmtree", half)
            if dropped == "successor":
                await store.ensure(replace(spec, dimension=5))
            else:
                await store.rebuild(spec, resume=False)
    assert (used / "half").exists()
    async with opened(EdgeStore(used)) as store:
        assert await store.ensure(replace(spec, name=name)) is None
        assert await store.count(name) == 0
