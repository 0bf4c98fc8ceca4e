"""What commands show: found memories, and the page of what was learned."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING, Any

from learning_memory_server.index.memory_query import MemoryFilter, MemoryQuery
from learning_memory_server.server.dashboard.page import as_text
from learning_memory_server.server.views.memory_views import found_memory

if TYPE_CHECKING:
    from learning_memory_server.server.composition.services import Services
    from learning_memory_server.server.operations import Report


async def search_memories(  # noqa: PLR0913 - one for each option
    services: Services,
    _report: Report,
    *,
    query: str,
    limit: int,
    tags: list[str],
    source: str | None,
    project: str | None,
    since: str | None,
    explain: bool,
) -> dict[str, Any]:
    """Return what the tool search_memory finds, as data; each result is a `FoundMemoryView`."""
    # A person sees the scores, and where they end.
    start = datetime.fromisoformat(since) if since else None
    where = MemoryFilter(tuple(tags), source, start, None, project)
    result = await services.memory_searcher.search(MemoryQuery(query, limit, where, min_score=0.0))
    results = [found_memory(found, explain=explain) for found in result.found]
    return {"results": results, "count": len(results), "mode": result.mode.value}


async def picture(services: Services, report: Report, *, project: str | None) -> dict[str, Any]:
    """Gather the data of the page, of one project or of all, as JSON text."""
    report("Gathering what was learned")
    document = await services.dashboard.document(project)
    # Megabytes, which others should not wait for.
    return {"document": await asyncio.to_thread(as_text, document)}
