"""`import` of an archive or a JSONL file: show the changes, then make them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, BinaryIO, Final, NoReturn

import typer
from rich.text import Text

from learning_memory_server.cli import out
from learning_memory_server.cli.access import complete_index, open_connection
from learning_memory_server.cli.command import Commands, Offline, Result, YesOption, current_project, open_settings_here
from learning_memory_server.cli.maintenance.exporting import back_up_first
from learning_memory_server.cli.projects import change_names
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.archive.comparison import Comparison, Difference, Numbering, compare
from learning_memory_server.journal.archive.contents import Contents, contents_here, contents_of
from learning_memory_server.journal.archive.entries_importing import Rejection, parse_entries
from learning_memory_server.journal.archive.reading import LINE_MAX, is_archive, open_archive, store_key
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.kinds import GHAP, PROJECT
from learning_memory_server.model.limits import PROJECT_MAX, checked_text
from learning_memory_server.redaction.gate import listed
from learning_memory_server.server.settings import Settings

_ARCHIVES: Final = {".tar", ".tgz", ".gz", ".bz2", ".xz", ".zip"}  # File extensions of archives
_REASONS: Final = 3  # Maximum number of lines shown with a reason if a file contains no entries
_NUMBERING: Final = {
    Numbering.NEW: "new",
    Numbering.THERE: "already there",
    Numbering.SKIPPED: "skipped: clusters here are numbered already",
}

commands = Commands()


@commands.command(
    "import", "Print JSON. An archive needs --yes, unless the journal is empty.", example="memory.tar.gz --dry-run"
)
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
    own: Annotated[bool, typer.Option("--own", help="Say that the file is from a store of yours.")] = False,
    yes: YesOption = False,
) -> Result:
    """Import a backup, after showing what will change; or resolved GHAP entries from a JSONL file.

    A journal that is not empty is asked about first.

    A file that this store did not export may be another person's. On a terminal
    you are asked if it is yours; --own says yes beforehand, --yes does not.
    Records of others are marked: searches find them, agents get no advice from
    them.

    The JSONL file comes from a journal of this server or of its predecessor,
    whose entries name no project. Without --project they go under this
    folder's; on a terminal you are asked which.
    Entries keep their ids and times, so a second import changes nothing. Stored
    records stay as they are, and forgotten ones stay forgotten.
    If anything will change, the journal is backed up first, as by `backup`.
    Rejected lines are listed with the reason, and the exit code is 1.
    """
    if own and not out.is_a_person():
        raise InvalidInputError("--own is for a person at a terminal.", hint="Without it, all is marked as imported.")
    settings = open_settings_here()
    with file_errors(path):
        is_tar = is_archive(path)
    if is_tar:
        return await _import_archive(path, settings, dry_run=dry_run, apply_deletions=apply_deletions, own=own, yes=yes)
    if path.suffix in _ARCHIVES:
        raise InvalidInputError(
            f"{path.name} is not an archive made by `backup`, or it is badly damaged.",
            hint="Nothing was changed; try another copy.",
        )
    return await _import_entries(
        path, project, settings, dry_run=dry_run, apply_deletions=apply_deletions, own=own, asks=not yes
    )


async def _import_archive(
    path: Path, settings: Settings, *, dry_run: bool, apply_deletions: bool, own: bool, yes: bool
) -> Result:
    ours = _ours(settings)
    key = store_key(settings.archive_key_file, make=False)
    theirs, comparison, document = _compared(path, ours, key, apply_deletions=apply_deletions, own=own)
    if dry_run:
        return Result(document, not theirs.rejections)
    is_empty = not (ours.entries or ours.open or ours.records or ours.forgotten)
    forgets = apply_deletions and any(comparison.doomed.values())
    is_sure = yes or is_empty or (comparison.changes_nothing and not forgets)
    rest = "forget what is forgotten there" if forgets else "keep what is here"
    question = f"The journal is not empty. Add what is new, and {rest}?"
    if out.agrees(question, "Nothing was changed: the journal is not empty, so this needs --yes.", yes=is_sure):
        is_own = own or document["own"]
        document["own"] = _claimed(path.name, theirs, own=is_own, asks=not yes)
        if document["own"] != is_own:
            comparison = compare(theirs, ours)
        document |= {"applied": True, **await _import(theirs, comparison, settings, apply_deletions=apply_deletions)}
    return Result(document, not theirs.rejections and document["applied"])


async def _import_entries(
    path: Path, project: str | None, settings: Settings, *, dry_run: bool, apply_deletions: bool, own: bool, asks: bool
) -> Result:
    began = monotonic()
    # The project may be new, unlike one to search for.
    is_here = project in {None, "current"}
    under = current_project(settings) if is_here else checked_text("--project", str(project), PROJECT_MAX)
    with file_errors(path), path.open("rb") as file, out.working(f"Reading {path.name}"):
        parsed = parse_entries(lines_of(file, path.name), project=under)
    if asks and project is None and parsed.unnamed and not dry_run and out.can_ask():
        question = f"{out.counted(len(parsed.unnamed), 'entry')} without a project. Import under"
        under = checked_text("The project", typer.prompt(question, default=under, err=True), PROJECT_MAX)
        parsed.assign(under)
    theirs = Contents(parsed.entries, forgotten={(GHAP.kind, name) for name in parsed.forgotten})
    if parsed.rejections and not (parsed.entries or parsed.forgotten):
        _refuse_other_file(path.name, parsed.rejections)
    comparison = compare(theirs, _ours(settings))
    new, forgotten = (len(getattr(comparison.sorts["entry"], part)) for part in ("new", "forgotten_here"))
    document: dict[str, Any] = {
        "dry_run": dry_run,
        "imported": new,
        "already_there": len(parsed.entries) - new - forgotten,
        "project": under,
        "without_project": len(parsed.unnamed),
        "forgotten_here": forgotten,
        "forgotten_there": len(parsed.forgotten),
        "repeated": parsed.repeated,
        "changes": dict(parsed.changes.most_common()),
        "redacted": {},
        "rejected": [{"line": each.line_number, "reason": each.reason} for each in parsed.rejections],
        "backup": None,
        "index": "not touched" if dry_run else "nothing to index",
    }
    _show_entries(path.name, document)
    if not dry_run and (parsed.entries or parsed.forgotten):
        _claimed(path.name, theirs, own=own, asks=asks)
        done = await _import(theirs, comparison, settings, apply_deletions=apply_deletions)
        document |= {part: done[part] for part in ("redacted", "backup", "index")}
        document["imported"] = done["imported"]["entry"]
    else:
        out.facts([("would be imported" if dry_run else "imported", out.counted(new, "entry"))])
    return Result({**document, "seconds": round(monotonic() - began, 1)}, not parsed.rejections)


def _refuse_other_file(name: str, rejections: Sequence[Rejection]) -> NoReturn:
    """Reject a file without any entries, with the reasons for its first lines."""
    shown = [f"line {each.line_number}: {out.one_line(each.reason)}" for each in rejections[:_REASONS]]
    more = len(rejections) - len(shown)
    reasons = "\n".join([*shown, *([f"... and {out.counted(more, 'more line')}"] if more else [])])
    raise InvalidInputError(
        f"{name} holds no entry.\n{reasons}",
        hint="`import` takes an archive that `backup` has written, or lines of JSON, one for each entry.",
    )


def lines_of(file: BinaryIO, name: str, longest: int = LINE_MAX) -> Iterator[bytes]:
    """Yield the lines of a file. A line longer than `longest` bytes raises an error before it is read into RAM."""
    while line := file.readline(longest + 1):
        if len(line) > longest:
            raise InvalidInputError(
                f"{name} has a line of more than {longest:,} bytes, so it is not a file of entries.",
                hint="Each entry is one line of JSON; archives are made by `backup`.",
            )
        yield line


def _show_entries(name: str, document: dict[str, Any]) -> None:
    entries = {part: count and out.counted(count, "entry") for part, count in document.items() if type(count) is int}
    unnamed, repeated, rejected = entries["without_project"], document["repeated"], document["rejected"]
    out.first([f"{name}:{each['line']}: {out.one_line(each['reason'])}" for each in rejected], "red")
    out.facts(
        [
            ("already there", out.counted(document["already_there"], "entry")),
            ("project", unnamed and f"{out.one_line(document['project'])}, for {unnamed} without one"),
            ("forgotten here", entries["forgotten_here"] and f"{entries['forgotten_here']}, not imported"),
            ("repeated", repeated and f"{out.counted(repeated, 'line')} superseded by later ones"),
            ("forgotten there", entries["forgotten_there"]),
            ("rejected", Text(out.counted(len(rejected), "line"), "red") if rejected else None),
            *(
                ("changed", f"{out.one_line(change)}: {count:,} times" if count > 1 else out.one_line(change))
                for change, count in document["changes"].items()
            ),
        ]
    )


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Convert any `OSError` to an InvalidInputError with the path."""
    try:
        yield
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror or error}.") from None


def _compared(
    path: Path, ours: Contents, key: bytes, *, apply_deletions: bool = False, own: bool = False
) -> tuple[Contents, Comparison, dict[str, Any]]:
    """Read an archive, and print the changes. Return its contents, the changes, and an `ArchiveDocument`."""
    with file_errors(path), out.working(f"Verifying {path.name}"), open_archive(path) as archive:
        manifest, theirs = archive.manifest, contents_of(archive)
        comparison = compare(theirs, ours, is_own=own or manifest.is_marked(key))
    present, unknown = (sum(map(len, ids.values())) for ids in (comparison.doomed, comparison.never))
    document = {
        "archive": path.name,
        "created_at": manifest.created_at.isoformat(),
        "program": manifest.program,
        "own": manifest.is_marked(key),
        "project": manifest.project,
        "damaged_lines": manifest.damaged_lines,
        "contents": {
            sort: {
                "new": len(each.new),
                "there": len(each.there),
                "differing": each.differing,
                "forgotten_here": len(each.forgotten_here),
            }
            for sort, each in comparison.sorts.items()
        },
        "cluster_numbers": comparison.numbering.value,
        "forgotten_there": {"present": present, "unknown": unknown},
        # An archive is read as is; a file of entries may use other names for categories.
        "changes": {},
        "rejected": theirs.rejections,
        "applied": False,
    }
    only = "" if manifest.project is None else f", project {out.one_line(manifest.project)} only"
    about = f"{out.date_and_time(manifest.created_at)}, by version {out.one_line(manifest.program)}{only}"
    what = "will be forgotten" if apply_deletions else "kept; `import --apply-deletions` forgets them"
    doomed = Text(f"{out.counted(present, 'item')} present here: {what}", "yellow")
    out.first([out.one_line(reason) for reason in theirs.rejections], "yellow")
    out.facts(
        [
            ("archive", f"{path.name}: {about}"),
            *((sort, _described(difference)) for sort, difference in comparison.sorts.items()),
            ("cluster numbers", _NUMBERING.get(comparison.numbering)),
            ("forgotten there", doomed if present else None),
            ("forgotten there", unknown and f"{out.counted(unknown, 'item')} unknown here: never imported"),
            ("rejected", Text(out.counted(len(theirs.rejections), "line"), "red") if theirs.rejections else None),
        ]
    )
    for sort, difference in comparison.sorts.items():
        out.first([f"{sort} {out.one_line(name)} differs; ours is kept" for name in difference.differing], "yellow")
    if damaged := manifest.damaged_lines:
        out.remark(f"{out.counted(damaged, 'line')} could not be read when this archive was made; see damaged/ in it.")
    return theirs, comparison, document


def _described(difference: Difference) -> Text:
    parts = [
        (difference.new, "new", "green"),
        (difference.there, "already there", ""),
        (difference.differing, "differing (ours is kept)", "yellow"),
        (difference.forgotten_here, "forgotten here (not imported)", "yellow"),
        (difference.of_others, "imported only if the file is yours", "yellow"),
    ]
    said = [Text(f"{len(ids):,} {what}", colour) for ids, what, colour in parts if ids or what == "new"]
    return Text(", ").join(said)


def _claimed(name: str, theirs: Contents, *, own: bool, asks: bool) -> bool:
    """Whether a file is the person's own, who may be asked. Records of any other file are marked as imported."""
    dates = sorted(each.created_at for each in (*theirs.entries.values(), *theirs.open.values()))
    if not own and asks and out.is_a_person() and (dates or theirs.records):
        span = f", from {dates[0]:%Y-%m-%d} to {dates[-1]:%Y-%m-%d}" if dates else ""
        what = f"{out.counted(len(dates), 'entry')} and {out.counted(len(theirs.records), 'other record')}"
        own = out.agrees(f"{name} was not made by this store. Is it your own ({what}{span})?")
    if not own:
        theirs.mark_imported()
    return own


def _ours(settings: Settings) -> Contents:
    stored = Offline(settings)
    return contents_here(stored.journal, stored.collector.list_resolved(), stored.collector.forgotten_ids())


def _take_names(theirs: Contents, comparison: Comparison, settings: Settings) -> int:
    """Import the archive's project names, and return their number. Runs first: imported records use these names."""
    named = comparison.sorts[PROJECT.kind].new if PROJECT.kind in comparison.sorts else []
    keys = [(PROJECT.kind, name) for name in named]
    said = [theirs.records[key].decoded(PROJECT.decode) for key in keys if key in theirs.records]
    if not said:
        return 0
    known = Offline(settings).projects.all()
    return len(change_names(settings, lambda names: names.take_over(said, known)))


async def _import(
    theirs: Contents, comparison: Comparison, settings: Settings, *, apply_deletions: bool
) -> dict[str, Any]:
    """Import the new records. Print the result and return it as fields of an `ArchiveDocument`."""
    began = monotonic()
    entries = [theirs.entries[ghap_id] for ghap_id in comparison.sorts["entry"].new]
    still_open = [theirs.open[ghap_id] for ghap_id in comparison.sorts["open entry"].new]
    forgotten = comparison.never
    if apply_deletions:
        kinds = sorted({*comparison.never, *comparison.doomed})
        forgotten = {kind: [*comparison.never.get(kind, ()), *comparison.doomed.get(kind, ())] for kind in kinds}
    backup = back_up_first(settings) if forgotten or not comparison.changes_nothing else None
    renamed = _take_names(theirs, comparison, settings)
    gone = {"forgotten": 0, "noted": 0}
    async with open_connection(settings, "import") as connection:
        # Cluster numbers first: otherwise the clusters of new entries could get other numbers. Then deletions, so that
        # nothing is imported only to be deleted.
        if comparison.numbering is Numbering.NEW:
            # All in one message: only a complete numbering is valid.
            await connection.run("add_records", records=[record.to_fields() for record in theirs.clusters])
        if forgotten:
            gone = await connection.run("apply_deletions", forgotten=forgotten, existing_too=apply_deletions)
        imported = {"entry": await connection.add([JournalRecord.of(GHAP, entry) for entry in entries])}
        if still_open:
            imported["open entry"] = await connection.add([JournalRecord.of(GHAP, entry) for entry in still_open])
        for kind, difference in comparison.sorts.items():
            named = ((kind, name) for name in difference.new)
            new = [theirs.records[key] for key in named if key in theirs.records]
            if kind == PROJECT.kind:
                imported[kind] = renamed
            elif new:
                imported[kind] = await connection.add(new)
        redacted = dict(connection.redacted)
        index = await complete_index(connection)
    seconds, removed, noted = monotonic() - began, gone["forgotten"], gone["noted"]
    out.facts(
        [
            ("imported", Text(out.counted(imported["entry"], "entry"), "green")),
            ("forgotten", removed + noted and f"{removed:,} here; {out.counted(noted, 'unknown id')} recorded"),
            *(("", out.counted(count, sort)) for sort, count in imported.items() if sort != "entry"),
            ("redacted", Text(listed(redacted), "yellow")),
            ("index", index),
            ("took", f"{seconds:.1f} s"),
        ]
    )
    return {
        "backup": str(backup) if backup else None,
        "imported": imported,
        "forgotten": removed,
        "noted": noted,
        "redacted": redacted,
        "index": index,
        "seconds": round(seconds, 1),
    }
