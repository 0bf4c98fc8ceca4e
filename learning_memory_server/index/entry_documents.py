"""A resolved entry as documents, one for each axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.index.document import Collection, Document, DocumentShape, WholeDocument, point_id
from learning_memory_server.model.vocabulary import Axis

if TYPE_CHECKING:
    from learning_memory_server.model.entry import Ghap, RootCause

SHAPES: Final = dict.fromkeys(
    map(Collection.of, Axis), DocumentShape(("project", "domain", "strategy", "outcome_status"), ("resolved_at",))
)
"""What experience searches filter on."""


def documents_of(entry: Ghap) -> list[Document]:
    """Return the documents of a resolved entry: always full and strategy, the other axes where they apply."""
    payload = payload_of(entry)
    point = point_id("ghap", entry.id)
    return [
        WholeDocument(Collection.of(axis), point, text, payload, full_parts(entry) if axis is Axis.FULL else ())
        for axis, text in axis_texts(entry).items()
    ]


def axis_texts(entry: Ghap) -> dict[Axis, str]:
    """Return the text that is embedded for each axis that a resolved entry has.

    Each part is a line without a label: a label that every text has would pull all vectors together. What distinguishes
    entries comes first, because a model truncates long texts.
    """
    end = entry.outcome
    cause = end.root_cause
    worked = end.lesson.what_worked if end.lesson else None
    tries = f"{entry.iteration_count} iteration{'' if entry.iteration_count == 1 else 's'}"
    texts = {
        Axis.FULL: _text(*full_parts(entry), entry.domain),
        Axis.STRATEGY: _text(entry.strategy, entry.goal, f"{end.status} after {tries}", worked),
    }
    if end.surprise:
        texts[Axis.SURPRISE] = _text(end.surprise, entry.prediction, end.result, cause.description if cause else None)
    if cause:
        texts[Axis.ROOT_CAUSE] = _text(_named(cause), entry.hypothesis, entry.domain, entry.strategy)
    return texts


def full_parts(entry: Ghap) -> tuple[str, ...]:
    """Return the statements of a resolved entry. Each makes sense on its own."""
    end = entry.outcome
    said = (
        entry.goal,
        entry.hypothesis,
        entry.action,
        entry.prediction,
        f"{end.status}: {end.result}",
        end.surprise,
        _named(end.root_cause),
        end.lesson.what_worked if end.lesson else None,
        end.lesson.takeaway if end.lesson else None,
    )
    return tuple(part for part in said if part)


def is_on(axis: Axis, entry: Ghap) -> bool:
    """Return whether a resolved entry has a text on the axis, without building the text."""
    if axis is Axis.SURPRISE:
        return bool(entry.outcome.surprise)
    if axis is Axis.ROOT_CAUSE:
        return entry.outcome.root_cause is not None
    return True


def payload_of(entry: Ghap) -> dict[str, Any]:
    """Return the payload of an entry's points: its id, and flat fields to filter on. The entry is in the journal."""
    end = entry.outcome
    return {
        "ghap_id": entry.id,
        "project": entry.project,
        "domain": entry.domain.value,
        "strategy": entry.strategy.value,
        "outcome_status": end.status.value,
        "resolved_at": end.resolved_at.isoformat(),
    }


def _named(cause: RootCause | None) -> str | None:
    return f"{cause.category}: {cause.description}" if cause else None


def _text(*parts: str | None) -> str:
    return "\n".join(part for part in parts if part)
