"""Shards of the embedded engine as folders on disk, created atomically, and opened or refused with a clear error."""

import asyncio
import json
import os
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from qdrant_edge import (
    Distance,
    EdgeConfig,
    EdgeOptimizersConfig,
    EdgeShard,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    FieldCondition,
    Filter as EdgeFilter,
    HasIdCondition,
    MatchValue,
    Memory,
    Modifier,
    RangeDateTime,
    ScrollRequest,
)

from learning_memory_server.errors import (
    DamagedCollectionError,
    DiskFullError,
    LearningMemoryError,
    MissingCollectionError,
    StorageUnavailableError,
)
from learning_memory_server.index.engines.base import CollectionSpec, Filter
from learning_memory_server.index.engines.vectors import REBUILD, TERMS, VECTOR
from learning_memory_server.system import locations
from learning_memory_server.system.ipc.socket_security import prepare_folder
from learning_memory_server.system.ram import release_mapped

_ABOUT: Final = "about.json"
_REPLACED, _UNREAD, _GIVEN_UP = "old", "new", "given-up"  # Suffixes of folders next to a shard
_REMOVABLE: Final = (
    "The index folder must be readable and writable. If it is, and this persists, end the process that uses it and "
    "remove the folder: it is rebuilt from the journal."
)
_NEVER_KB: Final = 100_000_000  # A segment size that no collection reaches: building a graph would block for minutes
_DAMAGE: Final = re.compile(
    "deserialize|while parsing|expected value at line|parse version|invalid utf-8|Illegal segment|invalid segment"
    "|out of bounds|assertion failed|Inconsistent|Corrupted|(does not|doesn't) exist|read segment state|failed to copy"
    r"|decompress|os error 2\)"
)
"""The engine's messages about files that are missing, empty, truncated or overwritten."""
_PASSING: Final = re.compile(r"os error (?!2\))|Out of memory")


@dataclass(slots=True)
class Shard:
    """An open shard."""

    engine: EdgeShard
    dimension: int  # the length of its vectors
    about: Mapping[str, Any]  # the data stored with the collection
    shared: tuple[str, ...] = ()  # the keyword fields with a shared index
    dirty: bool = False  # whether it has unflushed writes
    mapped: int = 0  # points written since mapped files were last released


def shard_exists(directory: Path) -> bool:
    """Whether `directory` contains anything. A killed process may leave it empty."""
    with engine_errors(directory.name):
        return directory.is_dir() and any(directory.iterdir())


def create_shard(directory: Path, dimension: int, about: Mapping[str, Any]) -> None:
    """Create a shard next to `directory` and move it there, so that it is either complete or absent."""
    config = EdgeConfig(
        # Cold: the file is read as needed. By default the engine reads 32 MB per collection each time it opens one:
        # with 10,000 points in six collections, this takes 130 MB more RAM and makes no search faster.
        vectors={VECTOR: EdgeVectorParams(size=dimension, distance=Distance.Cosine, memory=Memory.Cold)},
        sparse_vectors={TERMS: EdgeSparseVectorParams(modifier=Modifier.Idf, memory=Memory.Cold)},
        optimizers=EdgeOptimizersConfig(indexing_threshold=_NEVER_KB),
        # All points are in one segment, which one thread searches: the other eight threads of a collection would idle.
        max_search_threads=1,
        wal_enabled=True,
    )
    staged = _beside(directory, _UNREAD)
    with engine_errors(directory.name):
        if staged.exists():
            shutil.rmtree(staged)
        if directory.exists():
            directory.rmdir()
        engine = EdgeShard.create(_for_engine(staged), config)
        engine.flush()
        engine.close()
        (staged / _ABOUT).write_text(json.dumps(about), encoding="utf-8")
        staged.rename(directory)


def load_shard(directory: Path) -> Shard:
    """Open the shard in `directory`. Raises an error if it is damaged or open in another process."""
    with engine_errors(directory.name, opening=True):
        settings = json.loads((directory / "edge_config.json").read_text(encoding="utf-8"))
        dimension = int(settings["vectors"][VECTOR]["size"])
        kept = directory / _ABOUT
        about = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
        with ExitStack() as on_failure:
            engine = EdgeShard.load(_for_engine(directory))
            on_failure.callback(engine.close)
            # The engine opens a shard with truncated or missing vectors, and its next write would turn them into
            # zeros. Reading one point detects this.
            engine.scroll(ScrollRequest(limit=1, with_payload=True, with_vector=True))
            shared = shared_fields(engine.info().payload_schema)
            on_failure.pop_all()
            # The engine reads the log and the field indexes, which take 7 MB each even when empty.
            release_mapped(directory)
        return Shard(engine, dimension, about, shared)


def _for_engine(directory: Path) -> str:
    """Return the path of a shard in UTF-8, which the engine requires, if necessary through a link in a user folder."""
    path = str(directory)
    with suppress(UnicodeEncodeError):
        path.encode()
        return path
    folder = Path(locations.runtime_folder(os.environ))
    prepare_folder(folder)
    link = folder / f"{locations.digest(str(directory.parent))}.index"
    if not (link.is_symlink() and link.readlink() == directory.parent):
        link.unlink(missing_ok=True)
        link.symlink_to(directory.parent, target_is_directory=True)
    return str(link / directory.name)


@contextmanager
def engine_errors(collection: str, *, opening: bool = False) -> Iterator[None]:
    """Translate errors and panics of the engine and the file system into `StorageUnavailableError`."""
    try:
        yield
    except LearningMemoryError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if opening and "WouldBlock" in str(error):
            raise StorageUnavailableError(
                f"Collection `{collection}` is in use by another process.",
                hint="End the other process, or give this one another storage path.",
            ) from error
        if opening and _is_damage(error):
            raise DamagedCollectionError(
                f"Collection `{collection}` is damaged and cannot be opened.", hint=REBUILD
            ) from error
        failed = f"The embedded engine failed on collection `{collection}`"
        if isinstance(error, OSError):
            raise StorageUnavailableError(f"{failed} ({error.strerror}).", hint=_REMOVABLE) from error
        raise StorageUnavailableError(f"{failed}.") from error


def _is_damage(error: BaseException) -> bool:
    """Whether the error means damaged files. Lack of memory, descriptors, permissions or space may be temporary."""
    if isinstance(error, (OSError, MemoryError)):
        return isinstance(error, FileNotFoundError)
    if isinstance(error, (ValueError, KeyError, TypeError)):
        return True  # From the two files that this program parses itself
    return bool(_DAMAGE.search(str(error))) and not _PASSING.search(str(error))


class OpenShards:
    """The open shards below a directory, by collection."""

    def __init__(self, path: Path, min_free_bytes: int) -> None:
        self._path = path
        self._min_free_bytes = min_free_bytes
        self._shards: dict[str, Shard] = {}
        self._closed = False

    def get(self, collection: str) -> Shard:
        """Return the shard, opening it if necessary."""
        self._require_open()
        if collection not in self._shards:
            directory = self._path / collection
            self.require_files(collection)
            self.require_space()  # Opening replays the write-ahead log into the segments.
            self._shards[collection] = load_shard(directory)
        return self._shards[collection]

    def ensure(self, spec: CollectionSpec) -> Shard:
        """Return the shard, creating and opening it if necessary."""
        self._require_open()
        with engine_errors(spec.name):
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        directory = self._path / spec.name
        if spec.name not in self._shards:
            with engine_errors(spec.name):
                old = _beside(directory, _REPLACED)
                if old.exists() and not directory.exists():
                    old.rename(directory)  # `promote` was interrupted
            if not shard_exists(directory):
                self.require_space()
                create_shard(directory, spec.dimension, spec.about)
        return self.get(spec.name)

    def give_up(self, collection: str) -> None:
        """Move the shard aside until its successor is complete. A successor that is given up, too, is removed."""
        self._shut(collection)
        directory = self._path / collection
        with engine_errors(collection):
            if (given_up := _beside(directory, _GIVEN_UP)).exists():
                _remove(directory)
            else:
                directory.rename(given_up)

    async def remove_given_up(self) -> None:
        """Remove the shards that were moved aside, once their successors would survive a power loss."""
        if given_up := list(self._path.glob(_beside(Path("*"), _GIVEN_UP).name)):
            await self.flush()
        for directory in given_up:
            await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)

    def drop(self, collection: str) -> None:
        """Remove the shard if it exists."""
        self._require_open()
        self._shut(collection)
        with engine_errors(collection):
            _remove(self._path / collection)

    def promote(self, source: str, target: str) -> None:
        """Replace one shard by another. After a crash between the two renames, `ensure` restores the old one."""
        self._release(source, self.get(source))
        del self._shards[source]
        self._shut(target)
        directory = self._path / target
        with engine_errors(target):
            replaced = _beside(directory, _REPLACED)
            shutil.rmtree(replaced, ignore_errors=True)
            if directory.exists():
                directory.rename(replaced)
            (self._path / source).rename(directory)
            shutil.rmtree(replaced, ignore_errors=True)

    def require_files(self, collection: str) -> None:
        """Raise an error if the shard does not exist on disk."""
        if not shard_exists(self._path / collection):
            raise MissingCollectionError(f"Collection `{collection}` does not exist.", hint=REBUILD)

    async def flush(self) -> None:
        """Make all writes survive a power loss. Lets other tasks run after each shard."""
        self._require_open()
        for collection, shard in list(self._shards.items()):
            self._flush(collection, shard)
            await asyncio.sleep(0)

    def close(self) -> None:
        """Flush and release all shards, even if one fails. No shard can be opened afterwards."""
        self._closed = True
        with ExitStack() as releases:
            while self._shards:
                releases.callback(self._release, *self._shards.popitem())

    def require_space(self) -> None:
        """Raise an error if there is too little space: on a full disk, the engine would crash the process (SIGBUS)."""
        try:
            free = shutil.disk_usage(self._path).free
        except OSError as error:
            raise StorageUnavailableError("The storage folder cannot be read.") from error
        if free < self._min_free_bytes:
            raise DiskFullError(
                f"{free // 2**20} MiB are free where the index is stored; "
                f"{self._min_free_bytes // 2**20} MiB are needed to write safely.",
                hint="Free some disk space.",
            )

    def _release(self, collection: str, shard: Shard) -> None:
        try:
            self._flush(collection, shard)
        finally:
            with engine_errors(collection):
                shard.engine.close()

    def _shut(self, collection: str) -> None:
        """Close the shard if it is open, without a flush, before it is removed."""
        if collection in self._shards:
            with engine_errors(collection):
                self._shards.pop(collection).engine.close()

    def _flush(self, collection: str, shard: Shard) -> None:
        if shard.dirty:
            self.require_space()
            with engine_errors(collection):
                shard.engine.flush()
                shard.dirty = False

    def _require_open(self) -> None:
        if self._closed:
            raise StorageUnavailableError("The store is closed.")


def _beside(directory: Path, end: str) -> Path:
    return directory.with_name(f".{directory.name}.{end}")


def _remove(directory: Path) -> None:
    """Remove a shard if it exists. Leftovers after a crash are never read."""
    unread = _beside(directory, _UNREAD)
    shutil.rmtree(unread, ignore_errors=True)
    if directory.exists():
        directory.rename(unread)
    shutil.rmtree(unread, ignore_errors=True)


_PREFIX: Final = "keys"
_BETWEEN: Final = "__"


def keys_field(fields: Iterable[str]) -> str:
    """Return the name of the payload field for the combined index of `fields`: each index takes 9 MB of RAM."""
    return _BETWEEN.join((_PREFIX, *fields))


def shared_fields(schema: Iterable[str]) -> tuple[str, ...]:
    """Return the fields with a combined index, given the names of all indexes of a collection."""
    for name in schema:
        prefix, *fields = name.split(_BETWEEN)
        if prefix == _PREFIX and fields:
            return tuple(fields)
    return ()


def with_keys(payload: Mapping[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    """Return the payload in its stored form, with the keys of the combined index."""
    if not fields:
        return dict(payload)
    keys = []
    for field in fields:
        value = payload.get(field)
        values = value if isinstance(value, list) else [value]
        keys += [f"{field}={item}" for item in values if isinstance(item, str)]
    return {**payload, keys_field(fields): keys}


def without_keys(payload: dict[str, Any] | None, fields: tuple[str, ...]) -> dict[str, Any]:
    """Return the original payload, without the keys of the combined index."""
    payload = payload or {}
    if fields:
        payload.pop(keys_field(fields), None)
    return payload


def edge_filter(where: Filter | None, fields: tuple[str, ...], ids: Collection[str] | None = None) -> EdgeFilter | None:
    """Return `where` in the engine's form, restricted to `ids` if given."""

    def has(name: str, value: str) -> FieldCondition:
        if name in fields:
            return FieldCondition(keys_field(fields), match=MatchValue(f"{name}={value}"))
        return FieldCondition(name, match=MatchValue(value))

    where = where or Filter()
    conditions: list[FieldCondition | HasIdCondition] = [has(name, value) for name, value in where.matches]
    for times in where.times:
        start = times.start.isoformat() if times.start else None
        end = times.end.isoformat() if times.end else None
        if start or end:
            conditions.append(FieldCondition(times.field, range=RangeDateTime(gte=start, lte=end)))
    if ids is not None:
        conditions.append(HasIdCondition(set(ids)))
    refused = [has(name, value) for name, value in where.without]
    if not conditions and not refused:
        return None
    return EdgeFilter(must=list(conditions) or None, must_not=list(refused) or None)
