"""The shape of a collection on a Qdrant server: vectors, graph, quantization, payload indexes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.storage.vectors import TERMS, VECTOR

if TYPE_CHECKING:
    from qdrant_client import models

    from learning_memory_server.storage.base import CollectionSpec

_TENANT: Final = "project"


@dataclass(frozen=True, slots=True)
class Spread:
    """How a cluster distributes new collections; None leaves it to the server.

    Args:
        shard_number: The number of shards.
        replication_factor: The number of copies of each shard.
        write_consistency_factor: How many copies must have accepted a write before it counts as done.
    """

    shard_number: int | None = None
    replication_factor: int | None = None
    write_consistency_factor: int | None = None


def collection_settings(spec: CollectionSpec, spread: Spread) -> dict[str, Any]:
    """Return the arguments of the vendor's `create_collection`, except the name and the metadata.

    The graph also links points within each tenant (`payload_m`), so that filtering by tenant keeps its recall. Strict
    mode refuses filters on fields without an index.
    """
    from qdrant_client import models  # noqa: PLC0415 - a second to import

    return {
        "vectors_config": {VECTOR: models.VectorParams(size=spec.dimension, distance=models.Distance.COSINE)},
        "sparse_vectors_config": {TERMS: models.SparseVectorParams(modifier=models.Modifier.IDF)},
        "hnsw_config": models.HnswConfigDiff(m=16, payload_m=16),
        "quantization_config": models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8)
        ),
        "strict_mode_config": models.StrictModeConfig(
            enabled=True, unindexed_filtering_retrieve=False, unindexed_filtering_update=False
        ),
        "shard_number": spread.shard_number,
        "replication_factor": spread.replication_factor,
        "write_consistency_factor": spread.write_consistency_factor,
    }


def payload_indexes(
    spec: CollectionSpec,
) -> dict[str, models.KeywordIndexParams | models.DatetimeIndexParams]:
    """Return an index for each filterable field of `spec`.

    `project` is the tenant; the first datetime field is the principal one.
    """
    from qdrant_client import models  # noqa: PLC0415 - a second to import

    times = spec.datetime_fields
    principal = next(iter(times), None)
    indexes: dict[str, models.KeywordIndexParams | models.DatetimeIndexParams] = {
        name: models.KeywordIndexParams(
            type=models.KeywordIndexType.KEYWORD, is_tenant=name == _TENANT or None
        )
        for name in spec.keyword_fields
    }
    indexes |= {
        name: models.DatetimeIndexParams(
            type=models.DatetimeIndexType.DATETIME, is_principal=name == principal or None
        )
        for name in times
    }
    return indexes


def stored_dimension(collection: str, info: models.CollectionInfo) -> int:
    """Return the length of the collection's vectors.

    Raises:
        StorageUnavailableError: If it has vectors under other names only.
    """
    vectors = info.config.params.vectors
    dense = vectors.get(VECTOR) if isinstance(vectors, dict) else None
    if dense is None:
        raise StorageUnavailableError(
            f"Collection `{collection}` has no vectors named `{VECTOR}`: another program created it.",
            hint="Use a separate Qdrant for this program, or remove that collection.",
        )
    return dense.size
