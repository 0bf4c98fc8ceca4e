"""`reindex` and `migrate`: rebuild the index, and move its points from or to a Qdrant server."""

import time
from typing import Annotated

import typer

from learning_memory_server.cli import out
from learning_memory_server.cli.access import open_connection
from learning_memory_server.cli.command import Commands, Result, open_settings
from learning_memory_server.cli.models import fetch_model
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.index.engines.server_log import checked_address, places_of, urls_of
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.server.settings import Settings

commands = Commands()


@commands.command(example="full")
async def reindex(
    axis: Annotated[Axis | None, typer.Argument(help="Only this axis; by default everything.")] = None,
) -> Result:
    """Rebuild the index from the journal.

    The old index answers searches until the new one is complete. An
    interrupted rebuild resumes where it stopped. The journal does not change.
    """
    began = time.monotonic()
    async with open_connection(open_settings(), "reindex") as connection:
        points = (await connection.run("reindex", axis=axis))["points"]
    seconds = time.monotonic() - began
    what = "The index" if axis is None else f"The index of axis {axis}"
    out.say(f"{what} was rebuilt: {out.counted(points, 'vector')} in {seconds:.1f} s.")
    return Result({"axis": axis, "vectors": points, "seconds": round(seconds, 1)})


@commands.command(example="--to http://localhost:6333")
async def migrate(
    to: Annotated[
        str | None, typer.Option("--to", metavar="URL", help="From the embedded engine to this Qdrant server.")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--from", metavar="URL", help="From this Qdrant server to the embedded engine.")
    ] = None,
    leave: Annotated[
        str | None, typer.Option("--leave", metavar="URL", help="Remove all of your points from this Qdrant server.")
    ] = None,
    gone: Annotated[
        bool, typer.Option("--gone", help="With --leave: the server no longer exists, and is not asked.")
    ] = False,
) -> Result:
    """Copy the index to a Qdrant server or cluster, or back. The journal stays where it is.

    Vectors are copied, not recomputed. Points already there are skipped, so an
    interrupted migration can be run again. The setting qdrant_api_key holds
    the server's key. The engine in use does not change: the last lines of the
    output say how to change it. With --leave nothing is copied: a server that
    you no longer use forgets your points, of every model.
    """
    urls = [url for url in (to, source, leave) if url]
    if len(urls) != 1:
        raise InvalidInputError("Give one of --to, --from and --leave, with the URL of a Qdrant server.")
    if gone and not leave:
        raise InvalidInputError("--gone needs --leave.")
    (url,) = urls
    for each in urls_of(url):
        checked_address(each, None)
    began, settings = time.monotonic(), open_settings()
    key = None if gone else _key_for(url, settings)
    async with open_connection(settings, "migrate") as connection:
        if leave:
            removed = (await connection.run("leave", url=url, key=key, gone=gone))["removed"]
            is_removed = f"The server no longer has any of your points: {out.counted(removed, 'point')} removed."
            out.say("The journal no longer names this server; it was not asked." if gone else is_removed)
            return Result({"removed": removed, "seconds": round(time.monotonic() - began, 1)})
        reply = await connection.run("migrate", url=url, key=key, to_server=to is not None)
    collections, seconds = reply["collections"], time.monotonic() - began
    missing = sum(moved["missing"] for moved in collections.values())
    points = sum(moved["count"] for moved in collections.values())
    columns = ("count", "there_before", "copied", "embedded", "missing", "others")
    headers = ("points", "already there", "copied", "embedded", "missing", "not ours")
    rows = [[*(moved[column] for column in columns), name] for name, moved in collections.items()]
    out.table([*headers, "collection"], rows, numbers=headers)
    if missing:
        out.remark(f"{out.counted(missing, 'point')} did not arrive; run this again.")
    else:
        out.say(f"The whole index has arrived: {out.counted(points, 'point')} in {seconds:.1f} s.")
        _say_how_to_use_it(settings, url, to_server=to is not None)
    document = {"complete": not missing, "collections": collections, "seconds": round(seconds, 1)}
    return Result(document, succeeded=not missing)


def _key_for(url: str, settings: Settings) -> str | None:
    """Return the API key for a server. A key that may belong to another server needs a person's consent."""
    key, used = settings.qdrant_key, settings.qdrant_url
    if key and used and not places_of(url) & places_of(used):
        question = "The API key that is set may be that of the server in use. Send it to this one?"
        if not out.agrees(question):
            raise InvalidInputError(
                "The API key that is set may be that of the server in use, so it was not sent to another one.",
                hint="Run this in a terminal, which asks; or unset qdrant_url, and set qdrant_api_key to that server's.",
            )
    return key


def _say_how_to_use_it(settings: Settings, url: str, *, to_server: bool) -> None:
    if to_server and not places_of(url) & places_of(settings.qdrant_url or ""):
        out.say(f"To use it: set LEARNING_MEMORY_QDRANT_URL={url} (or qdrant_url in the settings file),")
        out.say("and run `learning-memory-server hub stop`.")
        out.say(f"The embedded index stays in {settings.index_directory} until you remove it.")
    elif not to_server and settings.qdrant_url is not None:
        out.say("To use it: unset LEARNING_MEMORY_QDRANT_URL (and qdrant_url in the settings file),")
        out.say("and run `learning-memory-server hub stop`. Your points stay on the server, also those that you")
        out.say(f"forget later, until you run `learning-memory-server migrate --leave {url}`.")


@commands.command("download-model", example="sentence-transformers/all-MiniLM-L6-v2")
def download_model(
    model: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="An embedding or re-ranking model on huggingface.co, such as `owner/name`, or one of the ONNX files that "
            "it brings: `owner/name/onnx/model_quantized.onnx`.",
        ),
    ],
) -> None:
    """Download a model from huggingface.co, and load it once to check that it works.

    It is `setup --model`.
    """
    fetch_model(model)
