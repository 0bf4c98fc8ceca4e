"""The open shards of an `EdgeStore`: opened on demand, flushed, closed, replaced."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from learning_memory_server.errors import MissingCollectionError, StorageUnavailableError
from learning_memory_server.index.engines.edge_shards import (
    Shard,
    create_shard,
    drop_shard,
    engine_errors,
    load_shard,
    promote_shard,
    recover_shard,
    require_space,
    shard_exists,
)
from learning_memory_server.index.engines.vectors import REBUILD

if TYPE_CHECKING:
    from learning_memory_server.index.engines.base import CollectionSpec


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
            recover_shard(directory)
            if not shard_exists(directory):
                self.require_space()
                create_shard(directory, spec.dimension, spec.about)
        return self.get(spec.name)

    def drop(self, collection: str) -> None:
        """Remove the shard, if there is one."""
        self._require_open()
        self._shut(collection)
        drop_shard(self._path / collection)

    def promote(self, source: str, target: str) -> None:
        """Replace one shard with another."""
        self._release(source, self.get(source))
        del self._shards[source]
        self._shut(target)
        promote_shard(self._path / source, self._path / target)

    def require_files(self, collection: str) -> None:
        """Raise an error if the shard does not exist on disk."""
        if not shard_exists(self._path / collection):
            raise MissingCollectionError(f"Collection `{collection}` does not exist.", hint=REBUILD)

    async def flush(self) -> None:
        """Make what was written survive a power loss. Yields to other tasks after each shard."""
        self._require_open()
        for collection, shard in list(self._shards.items()):
            self._flush(collection, shard)
            await asyncio.sleep(0)

    def close(self) -> None:
        """Flush and release every shard, even if one of them fails. Nothing can be opened afterwards."""
        self._closed = True
        with ExitStack() as releases:
            while self._shards:
                releases.callback(self._release, *self._shards.popitem())

    def require_space(self) -> None:
        """Raise an error if too little space is left to write."""
        require_space(self._path, self._min_free_bytes)

    def _release(self, collection: str, shard: Shard) -> None:
        try:
            self._flush(collection, shard)
        finally:
            with engine_errors(collection):
                shard.engine.close()

    def _shut(self, collection: str) -> None:
        """Close the shard, if it is open, without flushing: it is about to be removed."""
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
