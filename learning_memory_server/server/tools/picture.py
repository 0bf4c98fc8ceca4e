"""The tool that opens the dashboard in a chat. Only clients that render pages (MCP Apps) see it."""

from __future__ import annotations

from typing import Final

from learning_memory_server.observation.collector import ObservationCollector
from learning_memory_server.server.tools.toolset import ToolSet
from learning_memory_server.server.wire import TextWire

toolset = ToolSet()

DASHBOARD_URI: Final = "ui://learning-memory/dashboard"


@toolset.tool(
    "Show the dashboard", changes=False, wire=TextWire("The dashboard cannot be shown"), shows=DASHBOARD_URI
)
async def show_dashboard(collector: ObservationCollector, /) -> str:
    """Show the user what was learned, as a page: a map of experiences, calibration, values and advice."""
    count = len(collector.list_resolved())
    return f"The dashboard of {count:,} experiences is shown to the user."
