"""The operation `call`: a tool, as an agent would call it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from learning_memory_server.domain.caller import Caller
from learning_memory_server.server.app import TOOLS
from learning_memory_server.server.boundary import Boundary

if TYPE_CHECKING:
    from learning_memory_server.server.operations.report import Report
    from learning_memory_server.server.services import Services


async def call(
    services: Services, _report: Report, *, tool: str, arguments: dict[str, Any], project: str, session: str
) -> dict[str, Any]:
    """Call a tool as an agent would and return its reply.

    Raises:
        LearningMemoryError: What the tool raises.
    """
    boundary = Boundary(TOOLS, services.injectable())
    return await boundary.run(tool, arguments, Caller(project, session))
