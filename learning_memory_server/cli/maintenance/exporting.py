"""`backup`: write the journal to one file. It only reads, so sessions can keep running."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from learning_memory_server.cli import out
from learning_memory_server.cli.command import Commands, Offline, ProjectOption, Result, chosen_project, open_settings
from learning_memory_server.errors import InvalidInputError, LearningMemoryError, NotFoundError
from learning_memory_server.journal.archive.reading import store_key
from learning_memory_server.journal.archive.writing import Backup, Snapshot, back_up, take_snapshot, write_archive
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.log import journal_errors
from learning_memory_server.model.limits import BACKUPS_KEPT
from learning_memory_server.model.moment import utc_now
from learning_memory_server.server.settings import Settings
from learning_memory_server.system import ownership

commands = Commands()


@commands.command(example="~/memory.tar.gz")
def backup(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PATH]",
            help="An archive to write, whose name ends in .tar.gz, .tgz or .tar; or a folder for dated ones, by default "
            "`backups` in storage_path.",
        ),
    ] = None,
    project: ProjectOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing archive.")] = False,
    keep: Annotated[
        int | None, typer.Option("--keep", min=1, help=f"How many dated backups to keep; {BACKUPS_KEPT} if not said.")
    ] = None,
) -> Result:
    """Write everything to one file, to keep it or to `import` it on another machine.

    These are the records in the journal: entries, also open ones, values,
    verdicts, memories, failures and rules. On the other machine, `import` reads
    the file.
    In a folder, the file is dated, and the oldest backups are removed. If the
    journal is empty, nothing is backed up there and no backup is removed.
    Forgotten records are left out. Records that you forget later remain in
    earlier backups, until these are removed or `forget --purge --backups`.
    The index is left out, too: it is rebuilt from the journal. Sessions may
    keep running.
    """
    settings = open_settings()
    wanted = chosen_project(project, Offline(settings))
    is_folder = path is None or path.is_dir() or not path.suffix
    if is_folder and (wanted or force):
        raise InvalidInputError("--project and --force need the name of an archive.")
    if keep and not is_folder:
        raise InvalidInputError("--keep is for a folder of dated backups.")
    journal = settings.journal_directory
    with journal_errors(journal):
        if not journal.exists():
            where = "The settings journal_path and storage_path say where it is."
            raise NotFoundError(f"There is no journal in {journal}.", hint=where)
    if path is None or is_folder:
        return _back_up_dated(settings, path or settings.backups_directory, keep or BACKUPS_KEPT)
    with out.working("Reading the journal"):
        at, snapshot = utc_now(), take_snapshot(journal, wanted)  # The time before reading
    with out.working(f"Writing {path.name}"):
        key = store_key(settings.archive_key_file)
        write_archive(path, snapshot, at, project=wanted, replace=force, key=key)
    return _show(path, snapshot, wanted, (utc_now() - at).total_seconds())


def _back_up_dated(settings: Settings, folder: Path, keep: int) -> Result:
    began, journal = utc_now(), settings.journal_directory
    made = backed_up(settings, folder, keep)
    if made is None:
        out.notice(f"No backup was written, and none removed: {journal} has no records that can be read.")
        return Result({"path": None, "bytes": 0, "records": {}, "forgotten": 0})
    shown = _show(made.path, made.snapshot, None, (utc_now() - began).total_seconds())
    if made.removed:
        out.say(f"Removed: {out.counted(len(made.removed), 'older backup')}. Kept: the newest {keep}.")
    return shown


def backed_up(settings: Settings, folder: Path | None = None, keep: int | None = BACKUPS_KEPT) -> Backup | None:
    """Back up the journal to a folder, by default the folder of dated backups; see `back_up`."""
    folder = folder or settings.backups_directory
    if folder == settings.backups_directory:
        ownership.refuse_folder(settings.storage_path)
    with out.working("Backing up the journal"):
        journal, key = Journal(settings.journal_directory), store_key(settings.archive_key_file)
        return back_up(journal, folder, utc_now(), keep, key)


def back_up_first(settings: Settings) -> Path | None:
    """Back up the journal, unless it is empty, before a large change. Raises `InvalidInputError` on failure."""
    try:
        made = backed_up(settings)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"Nothing was changed, because the journal could not be backed up first. {error.message}", hint=error.hint
        ) from None
    if made is None:
        return None
    out.stderr().print(f"Backed up first: {made.path} ({out.readable_size(made.path.stat().st_size)})")
    return made.path


def rewrite_backups(
    settings: Settings, earlier: Iterable[Path], rewrite: Callable[[Path, Snapshot | None, bytes], object]
) -> list[Path] | None:
    """Back up the journal, then rewrite or remove earlier backups. Return the failures; None if the backup failed."""
    try:
        made, key = backed_up(settings, keep=None), store_key(settings.archive_key_file)
    except LearningMemoryError as error:
        out.notice(f"No backup was changed, because a fresh one could not be written first. {error.sentence}")
        return None
    fresh = made.snapshot if made else None
    return out.each_file(earlier, lambda path: rewrite(path, fresh, key), "Rewriting the backups")


def _show(path: Path, snapshot: Snapshot, project: str | None, seconds: float) -> Result:
    records, size = snapshot.records, path.stat().st_size
    facts: list[tuple[str, str | Text]] = [
        ("archive", f"{path} ({out.readable_size(size)})"),
        ("entries", f"{records['ghap']:,} resolved, {records['open']:,} open"),
        *((kind, out.counted(records[kind], "record")) for kind in sorted(records) if kind not in {"ghap", "open"}),
        (
            "forgotten",
            f"{out.counted(snapshot.tombstones, 'tombstone')} kept, {out.counted(snapshot.forgotten, 'record')} left out",
        ),
    ]
    if project is not None:
        facts.append(("other projects", f"{out.counted(snapshot.elsewhere, 'line')} left out"))
    facts += [
        ("damaged", Text(f"{out.one_line(name)}: {out.counted(count, 'line')} copied to damaged/", "red"))
        for name, count in snapshot.damaged.items()
    ]
    out.facts([*facts, ("took", f"{seconds:.1f} s")])
    if project is not None and not (records["ghap"] or records["open"]):
        out.notice(f"The journal has no entries of project {out.one_line(project)}.")
    return Result({"path": str(path), "bytes": size, "records": dict(records), "forgotten": snapshot.forgotten})
