"""Memories as JSON shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired

from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

from learning_memory_server.server.views.fields import fields
from learning_memory_server.server.views.score_views import ScoreParts, score_parts

if TYPE_CHECKING:
    from learning_memory_server.index.memory_query import FoundMemory
    from learning_memory_server.model.memory import Memory


class MemoryFacts(TypedDict):
    """What is known about a memory. `date` is what it refers to; `characters` is the length of its text."""

    id: str
    metadata: dict[str, Any]
    project: str
    date: str
    created_at: str
    characters: int


class MemoryView(MemoryFacts):
    """A whole memory."""

    text: str


class FoundMemoryView(MemoryFacts):
    """A memory that was found: its best passage, from character `start` to `end` of its text."""

    score: float
    passage: str
    start: int
    end: int
    explanation: NotRequired[ScoreParts]


def memory(kept: Memory) -> dict[str, Any]:
    """Return a `MemoryView`."""
    return fields(MemoryView, kept, metadata=dict(kept.metadata), characters=len(kept.text))


def found_memory(found: FoundMemory, *, explain: bool) -> dict[str, Any]:
    """Return a `FoundMemoryView`, with the parts of its score if they are wanted."""
    score, parts = round(found.score, 4), score_parts(found.explanation)
    view = fields(
        FoundMemoryView, found, **memory(found.memory), score=score, passage=found.chunk, explanation=parts
    )
    if not explain:
        del view["explanation"]
    return view
