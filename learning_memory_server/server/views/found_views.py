"""What a search found, as the command `search` compares it with what others did."""

from typing import Any

from learning_memory_server.index.document import axis_text
from learning_memory_server.index.queries import ExperienceQuery, MemoryQuery, SearchResult, strengths
from learning_memory_server.server.views.entry_views import scored_experience
from learning_memory_server.server.views.memory_views import found_memory


def found_views(
    query: ExperienceQuery | MemoryQuery, result: SearchResult[Any], beside: SearchResult[Any] | None, *, explain: bool
) -> list[dict[str, Any]]:
    """Return the results' views, each with its `strength`, next to what was found `beside` them."""
    found, best = result.found, next(iter(result.found), None)
    if isinstance(query, MemoryQuery):
        text, views = best and best.chunk, [found_memory(each, explain=explain) for each in found]
    else:
        text = best and axis_text(best.entry, query.axis)
        views = [scored_experience(each, query, explain=explain) for each in found]
    of = strengths(found, query.text, text or "", beside.found if beside else ())
    return [{**view, "strength": strength} for view, strength in zip(views, of, strict=True)]
