"""Decide from a text's vector whether it represents a cluster, by how the cluster's members spread.

Two conditions must hold: the text is nearer to the cluster than to any other, by a margin, and it is no farther from
the centroid than members are.

Nearness is the mean of the cosine to the centroid and the average cosine to the three nearest members. Among banking
requests, whose topics overlap, the centroid alone accepts 80 % of genuine texts and 2.2 % of those of the nearest other
topic; with the members it is 0.9 % at the same 80 %.

Distances are cosine distances, 1 - cos, from 0 to 2. Euclidean distances between unit vectors accept one percentage
point more genuine texts, but twice as many that are off every topic. A member's distance is measured to the centroid of
the others (leave one out): to a centroid that includes it the distance is too short, and the rule would reject nearly
everything genuine in small clusters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from learning_memory_server.learning.clustering.density import unit_rows

LEAST_DEVIATION: Final = 0.05
"""A floor for members that are near copies and do not show how far their topic reaches. 95 % of topics are above it."""
_NEAREST: Final = 3
_SAMPLE: Final = 64
"""Maximum number of members kept, so that the evidence grows with the number of clusters and not with the store."""


@dataclass(frozen=True, slots=True, eq=False)
class ClusterEvidence:
    """What a judgement needs to know about a cluster, computed once from its members."""

    name: str  # the cluster's id, quoted in reasons
    centroid: NDArray[np.float32]  # shape (d,), float32, length 1: the weighted mean of the members
    size: int  # the number of members
    loo_mean: float  # the mean distance of a member to the centroid of the others
    loo_deviation: float  # the standard deviation of those distances
    mean: float  # the mean distance of a member to the centroid of all
    deviation: float  # the standard deviation of those distances
    sample: NDArray[np.float16]
    """Shape (at most 64, d), float16, rows of length 1: every k-th member, in the order given."""

    def nearness(self, unit: NDArray[np.float32]) -> float:
        """Return the mean of the cosine to the centroid and the average cosine to the three nearest of `sample`.

        The centroid says where the topic is; the nearest members, how far it reaches in this direction.
        """
        cosines = np.sort(self.sample.astype(np.float32) @ unit)
        return float((self.centroid @ unit + cosines[-_NEAREST:].mean()) / 2)

    @classmethod
    def of(cls, name: str, vectors: NDArray[np.float32], weights: NDArray[Any]) -> ClusterEvidence:
        """Compute the evidence of a cluster."""
        if len(vectors) == 0:
            raise ValueError(f"{name} has no members to be judged by")
        members = unit_rows(vectors).astype(np.float64)
        shares = np.asarray(weights, dtype=np.float64)[:, None] * members
        total = shares.sum(axis=0)
        centroid = _units(total[None])
        inside = _distances(members, centroid)
        outside = _distances(members, _units(total - shares)) if len(members) > 1 else inside
        return cls(
            name=name,
            centroid=centroid[0].astype(np.float32),
            size=len(members),
            loo_mean=float(outside.mean()),
            loo_deviation=float(outside.std()),
            mean=float(inside.mean()),
            deviation=float(inside.std()),
            sample=members[:: math.ceil(len(members) / _SAMPLE)].astype(np.float16),
        )


def _units(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1))


def _distances(points: NDArray[Any], centres: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(1 - (points * centres).sum(axis=1), dtype=np.float64)


DEVIATIONS: Final = 3.0
PRIOR_MEMBERS: Final = 5
"""The weight, in members, of all clusters' typical spread against a cluster's own."""
MARGIN: Final = 0.04
"""How much nearer its own cluster must be than the next. From .02 to .04, in the same draws of banking requests,
genuine texts accepted fall from 84 to 82 %, and texts of the nearest other topic from 3.2 to 2.3 %."""
_RIVALS: Final = 8
"""How many other clusters, those with the nearest centroids, are compared in full."""
STRICT_DEVIATIONS: Final = 0.5
_GENERAL: Final = 3
"""A text that is equally near to this many clusters, and within reach of each, distinguishes none of them."""
_ROUNDING: Final = 1e-6
"""Single precision leaves this much distance between two equal unit vectors."""


@dataclass(frozen=True, slots=True)
class Rival:
    """The nearest cluster other than a text's own."""

    name: str
    similarity: float  # the cosine of the text to its centroid
    margin: float
    """How much nearer the text's own cluster is, by this module's nearness; negative if it is farther."""


@dataclass(frozen=True, slots=True)
class TopicMatch:
    """Whether a text's topic is a cluster's, with every number behind it."""

    valid: bool  # whether both conditions hold
    similarity: float  # the cosine of the text to its cluster's centroid
    centroid_distance: float  # 1 - similarity
    threshold: float  # the largest distance that passes
    mean: float  # the mean distance of members to the centroid, themselves included
    deviation: float  # the standard deviation of those distances
    rival: Rival | None  # the nearest other cluster, if there is one
    reason: str  # the reason, in words

    @property
    def strict_threshold(self) -> float:
        """The mean distance of members plus half a standard deviation; for comparison only."""
        return self.mean + STRICT_DEVIATIONS * self.deviation


def match_topic(candidate: NDArray[np.float32], own: ClusterEvidence, others: Sequence[ClusterEvidence]) -> TopicMatch:
    """Test whether a text's topic is a cluster's.

    Without other clusters, only the distance decides.
    """
    unit = unit_rows(np.asarray(candidate, dtype=np.float32)[None])[0]
    similarity, here = float(own.centroid @ unit), own.nearness(unit)
    # Near copies do not show how far their topic spreads.
    typical = float(np.mean([each.loo_deviation for each in (own, *others)]))
    typical = max(typical, LEAST_DEVIATION)
    threshold = _threshold(own, typical)
    close = nlargest(_RIVALS, others, key=lambda other: float(other.centroid @ unit))
    nearest = sorted(((other, other.nearness(unit)) for other in close), key=lambda pair: pair[1], reverse=True)
    rival = None
    if nearest:
        other, near = nearest[0]
        rival = Rival(other.name, float(other.centroid @ unit), here - near)
    told_apart = rival is None or rival.margin >= MARGIN
    close_enough = 1 - similarity <= threshold + _ROUNDING
    match = TopicMatch(
        valid=told_apart and close_enough,
        similarity=similarity,
        centroid_distance=1 - similarity,
        threshold=threshold,
        mean=own.mean,
        deviation=own.deviation,
        rival=rival,
        reason="",
    )
    alike = [
        other.name
        for other, near in nearest
        if abs(here - near) < MARGIN and 1 - float(other.centroid @ unit) <= _threshold(other, typical)
    ]
    is_general = close_enough and not told_apart and len(alike) + 1 >= _GENERAL
    return replace(match, reason=_reason(match, own.name, alike if is_general else ()))


def _reason(match: TopicMatch, own: str, alike: Sequence[str]) -> str:
    """Return the reason for the result, in words. `alike` are the clusters that a text is too general for."""
    away = f"{match.centroid_distance:.2f} away from the centre of {own}"
    if alike:
        return f"too general: as close to {', '.join(alike)} as to {own}, and within reach of each"
    rival = match.rival
    if rival and rival.margin <= 0:
        return (
            f"closer to cluster {rival.name} than to {own}, by {-rival.margin:.2f} "
            "(centre and nearest members combined)"
        )
    if rival and rival.margin < MARGIN:
        return f"as close to cluster {rival.name} as to {own}: it does not tell them apart"
    if not match.valid:
        return f"{away}, but its members reach only {match.threshold:.2f}"
    nearest = ", and no other cluster is closer" if rival else ""
    return f"{away}, within the {match.threshold:.2f} of its members{nearest}"


def _threshold(cluster: ClusterEvidence, typical: float) -> float:
    """Return the mean plus three deviations; a small cluster's deviation is shrunk towards the typical one."""
    variance = cluster.size * cluster.loo_deviation**2 + PRIOR_MEMBERS * typical**2
    return float(cluster.loo_mean + DEVIATIONS * (variance / (cluster.size + PRIOR_MEMBERS)) ** 0.5)
