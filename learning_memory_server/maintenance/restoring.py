"""`restore`, and `import` of an archive: shows what will change, then does it."""

from __future__ import annotations

import json
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import typer
from rich.text import Text

from learning_memory_server.access.connection import complete_index, open_connection
from learning_memory_server.access.reading import open_settings, read_entries
from learning_memory_server.archive.comparison import Comparison, Numbering, compare
from learning_memory_server.archive.contents import contents_here, contents_of
from learning_memory_server.archive.reading import is_archive, open_archive
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.codec import ghap_to_data
from learning_memory_server.journal.journal import Journal
from learning_memory_server.maintenance.exporting import back_up_first
from learning_memory_server.redaction.gate import listed
from learning_memory_server.terminal import (
    counted,
    date_and_time,
    one_line,
    show_facts,
    show_first,
    show_notice,
    working,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from learning_memory_server.access.connection import Connection
    from learning_memory_server.archive.comparison import Difference
    from learning_memory_server.archive.contents import Contents
    from learning_memory_server.archive.manifest import Manifest
    from learning_memory_server.journal.line import JournalRecord
    from learning_memory_server.settings import Settings

_BATCH: Final = 50
_BATCH_BYTES: Final = 4 * 1024 * 1024
_NUMBERING: Final = {
    Numbering.NEW: "new",
    Numbering.THERE: "already there",
    Numbering.SKIPPED: "skipped: clusters here are numbered already",
}


async def import_archive(path: Path, *, dry_run: bool, apply_deletions: bool) -> bool:
    """Import an archive. Return whether every line was accepted.

    Args:
        path: The archive.
        dry_run: Only say what would happen.
        apply_deletions: Also forget whatever the archive records as forgotten.

    Raises:
        InvalidInputError: If the archive is damaged or newer than this program; nothing was changed then.
        AlreadyRunningError: If a process other than a hub uses the journal. A dry run needs no lock.
        DeadlineExceededError: If the hub hangs; what it has acknowledged stays, and the import can be repeated.
        JournalUnavailableError: If the journal cannot be used.
    """
    settings = open_settings()
    manifest, theirs = _read_archive(path)
    comparison = compare(theirs, _ours(settings))
    _show(path, manifest, theirs, comparison, apply_deletions=apply_deletions)
    if not dry_run:
        await _import(theirs, comparison, settings, apply_deletions=apply_deletions)
    return not theirs.rejections


async def restore(path: Path, *, yes: bool) -> bool:
    """Import an archive, after asking unless the journal is empty; see `import_archive`.

    Args:
        path: The archive.
        yes: Do not ask.

    Raises:
        InvalidInputError: If the file is not an archive, is damaged, or newer than this program.
    """
    settings = open_settings()
    with file_errors(path):
        if not is_archive(path):
            raise InvalidInputError(
                f"{path} is not an archive.", hint="To import a JSONL file, use `import`."
            )
    manifest, theirs = _read_archive(path)
    ours = _ours(settings)
    comparison = compare(theirs, ours)
    _show(path, manifest, theirs, comparison, apply_deletions=False)
    is_empty = not (ours.entries or ours.open or ours.records or ours.forgotten)
    question = "The journal is not empty. Add what is new, and keep what is here?"
    if not (yes or is_empty or comparison.changes_nothing or typer.confirm(question, err=True)):
        raise typer.Exit(1)
    await _import(theirs, comparison, settings, apply_deletions=False)
    return not theirs.rejections


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Say which file cannot be read.

    Raises:
        InvalidInputError: In place of any `OSError`.
    """
    try:
        yield
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror or error}.") from None


def _read_archive(path: Path) -> tuple[Manifest, Contents]:
    """Verify an archive and return its manifest and contents."""
    with file_errors(path), working(f"Verifying {path.name}"), open_archive(path) as archive:
        return archive.manifest, contents_of(archive)


def _ours(settings: Settings) -> Contents:
    collector = read_entries(settings)
    return contents_here(
        Journal(settings.journal_directory), collector.list_resolved(), collector.all_forgotten()
    )


async def _import(
    theirs: Contents, comparison: Comparison, settings: Settings, *, apply_deletions: bool
) -> None:
    began = monotonic()
    entries = [theirs.entries[ghap_id] for ghap_id in comparison.sorts["entry"].new]
    still_open = [theirs.open[ghap_id] for ghap_id in comparison.sorts["open entry"].new]
    forgotten = _merged(comparison.never, comparison.doomed if apply_deletions else {})
    facts: list[tuple[str, str | Text]] = []
    if forgotten or not comparison.changes_nothing:
        back_up_first(settings)
    async with open_connection(settings, "import") as connection:
        # Cluster numbers first: once entries are here, their clusters could get other numbers. Then deletions, so that
        # nothing is imported only to be forgotten.
        if comparison.numbering is Numbering.NEW:
            await connection.run("add_records", records=[_fields(record) for record in theirs.clusters])
        if forgotten:
            gone = await connection.run("apply_deletions", forgotten=forgotten, existing_too=apply_deletions)
            facts.append(
                ("forgotten", f"{gone['forgotten']:,} here; {counted(gone['noted'], 'unknown id')} recorded")
            )
        facts.insert(0, ("imported", Text(counted(await connection.add(entries), "entry"), "green")))
        if still_open:
            added = await connection.run("add_open", entries=[ghap_to_data(entry) for entry in still_open])
            facts.append(("", counted(len(added["added"]), "open entry")))
        for kind, count in (await _add_records(connection, theirs, comparison)).items():
            facts.append(("", counted(count, kind)))
        if connection.redacted:
            facts.append(("redacted", Text(listed(connection.redacted), "yellow")))
        facts.append(("index", await complete_index(connection)))
    show_facts([*facts, ("took", f"{monotonic() - began:.1f} s")])


async def _add_records(connection: Connection, theirs: Contents, comparison: Comparison) -> dict[str, int]:
    done: dict[str, int] = {}
    for kind, difference in comparison.sorts.items():
        new = [theirs.records[kind, name] for name in difference.new if (kind, name) in theirs.records]
        for batch in _batches(new):
            added = (await connection.run("add_records", records=batch))["added"]
            done[kind] = done.get(kind, 0) + len(added)
    return done


def _batches(records: list[JournalRecord]) -> Iterator[list[dict[str, Any]]]:
    """Yield the records in batches small enough that a hub can serve its sessions in between."""
    batch: list[dict[str, Any]] = []
    size = 0
    for record in records:
        fields = _fields(record)
        length = len(json.dumps(fields))
        if batch and (len(batch) == _BATCH or size + length > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(fields)
        size += length
    if batch:
        yield batch


def _fields(record: JournalRecord) -> dict[str, Any]:
    return {"kind": record.kind, "id": record.id, "at": record.at.isoformat(), "data": record.data}


def _merged(*parts: Mapping[str, list[str]]) -> dict[str, list[str]]:
    kinds = {kind for part in parts for kind in part}
    return {kind: [name for part in parts for name in part.get(kind, ())] for kind in sorted(kinds)}


def _show(
    path: Path, manifest: Manifest, theirs: Contents, comparison: Comparison, *, apply_deletions: bool
) -> None:
    about = f"{date_and_time(manifest.created_at)}, by version {one_line(manifest.program)}"
    if manifest.project is not None:
        about += f", project {one_line(manifest.project)} only"
    facts: list[tuple[str, str | Text]] = [("archive", f"{path.name}: {about}")]
    for sort, difference in comparison.sorts.items():
        facts.append((sort, _described(difference)))
    if comparison.numbering is not Numbering.NONE:
        facts.append(("cluster numbers", _NUMBERING[comparison.numbering]))
    if doomed := sum(map(len, comparison.doomed.values())):
        what = "will be forgotten" if apply_deletions else "kept; `import --apply-deletions` forgets them"
        facts.append(("forgotten there", Text(f"{counted(doomed, 'item')} present here: {what}", "yellow")))
    if never := sum(map(len, comparison.never.values())):
        facts.append(("forgotten there", f"{counted(never, 'item')} unknown here: never imported"))
    facts += [("changed", f"{one_line(change)} ({count}x)") for change, count in theirs.changes.most_common()]
    if theirs.rejections:
        facts.append(("rejected", Text(counted(len(theirs.rejections), "line"), "red")))
    show_first([one_line(reason) for reason in theirs.rejections], "yellow")
    show_facts(facts)
    for sort, difference in comparison.sorts.items():
        show_first(
            [f"{sort} {one_line(name)} differs; ours is kept" for name in difference.differing], "yellow"
        )
    if set_aside := manifest.damaged_lines:
        show_notice(
            f"{counted(set_aside, 'line')} could not be read when this archive was made; see damaged/ in it."
        )


def _described(difference: Difference) -> Text:
    parts = [
        (difference.new, "new", "green"),
        (difference.there, "already there", ""),
        (difference.differing, "differing (ours is kept)", "yellow"),
        (difference.forgotten_here, "forgotten here (not imported)", "yellow"),
    ]
    said = [Text(f"{len(ids):,} {what}", colour) for ids, what, colour in parts if ids or what == "new"]
    return Text(", ").join(said)
