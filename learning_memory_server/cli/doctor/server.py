"""Checks of a Qdrant server: what it is, what the key may do there, and whose points are ours."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from learning_memory_server.cli.doctor.finding import green, red, yellow
from learning_memory_server.errors import (
    EmbeddingUnavailableError,
    ForbiddenCollectionError,
    LearningMemoryError,
)
from learning_memory_server.index.engines.addresses import urls_of
from learning_memory_server.index.engines.owner import find_owner, open_owner
from learning_memory_server.index.engines.server_log import ServerLog
from learning_memory_server.index.recipe import HOW_THEY_ARE_MADE
from learning_memory_server.journal.journal import Journal
from learning_memory_server.server.composition.backends import open_server

if TYPE_CHECKING:
    from learning_memory_server.cli.doctor.finding import Finding
    from learning_memory_server.index.engines.base import CollectionSpec
    from learning_memory_server.index.engines.qdrant_examining import Examined
    from learning_memory_server.index.engines.server_log import KnownServer
    from learning_memory_server.server.settings import Settings

_TOPIC: Final = "server"


async def check_server(
    settings: Settings,
    specs: Callable[[], Awaitable[Sequence[CollectionSpec]]],
    *,
    is_forbidden: bool = False,
) -> AsyncIterator[Finding]:
    """Ask the Qdrant server of the settings, without changing anything there.

    Args:
        settings: Which server. Nothing is asked of it before a process that has locked the storage folder has made
            its owner.
        specs: Returns what the collections should be; waits for the model.
        is_forbidden: Whether it has been said already which collections are missing, and may not be created.
    """
    from learning_memory_server.index.engines.qdrant_examining import examine  # noqa: PLC0415 - only with a server

    if settings.qdrant_url is None or not settings.owner_file.exists():
        return
    try:
        if not open_owner(settings.owner_file).is_settled:
            yield yellow(
                _TOPIC,
                "The storage folder was moved or copied since the Qdrant server was used, so nothing is removed there. "
                "If it is a copy, what the other folder forgets comes back from here until this is answered. "
                "If it was moved, run: learning-memory-server owner --keep. If it is a copy, run: "
                "learning-memory-server owner --new",
            )
        store = open_server(settings, settings.qdrant_url, settings.qdrant_key)
        try:
            examined = await examine(store.requests, store.catalog, await _known(specs))
        finally:
            await store.close()
    except LearningMemoryError as error:
        if not (is_forbidden and isinstance(error, ForbiddenCollectionError)):
            yield red(_TOPIC, error.sentence)
        return
    if is_forbidden:
        examined = replace(examined, no_creating=None)
    for finding in _findings(examined, urls_of(settings.qdrant_url)[0].rstrip("/")):
        yield finding


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
            _TOPIC,
            f"{settings.owner_file} is missing: it says which points are yours on {_named(known)}. Restore it from a "
            "copy of the storage folder. Without it, the index is built again for a new owner, and the earlier points "
            "stay there.",
        )
        return
    for each in elsewhere if owner else ():
        url = ",".join(each.urls)
        yield yellow(
            _TOPIC,
            f"Your points are still on {_named([each])}, which is not in use: what is forgotten stays there, without "
            f"its text. To remove them, run: learning-memory-server migrate --leave {url} (with --gone if that server "
            "no longer exists).",
        )
    if others := [each for each in known if owner and each.owner != owner]:
        yield green(
            _TOPIC,
            f"The journal names points of another owner on {_named(others)}: those of another folder with this "
            f"journal, or of one that is gone ({', '.join(sorted({each.owner for each in others}))}).",
        )


async def _known(specs: Callable[[], Awaitable[Sequence[CollectionSpec]]]) -> Sequence[CollectionSpec]:
    try:
        return await specs()
    except EmbeddingUnavailableError:
        # Said of the model already.
        return []


def _named(servers: Sequence[KnownServer]) -> str:
    return "the Qdrant server " + " and ".join(sorted({", ".join(each.urls) for each in servers}))


def _findings(examined: Examined, url: str) -> Iterator[Finding]:
    from learning_memory_server.index.engines.qdrant_requests import product  # noqa: PLC0415 - only with a server

    yield green(_TOPIC, f"{product(examined.version)}.")
    for error in examined.unreachable.values():
        yield yellow(_TOPIC, error.sentence)
    if not examined.is_one_cluster:
        yield red(
            _TOPIC, "The addresses in qdrant_url are not nodes of one cluster. Keep those of one cluster."
        )
    if examined.no_writing:
        yield red(_TOPIC, examined.no_writing.sentence)
    if examined.no_creating and examined.missing:
        names = ", ".join(f"`{name}`" for name in examined.missing)
        yield red(
            _TOPIC,
            f"{examined.no_creating.message} These are missing: {names}. {HOW_THEY_ARE_MADE}",
        )
    elif examined.no_creating:
        yield yellow(
            _TOPIC,
            f"{examined.no_creating.sentence} Another model or version of this program needs new collections.",
        )
    if examined.former:
        names = ", ".join(examined.former)
        yield yellow(
            _TOPIC,
            f"Earlier versions made these collections, with texts in them: {names}. Nothing uses them. Once nobody runs "
            f"an earlier version any more, whoever runs the server can remove each: curl -X DELETE "
            f"{url}/collections/NAME",
        )
