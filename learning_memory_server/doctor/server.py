"""Checks of a Qdrant server: what it is, what the key may do there, and whose points are ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from learning_memory_server.composition.backends import open_server
from learning_memory_server.doctor.finding import green, red, yellow
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.storage.owner import open_owner
from learning_memory_server.storage.qdrant_examining import TRIED, examine

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from learning_memory_server.doctor.finding import Finding
    from learning_memory_server.settings import Settings
    from learning_memory_server.storage.qdrant_examining import Examined

_TOPIC: Final = "server"


async def check_server(settings: Settings) -> AsyncIterator[Finding]:
    """Ask the Qdrant server of the settings, without changing anything there.

    Args:
        settings: Which server. Nothing is asked of it before a process that has locked the storage folder has made
            its owner.
    """
    if settings.qdrant_url is None or not settings.owner_file.exists():
        return
    key = settings.qdrant_api_key.get_secret_value() if settings.qdrant_api_key else None
    try:
        if not open_owner(settings.owner_file).is_settled:
            yield yellow(
                _TOPIC,
                "The storage folder was moved or copied since the Qdrant server was used, so nothing is removed there. "
                "If it was moved, run: learning-memory-server owner --keep. If it is a copy, run: "
                "learning-memory-server owner --new",
            )
        store = open_server(settings, settings.qdrant_url, key)
        try:
            examined = await examine(store.requests, store.catalog)
        finally:
            await store.close()
    except LearningMemoryError as error:
        yield red(_TOPIC, error.sentence)
        return
    for finding in _findings(examined, settings.qdrant_url.split(",")[0].strip().rstrip("/")):
        yield finding


def _findings(examined: Examined, url: str) -> Iterator[Finding]:
    tried = f"this was tried with {' and '.join(TRIED)}"
    yield green(_TOPIC, f"Qdrant {examined.version}{'' if examined.is_tried else f'; {tried}'}.")
    for error in examined.unreachable.values():
        yield yellow(_TOPIC, error.sentence)
    if not examined.is_one_cluster:
        yield red(
            _TOPIC, "The addresses in qdrant_url are not nodes of one cluster. Keep those of one cluster."
        )
    if examined.no_writing:
        yield red(_TOPIC, examined.no_writing.sentence)
    if examined.no_creating:
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
