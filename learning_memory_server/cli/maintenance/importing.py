"""`import` of a JSONL file: entries go to the journal, then to the index. Archives are passed to `restoring`."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, BinaryIO, Final

import typer
from rich.text import Text

from learning_memory_server.cli.access.connection import complete_index, open_connection
from learning_memory_server.cli.access.reading import open_settings, read_entries
from learning_memory_server.cli.command import Commands, Result
from learning_memory_server.cli.maintenance.exporting import back_up_first
from learning_memory_server.cli.maintenance.restoring import file_errors, import_archive
from learning_memory_server.cli.options import chosen_project, current_project
from learning_memory_server.cli.terminal import counted, show_facts, show_first, working
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.archive.bounds import LINE_MAX
from learning_memory_server.journal.archive.entries_importing import ParsedEntries, parse_entries
from learning_memory_server.journal.archive.reading import is_archive
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.limits import PROJECT_MAX, checked_text
from learning_memory_server.model.lines import one_line
from learning_memory_server.redaction.gate import listed
from learning_memory_server.server.settings import Settings

_ARCHIVES: Final = {".tar", ".tgz", ".gz", ".bz2", ".xz", ".zip"}
"""Suffixes that archives have."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How many entries were new, or forgotten here; a sentence about the index, secrets by kind, and the backup."""

    new: int
    index: str
    forgotten: int = 0
    redacted: Mapping[str, int] = field(default_factory=dict)
    backup: Path | None = None


commands = Commands()


@commands.command("import")
async def import_(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", exists=True, dir_okay=False, readable=True, help="An archive, or a JSONL file."
        ),
    ],
    project: Annotated[
        str | None,
        typer.Option(
            "--project",
            metavar="NAME",
            help="Project for entries that name none; `current` is this folder's.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would happen, and change nothing.")
    ] = False,
    apply_deletions: Annotated[
        bool,
        typer.Option("--apply-deletions", help="Also forget whatever the file records as forgotten."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and ask nothing.")] = False,
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
        return await import_archive(path, dry_run=dry_run, apply_deletions=apply_deletions, as_json=as_json)
    if path.suffix in _ARCHIVES:
        raise InvalidInputError(
            f"{path.name} is not an archive made by `export`, or it is badly damaged.",
            hint="Nothing was changed; try another copy.",
        )
    began = monotonic()
    settings = open_settings()
    under = chosen_project(project, settings) or current_project(settings)
    parsed = _parse(path, under)
    if project is None and parsed.unnamed and not (dry_run or as_json) and sys.stdin.isatty():
        under = _asked(under, len(parsed.unnamed))
        parsed.assign(under)
    if dry_run:
        outcome = _foresee(parsed, settings)
    elif parsed.entries or parsed.forgotten:
        outcome = await _import(parsed, settings, apply_deletions=apply_deletions)
    else:
        outcome = _Outcome(0, "nothing to index")
    seconds = monotonic() - began
    return Result(
        _document(parsed, outcome, under, dry_run=dry_run, seconds=seconds),
        lambda: _show(path, parsed, outcome, under, dry_run=dry_run, seconds=seconds),
        not parsed.rejections,
    )


def _asked(project: str, count: int) -> str:
    """Return the project that a person wants for entries that name none."""
    question = f"{counted(count, 'entry')} without a project. Import under"
    return checked_text("The project", typer.prompt(question, default=project, err=True), PROJECT_MAX)


def _parse(path: Path, project: str) -> ParsedEntries:
    with file_errors(path), path.open("rb") as file, working(f"Reading {path.name}"):
        return parse_entries(lines_of(file, path.name), project=project)


def lines_of(file: BinaryIO, name: str, longest: int = LINE_MAX) -> Iterator[bytes]:
    """Yield the lines of a file; one of more than `longest` bytes is refused, and not read into RAM."""
    while line := file.readline(longest + 1):
        if len(line) > longest:
            raise InvalidInputError(
                f"{name} has a line of more than {longest:,} bytes, so it is not a file of entries.",
                hint="Each entry is one line of JSON; archives are made by `export`.",
            )
        yield line


def _foresee(parsed: ParsedEntries, settings: Settings) -> _Outcome:
    here = read_entries(settings)
    known = here.all_forgotten().union(entry.id for entry in here.list_resolved())
    known |= {entry.id for entry in Journal(settings.journal_directory).open_entries()}
    gone = here.are_forgotten(parsed.entries)
    return _Outcome(len(parsed.entries.keys() - known), "not touched", len(gone))


async def _import(parsed: ParsedEntries, settings: Settings, *, apply_deletions: bool) -> _Outcome:
    gone = read_entries(settings).are_forgotten(parsed.entries)
    changes = parsed.forgotten or _foresee(parsed, settings).new
    backup = back_up_first(settings) if changes else None
    async with open_connection(settings, "import") as connection:
        if parsed.forgotten:
            await connection.run(
                "apply_deletions", forgotten={"ghap": sorted(parsed.forgotten)}, existing_too=apply_deletions
            )
        new = await connection.add(list(parsed.entries.values()))
        index = await complete_index(connection)
        return _Outcome(new, index, len(gone), connection.redacted, backup)


def _known(parsed: ParsedEntries, outcome: _Outcome) -> int:
    """Return how many entries were here already."""
    return len(parsed.entries) - outcome.new - outcome.forgotten


def _document(
    parsed: ParsedEntries, outcome: _Outcome, project: str, *, dry_run: bool, seconds: float
) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "imported": outcome.new,
        "already_there": _known(parsed, outcome),
        "project": project,
        "without_project": len(parsed.unnamed),
        "forgotten_here": outcome.forgotten,
        "forgotten_there": len(parsed.forgotten),
        "repeated": parsed.repeated,
        "changes": dict(parsed.changes),
        "redacted": dict(outcome.redacted),
        "rejected": [{"line": each.line_number, "reason": each.reason} for each in parsed.rejections],
        "backup": str(outcome.backup) if outcome.backup else None,
        "index": outcome.index,
        "seconds": round(seconds, 1),
    }


def _show(  # noqa: PLR0913 - what was read, what came of it, and how
    path: Path, parsed: ParsedEntries, outcome: _Outcome, project: str, *, dry_run: bool, seconds: float
) -> None:
    would = "would be " if dry_run else ""
    facts: list[tuple[str, str | Text]] = [
        (f"{would}imported", Text(counted(outcome.new, "entry"), "green" if outcome.new else "")),
        ("already there", counted(_known(parsed, outcome), "entry")),
    ]
    if parsed.unnamed:
        facts.append(
            ("project", f"{one_line(project)}, for {counted(len(parsed.unnamed), 'entry')} without one")
        )
    if outcome.forgotten:
        facts.append(("forgotten here", f"{counted(outcome.forgotten, 'entry')}, not imported"))
    if outcome.redacted:
        facts.append(("redacted", Text(listed(outcome.redacted), "yellow")))
    if parsed.repeated:
        facts.append(("repeated", f"{counted(parsed.repeated, 'line')} superseded by later ones"))
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
