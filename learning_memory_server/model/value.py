"""A value: a short principle whose topic was that of a cluster when it was accepted."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from learning_memory_server.model.cluster import ClusterId
from learning_memory_server.model.stored import Stored


class ValueOrder(StrEnum):
    """How a list of values is sorted; ties are ordered by cluster size, then newest first."""

    SUPPORT = "support"
    CLUSTER_SIZE = "cluster_size"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class Evidence(Stored):
    """What a value's topic was tested against, stored in full so that it outlives the cluster."""

    member_ids: tuple[str, ...]  # the experiences of the cluster at that time
    # The centroid of the cluster, of length 1; `similarity` and `centroid_distance` are the text's to it.
    centroid: tuple[float, ...]
    similarity: float
    centroid_distance: float
    threshold: float  # the largest distance that was accepted
    embedding: str  # the origin of these vectors: the model, and how it was used


@dataclass(frozen=True, slots=True)
class Value(Stored):
    """An accepted value. `is_earlier` marks one that a version without verdicts stored."""

    id: str
    text: str
    cluster_id: ClusterId
    project: str
    created_at: datetime
    evidence: Evidence
    request: str | None = None
    supersedes: str | None = None
    is_earlier: bool = False


def new_value_id(at: datetime) -> str:
    """Return an id that sorts by time."""
    return f"value_{at:%Y%m%d_%H%M%S}_{secrets.token_hex(3)}"
