"""A value: a short principle about a cluster's topic at the time of its acceptance, and the verdicts on it."""

from __future__ import annotations

import hashlib
import math
import secrets
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model.stored import Recorded, Stored
from learning_memory_server.model.vocabulary import Axis, Stance

_Z: Final = 1.959963984540054  # The two-sided 95 % quantile of the normal distribution


@dataclass(frozen=True, slots=True, order=True)
class ClusterId:
    """`{axis}_{number}`: stable while the cluster keeps its members, and never reused."""

    axis: Axis
    number: int

    def __str__(self) -> str:
        return f"{self.axis}_{self.number}"

    @classmethod
    def parse(cls, text: str) -> ClusterId:
        """Parse an id. Raises InvalidInputError."""
        axis, _, number = text.strip().rpartition("_")
        if axis not in list(Axis) or not (number.isascii() and number.isdigit()):
            raise InvalidInputError(
                f"cluster_id: {text!r} is not of the form axis_number, such as full_0; the axes are {', '.join(Axis)}.",
                hint="Call {} to see the ids.",
                calls=["get_clusters"],
                arguments=["cluster_id"],
            )
        return cls(Axis(axis), int(number))


class Status(StrEnum):
    """The overall result of the verdicts on a value."""

    UNATTESTED = "unattested"
    SUPPORTED = "supported"
    CONTESTED = "contested"


@dataclass(frozen=True, slots=True)
class Support:
    """The numbers of entries that support and contradict a value, according to the verdicts."""

    supporting: int = 0
    contradicting: int = 0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the supporting share: three of three give 0.44 to 1."""
        return wilson_interval(self.supporting, self.supporting + self.contradicting)

    @property
    def status(self) -> Status:
        """Unattested without a verdict; contested if at least as many entries contradict as support it."""
        if not self.supporting and not self.contradicting:
            return Status.UNATTESTED
        return Status.CONTESTED if self.contradicting >= self.supporting else Status.SUPPORTED


def wilson_interval(successes: float, trials: float) -> tuple[float, float]:
    """Return Wilson's 95 % score interval of a share; 0 and 1 without trials. The numbers may be weighted.

    Source: E. B. Wilson, Probable inference, JASA 22 (1927), 209-212.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} of {trials} is not a share")
    if trials == 0:
        return 0.0, 1.0
    share, squared = successes / trials, _Z * _Z
    centre = share + squared / (2 * trials)
    spread = _Z * math.sqrt(share * (1 - share) / trials + squared / (4 * trials * trials))
    scale = 1 + squared / trials
    # At shares of 0 and 1, rounding would miss the exact bound.
    low = (centre - spread) / scale if successes else 0.0
    high = (centre + spread) / scale if successes < trials else 1.0
    return low, high


@dataclass(frozen=True, slots=True)
class Verdict(Recorded):
    """Whether an entry supports a value. A later verdict replaces an earlier one, and keeps its `requests`."""

    value_id: str
    ghap_id: str
    stance: Stance
    project: str
    created_at: datetime
    requests: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """An id for the pair of value and entry, so that each pair has one verdict."""
        return verdict_id(self.value_id, self.ghap_id)


def verdict_id(value_id: str, ghap_id: str) -> str:
    """Return the id of the verdict for a value and an entry, which depends only on the pair."""
    return f"verdict_{hashlib.sha256(f'{value_id} {ghap_id}'.encode()).hexdigest()[:24]}"


class ValueOrder(StrEnum):
    """The sort orders of a list of values; ties are ordered by cluster size, then newest first."""

    SUPPORT = "support"
    CLUSTER_SIZE = "cluster_size"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class Evidence(Stored):
    """The vectors and metrics of the test of a value's topic, stored in full because the cluster may change."""

    member_ids: tuple[str, ...]  # the experiences of the cluster at that time
    centroid: tuple[float, ...]  # of the cluster, unit length; the two fields below compare the text with it
    similarity: float
    centroid_distance: float
    threshold: float  # the maximum accepted distance
    embedding: str  # the origin of these vectors: the model and the recipe


@dataclass(frozen=True, slots=True)
class Value(Recorded):
    """An accepted value."""

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
