"""A value: a short principle that sat in the middle of its evidence when it was accepted."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from learning_memory_server.domain.cluster import ClusterId
    from learning_memory_server.domain.vocabulary import OutcomeStatus


class ValueOrder(StrEnum):
    """What comes first in a list of values; after that the newest."""

    CLUSTER_SIZE = "cluster_size"
    STRENGTH = "strength"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a value was judged by, kept whole so that it outlives its cluster.

    Args:
        member_ids: The experiences of the cluster at that time.
        centroid: The cluster's centre, of length 1.
        similarity: Cosine between the value's text and the centre.
        centroid_distance: Distance of the text from the centre.
        threshold: The largest distance that was accepted.
        embedding: What made these vectors: the model, and the way in which it is used.
        radius: How far from the centre a later experience may be to count; absent in values of earlier versions.
        outcome: How most members ended, confirmed or falsified; absent if no more ended so than otherwise, and in
            values of earlier versions.
    """

    member_ids: tuple[str, ...]
    centroid: tuple[float, ...]
    similarity: float
    centroid_distance: float
    threshold: float
    embedding: str
    radius: float | None = None
    outcome: OutcomeStatus | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """An accepted value.

    Args:
        supersedes: The id of the value that it stands in the place of.
    """

    id: str
    text: str
    cluster_id: ClusterId
    project: str
    created_at: datetime
    evidence: Evidence
    request: str | None = None
    supersedes: str | None = None


def new_value_id(at: datetime) -> str:
    """Return an id that sorts by time."""
    return f"value_{at:%Y%m%d_%H%M%S}_{secrets.token_hex(3)}"
