"""Checks of the vector engine, where nobody else uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from learning_memory_server.cli.finding import green, red, yellow
from learning_memory_server.cli.status import describe_engine
from learning_memory_server.cli.terminal import counted
from learning_memory_server.errors import AlreadyRunningError, LearningMemoryError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from learning_memory_server.cli.finding import Finding
    from learning_memory_server.embedding.base import Embedder
    from learning_memory_server.server.config import Settings


async def check_engine(settings: Settings, load: Callable[[], Embedder]) -> AsyncIterator[Finding]:
    """Open the engine, count what is in it, and compare it with the journal.

    Opening does what every start does: an unfinished last line of the journal is set aside.

    Args:
        settings: Which engine.
        load: Loads the model, or gives it if it is loaded already.
    """
    from learning_memory_server.server.services import open_services  # noqa: PLC0415 - half a second

    if not settings.storage_path.exists():
        yield green("engine", "Nothing is stored yet; it is created at the first start.")
        return
    try:
        async with open_services(settings, purpose="learning-memory-server doctor", load=load) as services:
            await services.index.open()
            points = sum((await services.index.counts()).values())
            pending = await services.writer.find_pending()
    except AlreadyRunningError as error:
        yield green(
            "engine", f"Not opened: {error.message} To have it checked, run this when that has ended."
        )
        return
    except LearningMemoryError as error:
        yield red("engine", error.sentence)
        return
    yield green("engine", f"{describe_engine(settings)}: {counted(points, 'point')}.")
    if pending:
        yield yellow(
            "engine",
            f"{counted(pending, 'point')} of the journal are not in the index yet; "
            "the next start of a server, a search or an import adds them.",
        )
    else:
        yield green("engine", "The index has everything that is in the journal.")
