"""Decide from a text's vector whether its topic is a cluster's: near enough, and nearer than all others.

Nearness is the mean of the cosine to the centroid and the average cosine to the three nearest members (decision 12).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from learning_memory_server.index.ranking.threshold import NEAR_COPY
from learning_memory_server.lessons.clustering.density import unit_rows

_NEAREST: Final = 3
_SAMPLE: Final = 64  # The most members that are kept as evidence
LEAST_CLOSENESS: Final = 0.4  # The least cosine to the centroid. At .35, three times as many other texts pass
MARGIN: Final = 0.04  # How much nearer its own cluster must be than the next


@dataclass(frozen=True, slots=True, eq=False)
class ClusterEvidence:
    """What a judgement needs to know about a cluster, computed once from its members."""

    name: str  # the cluster's id, quoted in reasons
    centroid: NDArray[np.float32]  # shape (d,), float32, length 1: the weighted mean of the members
    sample: NDArray[np.float16]  # Shape (at most 64, d), float16, rows of length 1: every k-th member

    def nearness(self, unit: NDArray[np.float32]) -> float:
        """Return the mean of the cosine to the centroid and the average cosine to the three nearest of `sample`."""
        cosines = np.sort(self.sample.astype(np.float32) @ unit)
        return float((self.centroid @ unit + cosines[-_NEAREST:].mean()) / 2)

    @property
    def is_one_text(self) -> bool:
        """Whether the members count as one text: any two of them are near copies."""
        sample = self.sample.astype(np.float32)
        return bool((sample @ sample.T).min() >= NEAR_COPY)

    @classmethod
    def of(cls, name: str, vectors: NDArray[np.float32], weights: NDArray[Any]) -> ClusterEvidence:
        """Return the evidence of a cluster with these members."""
        members = unit_rows(vectors)
        centroid = unit_rows((weights @ members.astype(np.float64))[None])[0]
        return cls(name, centroid, members[:: math.ceil(len(members) / _SAMPLE)].astype(np.float16))


@dataclass(frozen=True, slots=True)
class Rival:
    """The nearest cluster other than a text's own."""

    name: str
    similarity: float  # the cosine of the text to its centroid
    margin: float  # How much nearer the text's own cluster is, by this module's nearness; negative if it is farther
    margin_needed: float


@dataclass(frozen=True, slots=True)
class TopicMatch:
    """Whether a text's topic is a cluster's, with every number behind it."""

    valid: bool  # whether both conditions hold
    similarity: float  # the cosine of the text to its cluster's centroid
    centroid_distance: float  # 1 - similarity
    threshold: float  # the largest distance that passes
    rival: Rival | None  # the nearest other cluster, if there is one
    reason: str  # the reason, in words


def match_topic(
    candidate: NDArray[np.float32], own: ClusterEvidence, others: Sequence[ClusterEvidence], stretch: float = 1.0
) -> TopicMatch:
    """Test whether a text's topic is a cluster's; `stretch` is the `Scale.stretch` of the model."""
    unit = unit_rows(np.asarray(candidate, dtype=np.float32)[None])[0]
    similarity = float(own.centroid @ unit)
    distance, threshold = 1 - similarity, (1 - LEAST_CLOSENESS) * stretch
    rival = None
    if others:
        near, other = max(((each.nearness(unit), each) for each in others), key=lambda pair: pair[0])
        margin = own.nearness(unit) - near
        rival = Rival(other.name, float(other.centroid @ unit), margin, MARGIN * stretch)
    told_apart = rival is None or rival.margin >= rival.margin_needed
    valid = told_apart and distance <= threshold
    reason = f"{distance:.2f} away from the centre of {own.name}, where {threshold:.2f} is the most"
    if distance > threshold and (rival is None or 1 - rival.similarity > threshold):
        reason = f"off topic: {reason}"
    elif rival and rival.margin <= 0:
        reason = (
            f"closer to cluster {rival.name} than to {own.name}, by {-rival.margin:.2f} "
            "(centre and nearest members combined)"
        )
    elif not told_apart:
        reason = f"as close to cluster {other.name} as to {own.name}: it does not tell them apart"
    elif valid and rival:
        reason += ", and no other cluster is closer"
    return TopicMatch(valid, similarity, distance, threshold, rival, reason)
