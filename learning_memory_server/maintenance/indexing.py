"""`reindex` and `migrate`: the index rebuilt from the journal, or copied to another engine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from learning_memory_server.access.connection import open_connection
from learning_memory_server.access.reading import open_settings
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.terminal import counted, output, show_notice, show_table

if TYPE_CHECKING:
    from learning_memory_server.domain.vocabulary import Axis
    from learning_memory_server.settings import Settings


async def rebuild(axis: Axis | None) -> None:
    """Rebuild the index of an axis, or all of it, and print how many vectors it has.

    Raises:
        AlreadyRunningError: If a process other than a hub uses the index.
        DeadlineExceededError: If the hub hangs.
        EmbeddingUnavailableError, StorageUnavailableError: If the model or the engine does not work.
    """
    began = time.monotonic()
    async with open_connection(open_settings(), "reindex") as connection:
        points = (await connection.run("reindex", axis=axis))["points"]
    seconds = time.monotonic() - began
    what = "The index" if axis is None else f"The index of axis {axis}"
    output().print(f"{what} was rebuilt: {counted(points, 'vector')} in {seconds:.1f} s.")


async def move_index(*, to: str | None, source: str | None) -> bool:
    """Copy the index to a Qdrant server, or from one. Return whether all of it arrived.

    Args:
        to: The URL of the server to fill.
        source: The URL of the server to fill the embedded engine from.

    Raises:
        InvalidInputError: If not exactly one URL is given, or it is not an http(s) URL.
        AlreadyRunningError: If a process other than a hub uses the index.
        EmbeddingUnavailableError, StorageUnavailableError: If the model or an engine does not work. What was copied
            stays, and the migration can be run again.
    """
    url = to or source
    if url is None or (to and source):
        raise InvalidInputError("Give either --to or --from, with the URL of a Qdrant server.")
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidInputError("The URL must look like https://host:6333.")
    began, settings = time.monotonic(), open_settings()
    key = settings.qdrant_api_key
    async with open_connection(settings, "migrate") as connection:
        reply = await connection.run(
            "migrate", url=url, key=key.get_secret_value() if key else None, to_server=to is not None
        )
    collections = reply["collections"]
    columns = ("count", "there_before", "copied", "embedded", "missing", "others")
    headers = ("points", "already there", "copied", "embedded", "missing", "not ours")
    rows = [[*(moved[column] for column in columns), name] for name, moved in collections.items()]
    show_table([*headers, "collection"], rows, numbers=headers)
    missing = sum(moved["missing"] for moved in collections.values())
    points = sum(moved["count"] for moved in collections.values())
    if missing:
        show_notice(f"{counted(missing, 'point')} did not arrive; run this again.")
        return False
    output().print(
        f"The whole index has arrived: {counted(points, 'point')} in {time.monotonic() - began:.1f} s."
    )
    _say_how_to_use_it(settings, url, to_server=to is not None)
    return True


def _say_how_to_use_it(settings: Settings, url: str, *, to_server: bool) -> None:
    if to_server and settings.qdrant_url != url:
        output().print(
            f"To use it: set LEARNING_MEMORY_QDRANT_URL={url} (or qdrant_url in the settings file),"
        )
        output().print("and run `learning-memory-server hub stop`.")
        output().print(f"The embedded index stays in {settings.index_directory} until you remove it.")
    elif not to_server and settings.qdrant_url is not None:
        output().print("To use it: unset LEARNING_MEMORY_QDRANT_URL (and qdrant_url in the settings file),")
        output().print("and run `learning-memory-server hub stop`. The server keeps its collections.")
