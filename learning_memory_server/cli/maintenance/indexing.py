"""`reindex` and `migrate`: the index rebuilt from the journal, or copied to another engine."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import typer

from learning_memory_server.cli.access.connection import open_connection
from learning_memory_server.cli.access.reading import open_settings
from learning_memory_server.cli.terminal import counted, output, show_json, show_notice, show_table
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.index.engines.addresses import places_of, urls_of

if TYPE_CHECKING:
    from learning_memory_server.model.vocabulary import Axis
    from learning_memory_server.server.settings import Settings


async def rebuild(axis: Axis | None, *, as_json: bool) -> None:
    """Rebuild the index of an axis, or all of it, and print how many vectors it has.

    Args:
        axis: The axis; None for everything.
        as_json: Print a `ReindexDocument`.

    Raises:
        AlreadyRunningError: If a process other than a hub uses the index.
        DeadlineExceededError: If the hub hangs.
        EmbeddingUnavailableError, StorageUnavailableError: If the model or the engine does not work.
    """
    began = time.monotonic()
    async with open_connection(open_settings(), "reindex") as connection:
        points = (await connection.run("reindex", axis=axis))["points"]
    seconds = time.monotonic() - began
    if as_json:
        show_json({"axis": axis, "vectors": points, "seconds": round(seconds, 1)})
        return
    what = "The index" if axis is None else f"The index of axis {axis}"
    output().print(f"{what} was rebuilt: {counted(points, 'vector')} in {seconds:.1f} s.")


async def move_index(
    *, to: str | None, source: str | None, leave: str | None, gone: bool, as_json: bool
) -> bool:
    """Copy the index to a Qdrant server, or from one, or leave one. Return whether all of it arrived.

    Args:
        to: The URL of the server to fill.
        source: The URL of the server to fill the embedded engine from.
        leave: The URL of a server from which all of one's own points are removed.
        gone: That server no longer exists: it is not asked.
        as_json: Print a `MigrateDocument`, or a `LeaveDocument`.

    Raises:
        InvalidInputError: If not exactly one URL is given, or it is not an http(s) URL.
        AlreadyRunningError: If a process other than a hub uses the index.
        EmbeddingUnavailableError, StorageUnavailableError: If the model or an engine does not work. What was copied
            stays, and the migration can be run again.
    """
    urls = [url for url in (to, source, leave) if url]
    if len(urls) != 1:
        raise InvalidInputError("Give one of --to, --from and --leave, with the URL of a Qdrant server.")
    if gone and not leave:
        raise InvalidInputError("--gone needs --leave.")
    (url,) = urls
    for parts in map(urlsplit, urls_of(url)):
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InvalidInputError("The URL must look like https://host:6333.")
    began, settings = time.monotonic(), open_settings()
    key = None if gone else _key_for(url, settings)
    async with open_connection(settings, "migrate") as connection:
        if leave:
            removed = (await connection.run("leave", url=url, key=key, gone=gone))["removed"]
            _show_left(removed, time.monotonic() - began, gone=gone, as_json=as_json)
            return True
        reply = await connection.run("migrate", url=url, key=key, to_server=to is not None)
    collections, seconds = reply["collections"], time.monotonic() - began
    document = migrate_document(collections, seconds)
    if as_json:
        show_json(document)
        return bool(document["complete"])
    _show_moved(collections)
    if missing := sum(moved["missing"] for moved in collections.values()):
        show_notice(f"{counted(missing, 'point')} did not arrive; run this again.")
        return False
    points = sum(moved["count"] for moved in collections.values())
    output().print(f"The whole index has arrived: {counted(points, 'point')} in {seconds:.1f} s.")
    _say_how_to_use_it(settings, url, to_server=to is not None)
    return True


def _key_for(url: str, settings: Settings) -> str | None:
    """Return the API key that a server gets: the one that is set, unless that is another server's and nobody agrees."""
    key, used = settings.qdrant_key, settings.qdrant_url
    if key and used and not places_of(url) & places_of(used):
        question = "The API key that is set may be that of the server in use. Send it to this one?"
        if not (sys.stdin.isatty() and typer.confirm(question, err=True)):
            raise InvalidInputError(
                "The API key that is set may be that of the server in use, so it was not sent to another one.",
                hint="Run this in a terminal, which asks; or unset qdrant_url, and set qdrant_api_key to that server's.",
            )
    return key


def migrate_document(collections: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Return a `MigrateDocument`, from the fields of `indexing.moving.Moved` by collection."""
    complete = not any(moved["missing"] for moved in collections.values())
    return {"complete": complete, "collections": collections, "seconds": round(seconds, 1)}


def leave_document(removed: int, seconds: float) -> dict[str, Any]:
    """Return a `LeaveDocument`."""
    return {"removed": removed, "seconds": round(seconds, 1)}


def _show_left(removed: int, seconds: float, *, gone: bool, as_json: bool) -> None:
    if as_json:
        show_json(leave_document(removed, seconds))
    elif gone:
        output().print("The journal no longer names this server; it was not asked.")
    else:
        output().print(f"The server no longer has any of your points: {counted(removed, 'point')} removed.")


def _show_moved(collections: dict[str, Any]) -> None:
    columns = ("count", "there_before", "copied", "embedded", "missing", "others")
    headers = ("points", "already there", "copied", "embedded", "missing", "not ours")
    rows = [[*(moved[column] for column in columns), name] for name, moved in collections.items()]
    show_table([*headers, "collection"], rows, numbers=headers)


def _say_how_to_use_it(settings: Settings, url: str, *, to_server: bool) -> None:
    if to_server and not places_of(url) & places_of(settings.qdrant_url or ""):
        output().print(
            f"To use it: set LEARNING_MEMORY_QDRANT_URL={url} (or qdrant_url in the settings file),"
        )
        output().print("and run `learning-memory-server hub stop`.")
        output().print(f"The embedded index stays in {settings.index_directory} until you remove it.")
    elif not to_server and settings.qdrant_url is not None:
        output().print("To use it: unset LEARNING_MEMORY_QDRANT_URL (and qdrant_url in the settings file),")
        output().print(
            "and run `learning-memory-server hub stop`. Your points stay on the server, also those that you"
        )
        output().print(f"forget later, until you run `learning-memory-server migrate --leave {url}`.")
