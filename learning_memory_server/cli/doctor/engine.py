"""Checks of the vector engine: whether it opens, and whether the index has what the journal has."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from learning_memory_server.cli.access.connection import open_connection
from learning_memory_server.cli.access.describing import describe_engine, describe_refusal
from learning_memory_server.cli.doctor.finding import green, red, yellow
from learning_memory_server.cli.doctor.server import check_server
from learning_memory_server.cli.terminal import counted
from learning_memory_server.errors import AlreadyRunningError, ForbiddenCollectionError, LearningMemoryError
from learning_memory_server.index.document import Collection

if TYPE_CHECKING:
    from learning_memory_server.cli.doctor.finding import Finding, Repair
    from learning_memory_server.embedding.base import Embedder
    from learning_memory_server.index.engines.base import CollectionSpec
    from learning_memory_server.server.settings import Settings


async def check_engine(settings: Settings, load: Callable[[], Embedder]) -> AsyncIterator[Finding]:
    """Compare the index with the journal, in the hub if one runs.

    Without a hub this opens the engine like every start: an unfinished last line of the journal is set aside, and a
    collection that cannot be opened is emptied.

    Args:
        settings: Which engine.
        load: Returns the model; loads it at the first call.
    """
    if not settings.storage_path.exists():
        yield green("engine", "Nothing is stored yet; the first start creates it.")
        return
    is_forbidden = False
    try:
        async with open_connection(settings, "doctor", load=load) as connection:
            found = await connection.run("compare")
    except AlreadyRunningError as error:
        yield green(
            "engine",
            f"Not opened: {error.message} To check the engine, run this again when that process has ended.",
        )
    except LearningMemoryError as error:
        is_forbidden = isinstance(error, ForbiddenCollectionError)
        yield red("engine", error.sentence)
    else:
        yield green("engine", f"{describe_engine(settings)}: {counted(found['points'], 'point')}.")
        for finding in _compared(found, settings):
            yield finding
    # Last, because opening the engine makes the owner.
    async for finding in check_server(settings, partial(_specs, load), is_forbidden=is_forbidden):
        yield finding


async def _specs(load: Callable[[], Embedder]) -> list[CollectionSpec]:
    """Load the model and return what each collection should be."""
    from learning_memory_server.embedding.service import EmbeddingService  # noqa: PLC0415
    from learning_memory_server.index.recipe import Blueprints  # noqa: PLC0415
    from learning_memory_server.server.composition.services import ALL_SHAPES  # noqa: PLC0415 - a tenth of a second

    embeddings = EmbeddingService(load)
    try:
        blueprints = Blueprints(embeddings, ALL_SHAPES)
        return [await blueprints.spec(each) for each in Collection]
    finally:
        embeddings.close()


def _compared(found: dict[str, Any], settings: Settings) -> Iterator[Finding]:
    # A hub of another version may not say it.
    if failure := found.get("model"):
        yield red("engine", f"Searches are lexical: {failure}")
    if found["missing"]:
        are = "is" if found["missing"] == 1 else "are"
        # Neither may a hub of another version say this.
        when = describe_refusal(found) or "the next server start, search or import adds what is missing."
        yield yellow(
            "engine",
            f"{counted(found['missing'], 'point')} from the journal {are} not in the index yet; {when}",
            _repair(settings, "complete", "The index was completed."),
        )
    if found["superfluous"]:
        yield yellow(
            "engine",
            f"The index has {counted(found['superfluous'], 'point')} that the journal does not have. If no line of "
            "the journal is damaged, run: learning-memory-server reindex",
            # If a line is damaged, the engine is not checked: its points may be all that is left of it.
            _repair(settings, "reindex", "The index was rebuilt.", axis=None),
        )
    if not found["missing"] and not found["superfluous"]:
        yield green("engine", "The index has everything that is in the journal.")


def _repair(settings: Settings, operation: str, done: str, **fields: object) -> Repair:
    async def repair() -> str:
        async with open_connection(settings, "doctor --fix") as connection:
            await connection.run(operation, **fields)
        return done

    return repair
