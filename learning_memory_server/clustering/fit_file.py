"""A fit as a file: the SHA-256 of the rest, then an `.npz` archive of a JSON header and arrays, without pickles."""

from __future__ import annotations

import hashlib
import io
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from learning_memory_server.clustering.axis_fit import AxisFit, FittedCluster
from learning_memory_server.clustering.evidence import ClusterEvidence
from learning_memory_server.clustering.incremental import KnownNeighbours
from learning_memory_server.clustering.neighbours import Neighbours
from learning_memory_server.domain.cluster import ClusterId

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from learning_memory_server.domain.vocabulary import Axis

_FORMAT: Final = 2
"""Raised when files are laid out in another way, or when the same vectors come to be clustered in another way."""
_DIGEST: Final = hashlib.sha256().digest_size


def packed(fit: AxisFit, neighbours: Neighbours, origin: Mapping[str, str]) -> bytes:
    """Return the file of a fit.

    Args:
        fit: The fit; its `numbers` are in the order of the rows.
        neighbours: Those of its rows.
        origin: What the fit depends on beside the experiences.
    """
    row_of = {name: row for row, name in enumerate(fit.numbers)}
    proofs = [cluster.evidence for cluster in fit.clusters]
    header = {
        "format": _FORMAT,
        "origin": dict(origin),
        "at": fit.at.isoformat(),
        "explanation": fit.explanation,
        "ids": list(fit.numbers),
        "clusters": [
            {
                "number": cluster.id.number,
                "label": cluster.label,
                "size": cluster.evidence.size,
                "loo_mean": cluster.evidence.loo_mean,
                "loo_deviation": cluster.evidence.loo_deviation,
                "mean": cluster.evidence.mean,
                "deviation": cluster.evidence.deviation,
                "sample": len(cluster.evidence.sample),
            }
            for cluster in fit.clusters
        ],
    }
    members = [row_of[name] for cluster in fit.clusters for name in cluster.members]
    cosines = [cosine for cluster in fit.clusters for cosine in cluster.members.values()]
    file = io.BytesIO()
    np.savez(
        file,
        header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
        members=np.array(members, dtype=np.int32),
        cosines=np.array(cosines, dtype=np.float32),
        centroids=np.array([proof.centroid for proof in proofs], dtype=np.float32),
        samples=np.concatenate([proof.sample for proof in proofs] or [np.empty((0, 0), np.float16)]),
        neighbour_rows=neighbours.rows.astype(np.int32),
        neighbour_similarities=neighbours.similarities.astype(np.float32),
    )
    archive = file.getvalue()
    return hashlib.sha256(archive).digest() + archive


def read_fit(path: Path, axis: Axis, origin: Mapping[str, str]) -> AxisFit:
    """Return the fit that a file holds.

    Raises:
        OSError: If there is no such file, or it cannot be read.
        ValueError: If it is damaged, no such file at all, or of another origin.
    """
    with _opened(path) as file:
        header = _header(file, origin)
        members, cosines = file["members"].tolist(), file["cosines"].tolist()
        centroids, samples = file["centroids"], file["samples"]
    ids = header["ids"]
    clusters = []
    start = sampled = 0
    for about, centroid in zip(header["clusters"], centroids, strict=True):
        stop, last = start + about["size"], sampled + about["sample"]
        name = ClusterId(axis, about["number"])
        evidence = ClusterEvidence(
            str(name),
            centroid,
            about["size"],
            about["loo_mean"],
            about["loo_deviation"],
            about["mean"],
            about["deviation"],
            samples[sampled:last],
        )
        inside = zip((ids[row] for row in members[start:stop]), cosines[start:stop], strict=True)
        clusters.append(FittedCluster(name, about["label"], dict(inside), evidence))
        start, sampled = stop, last
    return AxisFit.made_of(datetime.fromisoformat(header["at"]), clusters, ids, header["explanation"])


def read_neighbours(path: Path, origin: Mapping[str, str]) -> KnownNeighbours:
    """Return the neighbours that a file holds.

    Raises:
        OSError, ValueError: As for `read_fit`.
    """
    with _opened(path) as file:
        ids = _header(file, origin)["ids"]
        rows: NDArray[np.int64] = file["neighbour_rows"].astype(np.int64)
        similarities: NDArray[np.float32] = file["neighbour_similarities"]
    return KnownNeighbours(ids, Neighbours(rows, similarities))


def _opened(path: Path) -> Any:  # noqa: ANN401 - numpy's own is private
    content = path.read_bytes()
    archive = memoryview(content)[_DIGEST:]
    if content[:_DIGEST] != hashlib.sha256(archive).digest():
        raise ValueError("it is damaged")
    return np.load(io.BytesIO(archive), allow_pickle=False)


def _header(file: Any, origin: Mapping[str, str]) -> dict[str, Any]:  # noqa: ANN401 - numpy's own is private
    header: dict[str, Any] = json.loads(file["header"].tobytes())
    if header["format"] != _FORMAT or header["origin"] != origin:
        raise ValueError("it is of another version, another model or other settings")
    return header
