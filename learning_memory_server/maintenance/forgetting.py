"""`forget`: shows what will be forgotten, asks, and forgets it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from learning_memory_server.access.connection import open_connection
from learning_memory_server.access.reading import open_settings
from learning_memory_server.archive.backups import list_backups, remove_unfinished_backups
from learning_memory_server.archive.purging import count_forgotten, purge_archive
from learning_memory_server.errors import InvalidInputError, LearningMemoryError
from learning_memory_server.journal.journal import Journal
from learning_memory_server.options import chosen_project
from learning_memory_server.terminal import (
    SHOWN,
    counted,
    one_line,
    output,
    show_notice,
    show_rest,
    show_table,
    working,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from learning_memory_server.settings import Settings


async def forget(  # noqa: PLR0913 - one for each option
    ids: Sequence[str], project: str | None, *, purge: bool, backups: bool, preview: bool, yes: bool
) -> None:
    """Show entries, values and memories, ask, and forget them.

    Args:
        ids: Their ids.
        project: The value of `--project`: everything in a project, instead of ids.
        purge: Rewrite the journal's files, leaving out everything ever forgotten.
        backups: Rewrite the backups in the storage folder as well.
        preview: Show what would be forgotten, and change nothing.
        yes: Do not ask.

    Raises:
        InvalidInputError: If there are both ids and a project, or nothing at all, or backups without a purge.
        NotFoundError: If an id is unknown.
        AlreadyRunningError: If a process other than a hub uses the journal.
    """
    settings = open_settings()
    if backups and not purge:
        raise InvalidInputError(
            "--backups needs --purge: the journal would still have what the backups lose."
        )
    fields: dict[str, Any] = {
        "ids": list(ids),
        "project": chosen_project(project, settings),
        "purge": purge,
    }
    async with open_connection(settings, "forget") as connection:
        _show(await connection.run("forget", **fields, preview=True))
        if preview:
            return
        if not yes and not typer.confirm(_question(purge=purge, backups=backups), err=True):
            raise typer.Exit(1)
        done = await connection.run("forget", **fields, preview=False)
    _conclude(done)
    if purge:
        _look_at_backups(settings, rewrite=backups)
    elif done["found"]:
        show_notice(
            "The text stays in the journal's files until `forget --purge`, and in earlier backups until that is run "
            "with --backups."
        )


def _question(*, purge: bool, backups: bool) -> str:
    if not purge:
        return "Forget this permanently?"
    files = "the journal's files and the backups" if backups else "the journal's files"
    return f"Forget this permanently, and rewrite {files}?"


def _look_at_backups(settings: Settings, *, rewrite: bool) -> None:
    """Say which backups still hold what is forgotten, or rewrite them."""
    folder = settings.backups_directory
    forgotten = Journal(settings.journal_directory).forgotten()
    found: list[tuple[Path, int]] = []
    unreadable = []
    remove_unfinished_backups(folder)
    backups = list_backups(folder)
    with working("Looking into the backups") as report:
        for number, path in enumerate(backups):
            report("Looking into the backups", number, len(backups))
            try:
                count = (purge_archive if rewrite else count_forgotten)(path, forgotten)
            except (LearningMemoryError, OSError):
                unreadable.append(path)
            else:
                found += [(path, count)] if count else []
    console = output()
    for path, count in found:
        what = "Removed from" if rewrite else "Still in"
        console.print(f"{what} the backup {path.name}: {counted(count, 'line')}.")
    if found and not rewrite:
        console.print(
            "To remove it from the backups as well, run: learning-memory-server forget --purge --backups"
        )
    for path in unreadable:
        console.print(
            Text(f"{path} cannot be read and may still hold it; remove the file yourself.", "yellow")
        )
    if not (found or unreadable):
        console.print(f"No backup in {folder} has anything that is forgotten.")
    console.print("Exports, and backups in other folders, were not looked at.")


def _show(found: dict[str, Any]) -> None:
    rows = [[each["kind"], each["id"], each["text"]] for each in found["found"]]
    rows += [
        ["verdict", each["ghap_id"], f"{each['stance']} {each['value_id']}"] for each in found["verdicts"]
    ]
    if rows:
        show_table(["kind", "id", "text"], rows[:SHOWN])
    show_rest(len(rows))
    if not rows:
        output().print("Nothing to forget.")
    if found["citing"]:
        names = one_line(", ".join(found["citing"]))
        show_notice(f"These values cite it as evidence, and stay unless you name them too: {names}.")


def _conclude(done: dict[str, Any]) -> None:
    verdicts = f" and {counted(len(done['verdicts']), 'verdict')}" if done["verdicts"] else ""
    output().print(f"Forgotten: {counted(len(done['found']), 'item')}{verdicts}.")
    if not done["indexed"]:
        show_notice(
            "The index cannot be changed now. Searches leave out what is forgotten; its points are removed later."
        )
    if "removed" in done:
        output().print(f"Removed from the journal's files: {counted(done['removed'], 'line')}.")
        output().print("To remove it from the index's files as well, run: learning-memory-server reindex")
    for path in done.get("doubtful", ()):
        output().print(
            Text(f"{path} has unreadable bytes that may still contain it; check it yourself.", "yellow")
        )
