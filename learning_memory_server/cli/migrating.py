"""`migrate`: the index to another engine, counted at the end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from learning_memory_server.cli.access import open_settings
from learning_memory_server.cli.connection import open_connection
from learning_memory_server.cli.terminal import counted, output, show_notice, show_table
from learning_memory_server.errors import InvalidInputError

if TYPE_CHECKING:
    from learning_memory_server.server.config import Settings


async def move_index(*, to: str | None, source: str | None) -> bool:
    """Move the index to a Qdrant server, or from one, and tell whether all of it is there.

    Args:
        to: The server to fill.
        source: The server to fill the embedded engine from.

    Raises:
        InvalidInputError: If not exactly one is given, or it is no URL of a server.
        AlreadyRunningError: If another process than a hub uses the index.
        EmbeddingUnavailableError, StorageUnavailableError: If there is no model, or an engine does not work; what
            was moved stays, and the migration can be run again.
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
    headers = ("points", "there before", "copied", "embedded", "missing", "not ours")
    rows = [[*(moved[column] for column in columns), name] for name, moved in collections.items()]
    show_table([*headers, "collection"], rows, numbers=headers)
    missing = sum(moved["missing"] for moved in collections.values())
    points = sum(moved["count"] for moved in collections.values())
    if missing:
        show_notice(f"{counted(missing, 'point')} did not arrive; run this again.")
        return False
    output().print(
        f"All of the index is there: {counted(points, 'point')}, {time.monotonic() - began:.1f} s."
    )
    _say_what_is_next(settings, url, to_server=to is not None)
    return True


def _say_what_is_next(settings: Settings, url: str, *, to_server: bool) -> None:
    if to_server and settings.qdrant_url != url:
        output().print(
            f"To use it: set LEARNING_MEMORY_QDRANT_URL={url} (or qdrant_url in the settings file),"
        )
        output().print("and run `learning-memory-server hub stop`.")
        output().print(f"The embedded index stays in {settings.index_directory} until you remove it.")
    elif not to_server and settings.qdrant_url is not None:
        output().print("To use it: unset LEARNING_MEMORY_QDRANT_URL (and qdrant_url in the settings file),")
        output().print("and run `learning-memory-server hub stop`. The server keeps its collections.")
