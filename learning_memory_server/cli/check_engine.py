"""Checks of the vector engine: whether it opens, and whether it has what the journal has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from learning_memory_server.cli.connection import open_connection
from learning_memory_server.cli.finding import green, red, yellow
from learning_memory_server.cli.status import describe_engine
from learning_memory_server.cli.terminal import counted
from learning_memory_server.errors import AlreadyRunningError, LearningMemoryError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from learning_memory_server.cli.finding import Finding, Repair
    from learning_memory_server.embedding.base import Embedder
    from learning_memory_server.server.config import Settings


async def check_engine(settings: Settings, load: Callable[[], Embedder]) -> AsyncIterator[Finding]:
    """Compare the index with the journal, in the hub if one runs.

    Without a hub this opens the engine, as every start does: an unfinished last line of the journal is set aside, and
    a collection that cannot be opened is emptied.

    Args:
        settings: Which engine.
        load: Loads the model, or gives it if it is loaded already.
    """
    if not settings.storage_path.exists():
        yield green("engine", "Nothing is stored yet; it is created at the first start.")
        return
    try:
        async with open_connection(settings, "doctor", load=load) as connection:
            found = await connection.run("compare")
    except AlreadyRunningError as error:
        yield green(
            "engine", f"Not opened: {error.message} To have it checked, run this when that has ended."
        )
    except LearningMemoryError as error:
        yield red("engine", error.sentence)
    else:
        yield green("engine", f"{describe_engine(settings)}: {counted(found['points'], 'point')}.")
        for finding in _compared(found, settings):
            yield finding


def _compared(found: dict[str, Any], settings: Settings) -> Iterator[Finding]:
    if found["missing"]:
        yield yellow(
            "engine",
            f"{counted(found['missing'], 'point')} of the journal are not in the index yet; "
            "the next start of a server, a search or an import adds them.",
            _repair(settings, "complete", "The index was completed."),
        )
    if found["superfluous"]:
        yield yellow(
            "engine",
            f"The index has {counted(found['superfluous'], 'point')} that the journal does not have. If no line of "
            "the journal is damaged, run: learning-memory-server reindex",
            # Beside a damaged line they may be all that is left of it, so nothing is removed then.
            _repair(settings, "reindex", "The index was made anew.", axis=None),
        )
    if not found["missing"] and not found["superfluous"]:
        yield green("engine", "The index has everything that is in the journal.")


def _repair(settings: Settings, operation: str, done: str, **fields: object) -> Repair:
    async def repair() -> str:
        async with open_connection(settings, "doctor --fix") as connection:
            await connection.run(operation, **fields)
        return done

    return repair
