"""`import` of a JSONL file: entries go to the journal, then to the index. Archives are passed to `restoring`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, BinaryIO, Final

import typer
from rich.text import Text

from learning_memory_server.cli.access.connection import complete_index, open_connection
from learning_memory_server.cli.access.reading import Stored, open_settings
from learning_memory_server.cli.command import Commands, Result, chosen_project, current_project
from learning_memory_server.cli.maintenance.exporting import back_up_first
from learning_memory_server.cli.maintenance.restoring import file_errors, import_archive
from learning_memory_server.cli.terminal import counted, is_for_people, show_facts, show_first, working
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.archive.bounds import LINE_MAX
from learning_memory_server.journal.archive.entries_importing import ParsedEntries, parse_entries
from learning_memory_server.journal.archive.reading import is_archive
from learning_memory_server.journal.codec import GHAP
from learning_memory_server.journal.line import JournalRecord
from learning_memory_server.model.limits import PROJECT_MAX, checked_text
from learning_memory_server.model.lines import one_line
from learning_memory_server.redaction.gate import listed
from learning_memory_server.server.settings import Settings

_ARCHIVES: Final = {".tar", ".tgz", ".gz", ".bz2", ".xz", ".zip"}
"""Suffixes that archives have."""


commands = Commands()


@commands.command("import", "Print JSON, and ask nothing.")
async def import_(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", exists=True, dir_okay=False, readable=True, help="An archive, or a JSONL file."),
    ],
    project: Annotated[
        str | None,
        typer.Option(
            "--project", metavar="NAME", help="Project for entries that name none; `current` is this folder's."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would happen, and change nothing.")] = False,
    apply_deletions: Annotated[
        bool, typer.Option("--apply-deletions", help="Also forget whatever the file records as forgotten.")
    ] = False,
) -> Result:
    """Import an archive made by `export`, or resolved GHAP entries from a JSONL file.

    The JSONL file comes from a journal of this server or of its predecessor,
    whose entries name no project. Without --project they go under this
    folder's; on a terminal you are asked first.
    Entries keep their ids and times, so a second import changes nothing. What
    is stored here stays as it is, and what was forgotten here stays forgotten.
    If anything will change, the journal is backed up first, as by `backup`.
    Rejected lines are listed with the reason, and the exit code is 1.
    """
    with file_errors(path):
        is_tar = is_archive(path)
    if is_tar:
        return await import_archive(path, dry_run=dry_run, apply_deletions=apply_deletions)
    if path.suffix in _ARCHIVES:
        raise InvalidInputError(
            f"{path.name} is not an archive made by `export`, or it is badly damaged.",
            hint="Nothing was changed; try another copy.",
        )
    return await _import_entries(path, project, dry_run=dry_run, apply_deletions=apply_deletions)


async def _import_entries(path: Path, project: str | None, *, dry_run: bool, apply_deletions: bool) -> Result:
    began, settings = monotonic(), open_settings()
    under = chosen_project(project, settings) or current_project(settings)
    with file_errors(path), path.open("rb") as file, working(f"Reading {path.name}"):
        parsed = parse_entries(lines_of(file, path.name), project=under)
    if project is None and parsed.unnamed and not dry_run and is_for_people() and sys.stdin.isatty():
        question = f"{counted(len(parsed.unnamed), 'entry')} without a project. Import under"
        named = typer.prompt(question, default=under, err=True)
        under = checked_text("The project", named, PROJECT_MAX)
        parsed.assign(under)
    new, forgotten = _foresee(parsed, settings)
    done: dict[str, Any] = {"redacted": {}, "backup": None, "index": "not touched"}
    if not dry_run:
        new, done = await _import(parsed, new, settings, apply_deletions=apply_deletions)
    document = {
        "dry_run": dry_run,
        "imported": new,
        "already_there": len(parsed.entries) - new - forgotten,
        "project": under,
        "without_project": len(parsed.unnamed),
        "forgotten_here": forgotten,
        "forgotten_there": len(parsed.forgotten),
        "repeated": parsed.repeated,
        "changes": dict(parsed.changes.most_common()),
        "redacted": done["redacted"],
        "rejected": [{"line": each.line_number, "reason": each.reason} for each in parsed.rejections],
        "backup": done["backup"],
        "index": done["index"],
        "seconds": round(monotonic() - began, 1),
    }
    _show(path.name, document)
    return Result(document, not parsed.rejections)


def lines_of(file: BinaryIO, name: str, longest: int = LINE_MAX) -> Iterator[bytes]:
    """Yield the lines of a file; one of more than `longest` bytes is refused, and not read into RAM."""
    while line := file.readline(longest + 1):
        if len(line) > longest:
            raise InvalidInputError(
                f"{name} has a line of more than {longest:,} bytes, so it is not a file of entries.",
                hint="Each entry is one line of JSON; archives are made by `export`.",
            )
        yield line


def _foresee(parsed: ParsedEntries, settings: Settings) -> tuple[int, int]:
    """Return how many entries are new, and how many were forgotten here."""
    stored = Stored(settings)
    known = stored.entries.all_forgotten().union(entry.id for entry in stored.entries.list_resolved())
    known |= {entry.id for entry in stored.journal.open_entries()}
    return len(parsed.entries.keys() - known), len(stored.entries.are_forgotten(parsed.entries))


async def _import(
    parsed: ParsedEntries, new: int, settings: Settings, *, apply_deletions: bool
) -> tuple[int, dict[str, Any]]:
    if not (parsed.entries or parsed.forgotten):
        return 0, {"redacted": {}, "backup": None, "index": "nothing to index"}
    backup = back_up_first(settings) if parsed.forgotten or new else None
    async with open_connection(settings, "import") as connection:
        if parsed.forgotten:
            await connection.run(
                "apply_deletions", forgotten={"ghap": sorted(parsed.forgotten)}, existing_too=apply_deletions
            )
        new = await connection.add([JournalRecord.of(GHAP, entry) for entry in parsed.entries.values()])
        index = await complete_index(connection)
    redacted = dict(connection.redacted)
    return new, {"redacted": redacted, "backup": str(backup) if backup else None, "index": index}


def _show(name: str, document: dict[str, Any]) -> None:
    new, rejected = document["imported"], document["rejected"]
    entries = {part: count and counted(count, "entry") for part, count in document.items() if type(count) is int}
    unnamed = entries["without_project"]
    show_first([f"{name}:{each['line']}: {one_line(each['reason'])}" for each in rejected], "red")
    show_facts(
        [
            (
                "would be imported" if document["dry_run"] else "imported",
                Text(counted(new, "entry"), "green" if new else ""),
            ),
            ("already there", counted(document["already_there"], "entry")),
            ("project", unnamed and f"{one_line(document['project'])}, for {unnamed} without one"),
            ("forgotten here", entries["forgotten_here"] and f"{entries['forgotten_here']}, not imported"),
            ("redacted", Text(listed(document["redacted"]), "yellow")),
            ("repeated", document["repeated"] and f"{counted(document['repeated'], 'line')} superseded by later ones"),
            ("forgotten there", entries["forgotten_there"]),
            ("rejected", Text(counted(len(rejected), "line"), "red") if rejected else None),
            *(
                ("changed", f"{one_line(change)}: {count:,} times" if count > 1 else one_line(change))
                for change, count in document["changes"].items()
            ),
            ("index", document["index"]),
            ("took", f"{document['seconds']:.1f} s"),
        ]
    )
