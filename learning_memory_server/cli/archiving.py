"""`export` and `backup`: the journal in one file. Reading only, so nobody is in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from learning_memory_server.archive.backups import backup_name, prune
from learning_memory_server.archive.snapshot import take_snapshot
from learning_memory_server.archive.writing import write_archive
from learning_memory_server.cli.access import chosen_project, open_settings
from learning_memory_server.cli.terminal import (
    counted,
    megabytes,
    one_line,
    output,
    show_facts,
    show_notice,
    working,
)
from learning_memory_server.domain.limits import PROJECT_MAX, checked_text
from learning_memory_server.domain.moment import utc_now
from learning_memory_server.errors import InvalidInputError, NotFoundError
from learning_memory_server.journal.files import journal_errors, make_private_directory

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from learning_memory_server.archive.snapshot import Snapshot
    from learning_memory_server.server.config import Settings


def export(path: Path, project: str | None, *, force: bool) -> None:
    """Write the journal to an archive.

    Args:
        path: Its place.
        project: Only this project, if it is given; `current` is this folder's.
        force: Replace a file that is there.

    Raises:
        InvalidInputError: If the file exists, or cannot be written.
        JournalUnavailableError: If the journal cannot be read, or a newer program wrote it.
        NotFoundError: If there is no journal.
    """
    settings = open_settings()
    chosen = chosen_project(project, settings)
    wanted = chosen and checked_text("--project", chosen, PROJECT_MAX)
    at, snapshot = _take(settings, wanted)
    _write(path, snapshot, at, wanted, force=force)


def backup(folder: Path | None, keep: int) -> None:
    """Write the journal to a dated archive in a folder, and remove the oldest of those that are there.

    An empty journal is not written, or backups of it would one day take the places of all that hold something.

    Args:
        folder: Where to; by default `backups` beside the journal.
        keep: How many backups to keep.

    Raises:
        InvalidInputError, JournalUnavailableError, NotFoundError: See `export`; then none is removed.
    """
    settings = open_settings()
    place = folder or settings.storage_path / "backups"
    at, snapshot = _take(settings, None)
    if not (snapshot.records or snapshot.tombstones):
        show_notice(
            f"No backup was written, and none removed: nothing that can be read is in {settings.journal_directory}."
        )
        return
    try:
        make_private_directory(place)
        _write(place / backup_name(at), snapshot, at, None, force=False)
        removed = prune(place, keep)
    except OSError as error:
        raise InvalidInputError(f"{place} cannot be written to: {error.strerror}.") from None
    if removed:
        output().print(f"Removed: {counted(len(removed), 'older backup')}; the newest {keep} are kept.")


def _take(settings: Settings, project: str | None) -> tuple[datetime, Snapshot]:
    """Return what the journal holds, and since when that is read."""
    journal = settings.journal_directory
    with journal_errors(journal):
        exists = journal.exists()
    if not exists:
        raise NotFoundError(
            f"There is no journal in {journal}.",
            hint="Where it is kept follows from the settings journal_path and storage_path.",
        )
    with working("Reading the journal"):
        return utc_now(), take_snapshot(journal, project)


def _write(path: Path, snapshot: Snapshot, at: datetime, project: str | None, *, force: bool) -> None:
    with working(f"Writing {path.name}"):
        write_archive(path, snapshot, at, project=project, replace=force)
    _show(path, snapshot, project, (utc_now() - at).total_seconds())


def _show(path: Path, snapshot: Snapshot, project: str | None, seconds: float) -> None:
    records = snapshot.records
    facts: list[tuple[str, str | Text]] = [
        ("archive", f"{path} ({megabytes(path.stat().st_size)})"),
        ("entries", f"{records['ghap']:,} resolved, {snapshot.open_entries:,} open"),
        *((kind, f"{records[kind]:,}") for kind in sorted(records) if kind not in {"ghap", "open"}),
        (
            "forgotten",
            f"{counted(snapshot.tombstones, 'tombstone')} kept, {counted(snapshot.forgotten, 'record')} left out",
        ),
    ]
    if project is not None:
        facts.append(("elsewhere", f"{counted(snapshot.elsewhere, 'line')} left out"))
    facts += [
        ("damaged", Text(f"{one_line(name)}: {counted(count, 'line')} kept aside", "red"))
        for name, count in snapshot.damaged.items()
    ]
    show_facts([*facts, ("took", f"{seconds:.1f} s")])
    if project is not None and not (records["ghap"] or records["open"]):
        show_notice(f"Nothing in the journal is of the project {one_line(project)}.")
