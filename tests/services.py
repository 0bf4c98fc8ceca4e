"""Services over a test's folder: without a model to load, and without processes for fits."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from learning_memory_server.server.composition.services import Services, open_services
from learning_memory_server.server.operations import operate
from learning_memory_server.server.settings import Settings
from tests.support import InProcessFitting


def settings_in(folder: Path, **changes: Any) -> Settings:
    return Settings(storage_path=folder, **{"embedding_backend": "hashing", "log_level": "error", **changes})


def opened(where: Path | Settings, **given: Any) -> AbstractAsyncContextManager[Services]:
    """Open services with settings, or with those of a test over a folder, which `given` may change.

    `clock` and `load` are passed on.
    """
    parts = {name: given.pop(name) for name in ("clock", "load") if name in given}
    settings = settings_in(where, **given) if isinstance(where, Path) else where.model_copy(update=given)
    return open_services(settings, purpose="a test", fitting=InProcessFitting(), **parts)


async def run(services: Services, operation: str, **fields: Any) -> dict[str, Any]:
    """Run an operation as a command does, without a word of its progress."""
    return await operate(services, lambda *_: None, operation, fields)
