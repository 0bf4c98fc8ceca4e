"""Checks of the engine: whether it opens and has what the journal has; and of a Qdrant server and our points there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from learning_memory_server.cli import out
from learning_memory_server.cli.access.connection import open_connection
from learning_memory_server.cli.access.reading import describe_engine, describe_refusal
from learning_memory_server.cli.doctor import Finding, Repair, about, green, red, yellow
from learning_memory_server.embedding.base import Embedder
from learning_memory_server.errors import (
    AlreadyRunningError,
    EmbeddingUnavailableError,
    ForbiddenCollectionError,
    LearningMemoryError,
)
from learning_memory_server.index.document import Collection
from learning_memory_server.index.engines.addresses import urls_of
from learning_memory_server.index.engines.base import CollectionSpec
from learning_memory_server.index.engines.owner import find_owner, open_owner
from learning_memory_server.index.engines.server_log import KnownServer, ServerLog
from learning_memory_server.index.recipe import HOW_THEY_ARE_MADE
from learning_memory_server.journal.journal import Journal
from learning_memory_server.server.composition.backends import open_server
from learning_memory_server.server.settings import Settings

if TYPE_CHECKING:
    from learning_memory_server.index.engines.qdrant_catalog import Examined


def check_engine(settings: Settings, load: Callable[[], Embedder]) -> Iterator[Finding]:
    """Compare the index with the journal, in the hub if one runs.

    Without a hub this opens the engine like every start: an unfinished last line of the journal is set aside, and a
    collection that cannot be opened is emptied.
    """
    if not settings.storage_path.exists():
        yield green("Nothing is stored yet; the first start creates it.")
        return
    is_forbidden = False
    try:
        found = asyncio.run(_operate(settings, "doctor", load, "compare"))
    except AlreadyRunningError as error:
        yield green(f"Not opened: {error.message} To check the engine, run this again when that process has ended.")
    except LearningMemoryError as error:
        is_forbidden = isinstance(error, ForbiddenCollectionError)
        yield red(error.sentence)
    else:
        yield green(f"{describe_engine(settings)}: {out.counted(found['points'], 'point')}.")
        yield from _compared(found, settings)
    # Last, because opening the engine makes the owner.
    yield from about("server", check_server(settings, partial(_specs, load), is_forbidden=is_forbidden))


async def _operate(
    settings: Settings, command: str, load: Callable[[], Embedder] | None, operation: str, /, **fields: object
) -> dict[str, Any]:
    async with open_connection(settings, command, load=load) as connection:
        return await connection.run(operation, **fields)


async def _specs(load: Callable[[], Embedder]) -> list[CollectionSpec]:
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
        yield red(f"Searches are lexical: {failure}")
    if found["missing"]:
        are = "is" if found["missing"] == 1 else "are"
        # Neither may a hub of another version say this.
        when = describe_refusal(found) or "the next server start, search or import adds what is missing."
        yield yellow(
            f"{out.counted(found['missing'], 'point')} from the journal {are} not in the index yet; {when}",
            _repair(settings, "complete", "The index was completed."),
        )
    if found["superfluous"]:
        yield yellow(
            f"The index has {out.counted(found['superfluous'], 'point')} that the journal does not have. If no line of "
            "the journal is damaged, run: learning-memory-server reindex",
            # If a line is damaged, the engine is not checked: its points may be all that is left of it.
            _repair(settings, "reindex", "The index was rebuilt.", axis=None),
        )
    if not found["missing"] and not found["superfluous"]:
        yield green("The index has everything that is in the journal.")


def _repair(settings: Settings, operation: str, done: str, **fields: object) -> Repair:
    def repair() -> str:
        asyncio.run(_operate(settings, "doctor --fix", None, operation, **fields))
        return done

    return repair


def check_server(
    settings: Settings, specs: Callable[[], Awaitable[Sequence[CollectionSpec]]], *, is_forbidden: bool = False
) -> Iterator[Finding]:
    """Ask the Qdrant server of the settings, without changing anything there.

    Nothing is asked before a process that has locked the storage folder has made its owner. With `is_forbidden`, the
    collections that are missing, and may not be created, were named already.
    """
    if settings.qdrant_url is None or not settings.owner_file.exists():
        return
    try:
        if not open_owner(settings.owner_file).is_settled:
            yield yellow(
                "The storage folder was moved or copied since the Qdrant server was used, so nothing is removed there. "
                "If it is a copy, what the other folder forgets comes back from here until this is answered. "
                "If it was moved, run: learning-memory-server owner --keep. If it is a copy, run: "
                "learning-memory-server owner --new"
            )
        examined = asyncio.run(_examined(settings, settings.qdrant_url, specs))
    except LearningMemoryError as error:
        if not (is_forbidden and isinstance(error, ForbiddenCollectionError)):
            yield red(error.sentence)
        return
    if is_forbidden:
        examined = replace(examined, no_creating=None)
    yield from _findings(examined, urls_of(settings.qdrant_url)[0].rstrip("/"))


def check_elsewhere(settings: Settings) -> Iterator[Finding]:
    """Say which servers still have points, and which had an owner that this folder does not know. Asks no server."""
    servers = ServerLog(Journal(settings.journal_directory).servers)
    owner = find_owner(settings.owner_file)
    try:
        known = servers.known()
        elsewhere = servers.elsewhere(settings.qdrant_url, owner)
    except LearningMemoryError:
        # Said of the journal already.
        return
    if known and not settings.owner_file.exists():
        yield yellow(
            f"{settings.owner_file} is missing: it says which points are yours on {_named(known)}. Restore it from a "
            "copy of the storage folder. Without it, the index is built again for a new owner, and the earlier points "
            "stay there."
        )
        return
    for each in elsewhere if owner else ():
        url = ",".join(each.urls)
        yield yellow(
            f"Your points are still on {_named([each])}, which is not in use: what is forgotten stays there, without "
            f"its text. To remove them, run: learning-memory-server migrate --leave {url} (with --gone if that server "
            "no longer exists)."
        )
    if others := [each for each in known if owner and each.owner != owner]:
        yield green(
            f"The journal names points of another owner on {_named(others)}: those of another folder with this "
            f"journal, or of one that is gone ({', '.join(sorted({each.owner for each in others}))})."
        )


async def _examined(settings: Settings, url: str, specs: Callable[[], Awaitable[Sequence[CollectionSpec]]]) -> Examined:
    from learning_memory_server.index.engines.qdrant_catalog import examine  # noqa: PLC0415 - only with a server

    store = open_server(settings, url, settings.qdrant_key)
    try:
        known = await specs()
    except EmbeddingUnavailableError:
        # Said of the model already.
        known = []
    try:
        return await examine(store.requests, store.catalog, known)
    finally:
        await store.close()


def _named(servers: Sequence[KnownServer]) -> str:
    return "the Qdrant server " + " and ".join(sorted({", ".join(each.urls) for each in servers}))


def _findings(examined: Examined, url: str) -> Iterator[Finding]:
    from learning_memory_server.index.engines.qdrant_requests import product  # noqa: PLC0415 - only with a server

    yield green(f"{product(examined.version)}.")
    for error in examined.unreachable.values():
        yield yellow(error.sentence)
    if not examined.is_one_cluster:
        yield red("The addresses in qdrant_url are not nodes of one cluster. Keep those of one cluster.")
    if examined.no_writing:
        yield red(examined.no_writing.sentence)
    if examined.no_creating and examined.missing:
        names = ", ".join(f"`{name}`" for name in examined.missing)
        yield red(f"{examined.no_creating.message} These are missing: {names}. {HOW_THEY_ARE_MADE}")
    elif examined.no_creating:
        yield yellow(f"{examined.no_creating.sentence} Another model or version of this program needs new collections.")
    if examined.former:
        names = ", ".join(examined.former)
        yield yellow(
            f"Earlier versions made these collections, with texts in them: {names}. Nothing uses them. Once nobody runs "
            f"an earlier version any more, whoever runs the server can remove each: curl -X DELETE "
            f"{url}/collections/NAME"
        )
