"""`forget`: shows what will be forgotten, asks, and forgets it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from learning_memory_server.cli.access.connection import open_connection
from learning_memory_server.cli.access.reading import open_settings
from learning_memory_server.cli.command import Commands, Result, chosen_project
from learning_memory_server.cli.maintenance.exporting import rewrite_backups
from learning_memory_server.cli.terminal import (
    SHOWN,
    counted,
    each_file,
    is_for_people,
    say,
    show_remark,
    show_rest,
    show_table,
)
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.archive.backups import list_backups, remove_unfinished_backups
from learning_memory_server.journal.archive.rewriting import count_forgotten, purge_archive
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.lines import one_line
from learning_memory_server.server.settings import Settings


@dataclass(slots=True)
class _Backups:
    """The backups with something that is forgotten: how many lines each has, and whether they were rewritten.

    The rest of those that were removed is in a fresh one. The unreadable ones could not be looked at, or written.
    """

    found: dict[Path, int]
    unreadable: list[Path]
    is_rewritten: bool = False
    removed: list[Path] = field(default_factory=list)


commands = Commands()


@commands.command(json_help="Print JSON. Nothing is forgotten without --yes.")
async def forget(  # noqa: PLR0913 - one for each option
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Ids of entries, values, memories and errors.")
    ] = None,
    project: Annotated[
        str | None,
        typer.Option("--project", metavar="NAME", help="Everything of a project; `current` is this folder's."),
    ] = None,
    purge: Annotated[
        bool, typer.Option("--purge", help="Rewrite the journal's files, leaving out everything ever forgotten.")
    ] = False,
    backups: Annotated[
        bool, typer.Option("--backups", help="With --purge: also rewrite the backups in storage_path.")
    ] = False,
    preview: Annotated[
        bool, typer.Option("--dry-run", "--preview", help="Show what would be forgotten, and change nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> Result:
    """Forget entries, values, memories and errors for good: nothing finds them any more, and no import restores them.

    Without --purge, their texts stay in the journal's files, marked as
    forgotten. Earlier backups have them until --purge --backups; exports, and
    backups in other folders, until you remove those.
    """
    settings = open_settings()
    if backups and not purge:
        raise InvalidInputError("--backups needs --purge: the journal would still have what the backups lose.")
    fields: dict[str, Any] = {"ids": ids or [], "project": chosen_project(project, settings), "purge": purge}
    async with open_connection(settings, "forget") as connection:
        found = await connection.run("forget", **fields, preview=True)
        _show(found)
        is_wanted = not preview and (yes or (is_for_people() and _confirmed(purge=purge, backups=backups)))
        done = await connection.run("forget", **fields, preview=False) if is_wanted else None
    looked = _look_at_backups(settings, rewrite=backups) if done and purge else None
    succeeded = preview or (is_wanted and not (backups and looked and looked.found and not looked.is_rewritten))
    if done:
        _conclude(done, looked, settings)
    return Result(_document(found, done, looked), succeeded)


def _confirmed(*, purge: bool, backups: bool) -> bool:
    if not purge:
        return typer.confirm("Forget this permanently?", err=True)
    files = "the journal's files and the backups" if backups else "the journal's files"
    return typer.confirm(f"Forget this permanently, and rewrite {files}?", err=True)


def _look_at_backups(settings: Settings, *, rewrite: bool) -> _Backups:
    """Find the backups that still hold what is forgotten, or rewrite them."""
    folder = settings.backups_directory
    forgotten = Journal(settings.journal_directory).forgotten()
    remove_unfinished_backups(folder)
    counts: dict[Path, int] = {}

    def count(path: Path) -> None:
        counts[path] = count_forgotten(path, forgotten)

    unreadable = each_file(list_backups(folder), count, "Looking into the backups")
    looked = _Backups({path: lines for path, lines in counts.items() if lines}, unreadable)
    if not (rewrite and looked.found):
        return looked
    failed = rewrite_backups(settings, looked.found, lambda path, fresh: purge_archive(path, forgotten, fresh))
    if failed is not None:
        looked.is_rewritten = True
        looked.unreadable += failed
        looked.found = {path: lines for path, lines in looked.found.items() if path not in failed}
        looked.removed = [path for path in looked.found if not path.exists()]
    return looked


def _show(found: dict[str, Any]) -> None:
    rows = [[each["kind"], each["id"], each["text"]] for each in found["found"]]
    rows += [["verdict", each["ghap_id"], f"{each['stance']} {each['value_id']}"] for each in found["verdicts"]]
    if rows:
        show_table(["kind", "id", "text"], rows[:SHOWN])
    show_rest(len(rows))
    if not rows:
        say("Nothing to forget.")
    if found["citing"]:
        names = one_line(", ".join(found["citing"]))
        show_remark(f"These values cite it as evidence, and stay unless you name them too: {names}.")


def _conclude(done: dict[str, Any], looked: _Backups | None, settings: Settings) -> None:
    verdicts = f" and {counted(len(done['verdicts']), 'verdict')}" if done["verdicts"] else ""
    say(f"Forgotten: {counted(len(done['found']), 'item')}{verdicts}.")
    if not done["indexed"]:
        show_remark(
            "The index cannot be changed now. Searches leave out what is forgotten; its points are removed later."
        )
    for url in done.get("elsewhere", ()):
        show_remark(
            f"Points of what you forgot may still be on the Qdrant server {url}, which is not in use. To remove all of "
            f"your points there, run: learning-memory-server migrate --leave {url}"
        )
    if "removed" in done:
        say(f"Removed from the journal's files: {counted(done['removed'], 'line')}.")
        say("To remove it from the index's files as well, run: learning-memory-server reindex")
    for path in done.get("doubtful", ()):
        say(f"{path} has unreadable bytes that may still contain it; check it yourself.", "yellow")
    if looked:
        _show_backups(looked, settings)
    elif done["found"]:
        show_remark(
            "The text stays in the journal's files until `forget --purge`, and in earlier backups until that is run "
            "with --backups."
        )


def _show_backups(looked: _Backups, settings: Settings) -> None:
    for path, count in looked.found.items():
        what = "Removed from" if looked.is_rewritten else "Still in"
        if path in looked.removed:
            say(f"Removed: the backup {path.name}. The rest of it is in the fresh one.")
        else:
            say(f"{what} the backup {path.name}: {counted(count, 'line')}.")
    if looked.found and not looked.is_rewritten:
        say("To remove it from the backups as well, run: learning-memory-server forget --purge --backups")
    for path in looked.unreadable:
        say(f"{path} cannot be read and may still hold it; remove the file yourself.", "yellow")
    if not (looked.found or looked.unreadable):
        say(f"No backup in {settings.backups_directory} has anything that is forgotten.")
    say("Exports, and backups in other folders, were not looked at.")


def _document(found: dict[str, Any], done: dict[str, Any] | None, looked: _Backups | None) -> dict[str, Any]:
    reply = done or found
    body: dict[str, Any] = {
        "forgotten": done is not None,
        **{name: reply[name] for name in ("found", "citing", "verdicts")},
    }
    if done:
        body |= {"indexed": done["indexed"], "elsewhere": done.get("elsewhere", [])}
        body |= {name: done[name] for name in ("removed", "doubtful") if name in done}
    if looked:
        body["backups"] = {path.name: count for path, count in looked.found.items()}
        body["backups_rewritten"] = looked.is_rewritten
        body["backups_removed"] = [path.name for path in looked.removed]
        body["backups_unreadable"] = [path.name for path in looked.unreadable]
    return body
