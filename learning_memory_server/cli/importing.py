"""`import`: entries from a file into the journal first, then into the index. Archives go to `restoring`."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Final

from rich.text import Text

from learning_memory_server.archive.reading import is_archive
from learning_memory_server.cli.access import current_project, open_settings, read_entries, unreadable
from learning_memory_server.cli.connection import open_connection, when_complete
from learning_memory_server.cli.restoring import import_archive
from learning_memory_server.cli.terminal import counted, one_line, show_facts, show_first, working
from learning_memory_server.domain.limits import PROJECT_MAX, checked_text
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.journal import Journal
from learning_memory_server.observation.importing import parse_entries

if TYPE_CHECKING:
    from pathlib import Path

    from learning_memory_server.observation.importing import ParsedEntries
    from learning_memory_server.server.config import Settings

_ARCHIVES: Final = {".tar", ".tgz", ".gz", ".bz2", ".xz", ".zip"}
"""Names that promise an archive."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How many entries were new, a sentence about their vectors, and how many were forgotten here."""

    new: int
    index: str
    forgotten: int = 0


async def import_file(path: Path, project: str | None, *, dry_run: bool, apply_deletions: bool) -> bool:
    """Take in a file's entries and tell whether every line was good.

    Args:
        path: The JSON lines, or an archive.
        project: The project of lines that name none; by default the settings' or this folder's.
        dry_run: Read only, and say what would happen.
        apply_deletions: Forget what is here and was forgotten there.

    Raises:
        AlreadyRunningError: If another process than a hub holds the journal and this is no dry run.
        DeadlineExceededError: If the hub hangs; what it has taken stays.
        JournalUnavailableError: If the journal cannot be used; then nothing was imported.
    """
    with unreadable(path):
        is_tar = is_archive(path)
    if not is_tar and path.suffix in _ARCHIVES:
        raise InvalidInputError(
            f"{path.name} is no archive of this program, or nothing of it is left.",
            hint="Take another copy; nothing was changed.",
        )
    if is_tar:
        return await import_archive(path, dry_run=dry_run, apply_deletions=apply_deletions)
    began = monotonic()
    settings = open_settings()
    parsed = _parse(path, _project(project, settings))
    if dry_run:
        outcome = _foresee(parsed, settings)
    elif parsed.entries or parsed.forgotten:
        outcome = await _take_in(parsed, settings, apply_deletions=apply_deletions)
    else:
        outcome = _Outcome(0, "nothing to index")
    _show(path, parsed, outcome, dry_run=dry_run, seconds=monotonic() - began)
    return not parsed.rejections


def _project(name: str | None, settings: Settings) -> str:
    return current_project(settings) if name is None else checked_text("--project", name, PROJECT_MAX)


def _parse(path: Path, project: str) -> ParsedEntries:
    with unreadable(path), path.open("rb") as lines, working(f"Reading {path.name}"):
        return parse_entries(lines, project=project)


def _foresee(parsed: ParsedEntries, settings: Settings) -> _Outcome:
    here = read_entries(settings)
    known = here.all_forgotten().union(entry.id for entry in here.list_resolved())
    known |= {entry.id for entry in Journal(settings.journal_directory).open_entries()}
    gone = here.are_forgotten(parsed.entries)
    return _Outcome(len(parsed.entries.keys() - known), "not touched", len(gone))


async def _take_in(parsed: ParsedEntries, settings: Settings, *, apply_deletions: bool) -> _Outcome:
    gone = read_entries(settings).are_forgotten(parsed.entries)
    async with open_connection(settings, "import") as connection:
        if parsed.forgotten:
            await connection.run(
                "apply_deletions", forgotten={"ghap": sorted(parsed.forgotten)}, found_too=apply_deletions
            )
        new = await connection.add(list(parsed.entries.values()))
        return _Outcome(new, await when_complete(connection), len(gone))


def _show(path: Path, parsed: ParsedEntries, outcome: _Outcome, *, dry_run: bool, seconds: float) -> None:
    would = "would be " if dry_run else ""
    facts: list[tuple[str, str | Text]] = [
        (f"{would}imported", Text(counted(outcome.new, "entry"), "green" if outcome.new else "")),
        ("already there", counted(len(parsed.entries) - outcome.new - outcome.forgotten, "entry")),
    ]
    if outcome.forgotten:
        facts.append(("forgotten here", f"{counted(outcome.forgotten, 'entry')}, and stays so"))
    if parsed.repeated:
        facts.append(("repeated", f"{counted(parsed.repeated, 'line')} that a later line supersedes"))
    if parsed.forgotten:
        facts.append(("forgotten there", counted(len(parsed.forgotten), "entry")))
    if parsed.rejections:
        facts.append(("rejected", Text(counted(len(parsed.rejections), "line"), "red")))
    facts += [("changed", f"{one_line(change)} ({count}x)") for change, count in parsed.changes.most_common()]
    facts.append(("index", outcome.index))
    show_first(
        [f"{path.name}:{each.line_number}: {one_line(each.reason)}" for each in parsed.rejections], "red"
    )
    show_facts([*facts, ("took", f"{seconds:.1f} s")])
