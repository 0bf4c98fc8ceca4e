"""The operation `picture`: the data of the page that shows what was learned."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from learning_memory_server.server.dashboard.page import as_text

if TYPE_CHECKING:
    from learning_memory_server.server.composition.services import Services
    from learning_memory_server.server.operations import Report


async def picture(services: Services, report: Report, *, project: str | None) -> dict[str, Any]:
    """Gather the data of the page, of one project or of all, as JSON text."""
    report("Gathering what was learned")
    document = await services.dashboard.document(project)
    # Megabytes, which others should not wait for.
    return {"document": await asyncio.to_thread(as_text, document)}
