"""The operations `join` and `unjoin`: whether the shared lessons of a repository are read."""

from pathlib import Path
from typing import Any

from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.operations.report import Report


async def join(services: Services, report: Report, *, folder: str, project: str) -> dict[str, Any]:
    """Read the shared lessons of a repository from now on. The reply counts them, and names what is left out."""
    report("Reading the repository")
    joined = await services.shared.join(Path(folder), project)
    return {"lessons": services.shared.count(project), "left_out": joined.left_out}


async def unjoin(services: Services, _report: Report, *, folder: str) -> dict[str, Any]:
    """Forget the shared lessons of a repository."""
    left = await services.shared.leave(Path(folder))
    return {"folder": left.folder, "project": left.project}
