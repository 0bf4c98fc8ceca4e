"""The commands that keep and move what there is: archives, backups, and the index to another engine."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

keeping = typer.Typer()


@keeping.command()
def export(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", dir_okay=False, help="The archive, ending with .tar.gz or .tar.")
    ],
    project: Annotated[
        str | None,
        typer.Option("--project", metavar="NAME", help="Only this project; `current` is this folder's."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write everything that is kept to one file: entries, open ones as well, values, memories, and clusters' numbers.

    What is forgotten is not in it. The index is not, either: it is made from the journal wherever it is.
    Sessions may go on meanwhile.
    """
    from learning_memory_server.cli.archiving import export as write  # noqa: PLC0415

    write(path, project, force=force)


@keeping.command()
def backup(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[FOLDER]", file_okay=False, help="By default `backups` in storage_path."),
    ] = None,
    keep: Annotated[int, typer.Option("--keep", min=1, help="How many backups to keep.")] = 10,
) -> None:
    """Write everything that is kept to a dated file in a folder, and remove the oldest of those there.

    What is forgotten later stays in the backups that have it until they are removed. An empty journal is not
    written, and removes none.
    """
    from learning_memory_server.cli.archiving import backup as write  # noqa: PLC0415

    write(folder, keep)


@keeping.command()
def restore(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", exists=True, dir_okay=False, readable=True, help="A backup."),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Take in a backup, after showing what that will do where something is kept already.

    It adds what is missing. What is here stays, and what was forgotten here stays forgotten.
    """
    from learning_memory_server.cli.restoring import restore as take_in  # noqa: PLC0415

    if not asyncio.run(take_in(path, yes=yes)):
        raise typer.Exit(1)


@keeping.command()
def migrate(
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="URL", help="From the embedded engine to this Qdrant server."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="URL", help="From this Qdrant server to the embedded engine."),
    ] = None,
) -> None:
    """Move the index to a Qdrant server or cluster, or back. The journal stays where it is.

    Vectors are copied, so the model has little to do. What is there already is passed over, so that it can be
    interrupted and run again. The server's key is the setting qdrant_api_key. Which engine is used is not changed
    by this: it says at the end how to do that.
    """
    from learning_memory_server.cli.migrating import move_index  # noqa: PLC0415

    if not asyncio.run(move_index(to=to, source=source)):
        raise typer.Exit(1)
