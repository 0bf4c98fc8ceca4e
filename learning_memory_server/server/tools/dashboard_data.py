"""The tool that opens the dashboard in a chat. Only clients that render pages (MCP Apps) see it."""

from __future__ import annotations

from typing import Final

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.index.entry_query import EntryQuery
from learning_memory_server.model.caller import Caller
from learning_memory_server.server.tools.toolset import ToolSet
from learning_memory_server.server.wire import TextWire

toolset = ToolSet()

DASHBOARD_URI: Final = "ui://learning-memory/dashboard"


@toolset.tool(
    "Show the dashboard", changes=False, wire=TextWire("The dashboard cannot be shown"), shows=DASHBOARD_URI
)
async def show_dashboard(caller: Caller, collector: ObservationCollector, /) -> str:
    """Show the user what was learned, as a page: a map of experiences, calibration, values and advice."""
    count = len(collector.list_resolved(EntryQuery(project=caller.project)))
    experiences = f"{count:,} experience{'' if count == 1 else 's'}"
    # Whether it does, the client alone knows: it may refuse a long page.
    return f"The client shows the user the dashboard of this project's {experiences}, if it can."
