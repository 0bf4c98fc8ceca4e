"""`forget`: what goes, shown before it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from learning_memory_server.cli.access import chosen_project, open_settings
from learning_memory_server.cli.connection import open_connection
from learning_memory_server.cli.terminal import (
    SHOWN,
    counted,
    one_line,
    output,
    show_notice,
    show_rest,
    show_table,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


async def forget(ids: Sequence[str], project: str | None, *, purge: bool, preview: bool, yes: bool) -> None:
    """Forget entries, values and memories, after a look at them.

    Args:
        ids: Their ids.
        project: A project, in the place of ids.
        purge: Rewrite the journal's files without what is forgotten.
        preview: Show what would go, and change nothing.
        yes: Do not ask.

    Raises:
        NotFoundError: If an id names nothing.
        AlreadyRunningError: If another process than a hub holds the journal.
    """
    settings = open_settings()
    fields: dict[str, Any] = {
        "ids": list(ids),
        "project": chosen_project(project, settings),
        "purge": purge,
    }
    async with open_connection(settings, "forget") as connection:
        _show(await connection.run("forget", **fields, preview=True))
        if preview:
            return
        if not yes and not typer.confirm(_question(purge=purge), err=True):
            raise typer.Exit(1)
        _conclude(await connection.run("forget", **fields, preview=False))


def _question(*, purge: bool) -> str:
    return "Forget this for ever, and rewrite the journal's files?" if purge else "Forget this for ever?"


def _show(found: dict[str, Any]) -> None:
    rows = [[each["kind"], each["id"], each["text"]] for each in found["found"]]
    if rows:
        show_table(["kind", "id", "text"], rows[:SHOWN])
    show_rest(len(rows))
    if not rows:
        output().print("Nothing that is not forgotten already.")
    if found["citing"]:
        names = one_line(", ".join(found["citing"]))
        show_notice(f"Values whose evidence this is in, and which stay unless they are named, too: {names}.")


def _conclude(done: dict[str, Any]) -> None:
    output().print(f"Forgotten: {counted(len(done['found']), 'item')}.")
    if not done["indexed"]:
        show_notice(
            "The index cannot be changed now; searches leave out what is forgotten, and it is removed later."
        )
    if "removed" in done:
        output().print(f"Taken out of the journal's files: {counted(done['removed'], 'line')}.")
        output().print("To take it out of the index's files as well: learning-memory-server reindex")
    for path in done.get("doubtful", ()):
        output().print(
            Text(f"{path} has bytes that cannot be read and may hold it; look at it yourself.", "yellow")
        )
