"""What searches of several kinds found, as the command `search` compares it."""

from typing import Any

from learning_memory_server.index.document import axis_text
from learning_memory_server.index.queries import (
    ExperienceQuery,
    FoundExperience,
    FoundMemory,
    MemoryQuery,
    SearchResult,
    strengths,
)
from learning_memory_server.server.views.entry_views import scored_experience
from learning_memory_server.server.views.memory_views import found_memory


def found_views(
    entries: tuple[ExperienceQuery, SearchResult[FoundExperience]] | None,
    memories: tuple[MemoryQuery, SearchResult[FoundMemory]] | None,
    *,
    explain: bool,
) -> dict[str, Any]:
    """Return the results' views, each with its `strength`, and what ranked them."""
    found: dict[str, Any] = {"entries": [], "memories": [], "mode": "lexical"}
    if memories:
        asked, texts = memories
        views = [found_memory(each, explain=explain) for each in texts.found]
        best = texts.found[0].chunk if texts.found else ""
        found |= {"memories": _with(views, strengths(texts.found, asked.text, best)), "mode": texts.mode.value}
    if entries:
        query, result = entries
        views = [scored_experience(each, query, explain=explain) for each in result.found]
        best = axis_text(result.found[0].entry, query.axis) if result.found else ""
        found |= {"entries": _with(views, strengths(result.found, query.text, best)), "mode": result.mode.value}
    return found


def _with(views: list[dict[str, Any]], strengths: list[float]) -> list[dict[str, Any]]:
    return [{**view, "strength": strength} for view, strength in zip(views, strengths, strict=True)]
