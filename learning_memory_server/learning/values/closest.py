"""Find what is closest to a text, in a cluster's members and among values, so that its author can compare.

A vector cannot say whether a text is true: texts that contradict a cluster are as close to its centroid as those that
agree with it. What the members learned, and which hypotheses failed, the author can read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from learning_memory_server.errors import EmbeddingUnavailableError, StorageUnavailableError
from learning_memory_server.index.document import Collection, point_id
from learning_memory_server.index.ranking.threshold import ALIKE
from learning_memory_server.model import limits
from learning_memory_server.model.vocabulary import Axis, OutcomeStatus
from learning_memory_server.system import timeouts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.index.index import VectorIndex
    from learning_memory_server.model.entry import Ghap
    from learning_memory_server.model.value import Value

_EMBEDDED: Final = 24
"""How many lessons, and how many hypotheses, are compared with the text itself. They are those of the members whose
stored vectors are closest to it, which takes no model."""


@dataclass(frozen=True, slots=True)
class Closest:
    """The members of a cluster that are closest to a text, closest first, at most three of each."""

    lessons: tuple[Ghap, ...] = ()  # those with a lesson, by what the lesson says
    falsified: tuple[Ghap, ...] = ()  # those whose hypothesis failed, by what the hypothesis said


async def closest_members(
    index: VectorIndex, axis: Axis, members: Sequence[Ghap], vector: NDArray[np.float32]
) -> Closest:
    """Return the members closest to a text. If the engine does not answer, the order of `members` decides.

    `members` come most central first; `vector` is the text embedded as a document.
    """
    near = await _by_stored_vector(index, axis, members, vector)
    learned = [entry for entry in near if lesson_of(entry)][:_EMBEDDED]
    failed = [entry for entry in near if entry.outcome.status is OutcomeStatus.FALSIFIED][:_EMBEDDED]
    said = [*map(lesson_of, learned), *(entry.hypothesis for entry in failed)]
    try:
        cosines = (
            (await index.embeddings.embed_documents(said, timeouts.CLOSEST_MODEL) @ vector).tolist() if said else []
        )
    except EmbeddingUnavailableError:
        return Closest(tuple(learned[: limits.CLOSEST_SHOWN]), tuple(failed[: limits.CLOSEST_SHOWN]))
    return Closest(_best(learned, cosines[: len(learned)]), _best(failed, cosines[len(learned) :]))


def lesson_of(entry: Ghap) -> str:
    """Return what a resolved entry teaches: its takeaway, else what worked, else nothing."""
    lesson = entry.outcome.lesson
    return (lesson.takeaway or lesson.what_worked) if lesson else ""


async def _by_stored_vector(
    index: VectorIndex, axis: Axis, members: Sequence[Ghap], vector: NDArray[np.float32]
) -> list[Ghap]:
    points = {entry.id: point_id("ghap", entry.id) for entry in members}
    try:
        async with index.in_time(timeouts.CLOSEST_READ):
            found = await index.vectors_of(Collection.of(axis), list(points.values()))
    except (EmbeddingUnavailableError, StorageUnavailableError):
        return list(members)
    cosines = {name: float(found[point] @ vector) for name, point in points.items() if point in found}
    return sorted(members, key=lambda entry: -cosines.get(entry.id, -1.0))


def _best(entries: Sequence[Ghap], cosines: Sequence[float]) -> tuple[Ghap, ...]:
    ranked = sorted(zip(cosines, entries, strict=True), key=lambda pair: -pair[0])
    return tuple(entry for _, entry in ranked[: limits.CLOSEST_SHOWN])


@dataclass(frozen=True, slots=True)
class Likeness:
    """A value, and how close its text is to the text in question."""

    value: Value
    similarity: float


async def values_like(index: VectorIndex, vector: NDArray[np.float32], values: Sequence[Value]) -> tuple[Likeness, ...]:
    """Return at most five values similar to a text, most similar first.

    Values that are not indexed yet are left out; without an engine, the result is empty.
    """
    try:
        near = await nearest_values(index, vector, values, limits.ALIKE_SHOWN)
    except (StorageUnavailableError, EmbeddingUnavailableError):
        return ()
    return tuple(each for each in near if each.similarity >= ALIKE)


async def nearest_values(
    index: VectorIndex, vector: NDArray[np.float32], values: Iterable[Value], limit: int
) -> list[Likeness]:
    """Return those of some values that are nearest to a text, nearest first."""
    by_point = {point_id("value", value.id): value for value in values}
    if not by_point:
        return []
    hits = await index.nearest(Collection.VALUES, vector, limit=limit, ids=by_point.keys())
    return [Likeness(by_point[hit.id], hit.score) for hit in hits]
