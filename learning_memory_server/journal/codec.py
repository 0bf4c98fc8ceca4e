"""Domain objects as JSON data and back. The journal and the engine's payloads share this form.

Absent and empty parts are left out. Times are ISO 8601 with an offset. Entries are in `entry_codec.py`; a line of the
journal, with its checksum, is in `line.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.model.advice import Advice, Channel, Effect, Item, Kind, Reason
from learning_memory_server.model.cluster import ClusterId
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.memory import Chunking, Memory
from learning_memory_server.model.value import Evidence, Value
from learning_memory_server.model.verdict import Verdict
from learning_memory_server.model.vocabulary import Stance

Data = dict[str, Any]
T = TypeVar("T")

MALFORMED: Final = (KeyError, ValueError, TypeError, AttributeError, RecursionError, LearningMemoryError)
"""What decoding raises for data that describes nothing this program knows."""


@dataclass(frozen=True, slots=True)
class Codec(Generic[T]):
    """How things of one kind are written in the journal.

    Args:
        kind: The kind, as journal lines name it.
        encode: Returns a thing as JSON data.
        decode: Returns the thing that data describes; raises one of `MALFORMED`.
        requests: Returns the names of the calls that wrote a thing; see `Caller.request`.
    """

    kind: str
    encode: Callable[[T], Data]
    decode: Callable[[Data], T]
    requests: Callable[[T], Collection[str | None]]


def lean(data: Data) -> Data:
    """Return the data without its absent (None) and empty parts."""
    return {key: value for key, value in data.items() if value not in (None, "", [], {})}


def value_to_data(value: Value) -> Data:
    """Return the value as JSON data."""
    evidence = value.evidence
    return {
        "id": value.id,
        "text": value.text,
        "cluster_id": str(value.cluster_id),
        "project": value.project,
        "created_at": value.created_at.isoformat(),
        **({"request": value.request} if value.request else {}),
        **({"supersedes": value.supersedes} if value.supersedes else {}),
        **({"earlier": True} if value.is_earlier else {}),
        "evidence": {
            "member_ids": list(evidence.member_ids),
            "centroid": [round(x, 6) for x in evidence.centroid],
            "similarity": evidence.similarity,
            "centroid_distance": evidence.centroid_distance,
            "threshold": evidence.threshold,
            "embedding": evidence.embedding,
        },
    }


def value_from_data(data: Data) -> Value:
    """Return the value that the data describes.

    Raises:
        KeyError, ValueError, TypeError: If the data does not describe one.
    """
    evidence = data["evidence"]
    return Value(
        id=data["id"],
        text=data["text"],
        cluster_id=ClusterId.parse(data["cluster_id"]),
        project=data["project"],
        created_at=datetime.fromisoformat(data["created_at"]),
        request=data.get("request"),
        supersedes=data.get("supersedes"),
        is_earlier=data.get("earlier", False),
        evidence=Evidence(
            member_ids=tuple(evidence["member_ids"]),
            centroid=tuple(evidence["centroid"]),
            similarity=evidence["similarity"],
            centroid_distance=evidence["centroid_distance"],
            threshold=evidence["threshold"],
            embedding=evidence["embedding"],
        ),
    )


def verdict_to_data(verdict: Verdict) -> Data:
    """Return the verdict as JSON data."""
    return lean(
        {
            "value_id": verdict.value_id,
            "ghap_id": verdict.ghap_id,
            "verdict": verdict.stance.value,
            "project": verdict.project,
            "created_at": verdict.created_at.isoformat(),
            "requests": list(verdict.requests),
        }
    )


def verdict_from_data(data: Data) -> Verdict:
    """Return the verdict that the data describes.

    Raises:
        KeyError, ValueError, TypeError: If the data does not describe one.
    """
    return Verdict(
        value_id=data["value_id"],
        ghap_id=data["ghap_id"],
        stance=Stance(data["verdict"]),
        project=data["project"],
        created_at=datetime.fromisoformat(data["created_at"]),
        requests=tuple(data.get("requests", ())),
    )


def advice_to_data(advice: Advice) -> Data:
    """Return the advice as JSON data."""
    return lean(
        {
            "ghap_id": advice.ghap_id,
            "revision": advice.revision,
            "channel": advice.channel.value,
            "items": [_item_to_data(item) for item in advice.items],
            "project": advice.project,
            "created_at": advice.created_at.isoformat(),
            "withheld": advice.withheld or None,
            "probability": advice.probability or None,
        }
    )


def advice_from_data(data: Data) -> Advice:
    """Return the advice that the data describes.

    Raises:
        KeyError, ValueError, TypeError: If the data does not describe one.
    """
    return Advice(
        ghap_id=data["ghap_id"],
        revision=data["revision"],
        channel=Channel(data["channel"]),
        items=tuple(map(_item_from_data, data["items"])),
        project=data["project"],
        created_at=datetime.fromisoformat(data["created_at"]),
        withheld=data.get("withheld", False),
        probability=data.get("probability", 0.0),
    )


def failure_to_data(failure: Failure) -> Data:
    """Return the failure as JSON data."""
    return lean(
        {
            "id": failure.id,
            "project": failure.project,
            "session": failure.session,
            "signature": failure.signature,
            "command": failure.command,
            "created_at": failure.created_at.isoformat(),
            "remedy": failure.remedy,
            "shown": failure.shown,
            "support": failure.support,
            "times": failure.times,
            "named": list(failure.named),
            "imported": failure.imported or None,
        }
    )


def failure_from_data(data: Data) -> Failure:
    """Return the failure that the data describes.

    Raises:
        KeyError, ValueError, TypeError: If the data does not describe one.
    """
    return Failure(
        id=data["id"],
        project=data["project"],
        session=data["session"],
        signature=data["signature"],
        command=data["command"],
        created_at=datetime.fromisoformat(data["created_at"]),
        remedy=data.get("remedy"),
        shown=data.get("shown"),
        support=data.get("support"),
        times=data["times"],
        named=tuple(data.get("named", ())),
        imported=data.get("imported", False),
    )


def memory_to_data(memory: Memory) -> Data:
    """Return the memory as JSON data. `cuts` says where its chunks are, so that a start need not chunk it again."""
    return lean(
        {
            "id": memory.id,
            "text": memory.text,
            "metadata": dict(memory.metadata),
            "date": memory.date.isoformat(),
            "project": memory.project,
            "created_at": memory.created_at.isoformat(),
            "request": memory.request,
            "cuts": memory.chunking
            and {"by": memory.chunking.by, "spans": [list(span) for span in memory.chunking.spans]},
        }
    )


def memory_from_data(data: Data) -> Memory:
    """Return the memory that the data describes.

    Raises:
        KeyError, ValueError, TypeError: If the data does not describe one.
    """
    cuts = data.get("cuts")
    return Memory(
        id=data["id"],
        text=data["text"],
        metadata=data.get("metadata", {}),
        date=datetime.fromisoformat(data["date"]),
        project=data["project"],
        created_at=datetime.fromisoformat(data["created_at"]),
        request=data.get("request"),
        chunking=cuts and Chunking(cuts["by"], tuple((start, end) for start, end in cuts["spans"])),
    )


VALUE: Final = Codec("value", value_to_data, value_from_data, lambda value: (value.request,))
VERDICT: Final = Codec("verdict", verdict_to_data, verdict_from_data, lambda verdict: verdict.requests)
ADVICE: Final = Codec("advice", advice_to_data, advice_from_data, lambda _advice: ())
FAILURE: Final = Codec("failure", failure_to_data, failure_from_data, lambda _failure: ())
MEMORY: Final = Codec("memory", memory_to_data, memory_from_data, lambda memory: (memory.request,))


def _item_to_data(item: Item) -> Data:
    return lean(
        {
            "id": item.id,
            "kind": item.kind.value,
            "effect": item.effect and item.effect.value,
            "score": item.score,
            "reason": item.reason and item.reason.value,
        }
    )


def _item_from_data(data: Data) -> Item:
    return Item(
        data["id"],
        Kind(data["kind"]),
        Effect(data["effect"]) if "effect" in data else None,
        data.get("score"),
        Reason(data["reason"]) if "reason" in data else None,
    )
