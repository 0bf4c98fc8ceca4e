"""`import` of an archive, and `restore`: shown before it is done, and done the same way with and without a hub."""

from __future__ import annotations

import json
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import typer
from rich.text import Text

from learning_memory_server.archive.comparison import Comparison, Numbering, compare
from learning_memory_server.archive.contents import CLUSTERS, contents_here, contents_of
from learning_memory_server.archive.reading import is_archive, open_archive
from learning_memory_server.cli.access import open_settings, read_entries, unreadable
from learning_memory_server.cli.connection import open_connection, when_complete
from learning_memory_server.cli.terminal import (
    counted,
    day,
    one_line,
    show_facts,
    show_first,
    show_notice,
    working,
)
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.codec import ghap_to_data
from learning_memory_server.journal.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from learning_memory_server.archive.comparison import Difference
    from learning_memory_server.archive.contents import Contents
    from learning_memory_server.archive.manifest import Manifest
    from learning_memory_server.cli.connection import Connection
    from learning_memory_server.journal.record import JournalRecord
    from learning_memory_server.server.config import Settings

_BATCH: Final = 50
_BATCH_BYTES: Final = 4 * 1024 * 1024
_NUMBERING: Final = {
    Numbering.NEW: "taken over",
    Numbering.THERE: "already there",
    Numbering.SKIPPED: "skipped: what is here has numbers of its own, and they stay",
}


async def import_archive(path: Path, *, dry_run: bool, apply_deletions: bool) -> bool:
    """Take in an archive and tell whether all of it was good.

    Args:
        path: The archive.
        dry_run: Read only, and say what would happen.
        apply_deletions: Forget what is here and was forgotten there.

    Raises:
        InvalidInputError: If the archive is damaged or newer than this program; then nothing was changed.
        AlreadyRunningError: If another process than a hub holds the journal and this is no dry run.
        DeadlineExceededError: If the hub hangs; what it has taken stays, and the import can be repeated.
        JournalUnavailableError: If the journal cannot be used.
    """
    settings = open_settings()
    manifest, theirs = read_archive(path)
    comparison = compare(theirs, _ours(settings))
    _show(path, manifest, theirs, comparison, apply_deletions=apply_deletions)
    if not dry_run:
        await _take_in(theirs, comparison, settings, apply_deletions=apply_deletions)
    return not theirs.rejections


async def restore(path: Path, *, yes: bool) -> bool:
    """Take in an archive, after a question where there is something already; see `import_archive`.

    Raises:
        InvalidInputError: If the file is no archive, damaged, or newer than this program.
    """
    settings = open_settings()
    with unreadable(path):
        if not is_archive(path):
            raise InvalidInputError(f"{path} is no archive.", hint="`import` takes JSONL files.")
    manifest, theirs = read_archive(path)
    ours = _ours(settings)
    comparison = compare(theirs, ours)
    _show(path, manifest, theirs, comparison, apply_deletions=False)
    is_empty = not (ours.entries or ours.open or ours.records or ours.forgotten)
    question = "The journal is not empty. Add what is new, and keep what is here?"
    if not (yes or is_empty or comparison.changes_nothing or typer.confirm(question, err=True)):
        raise typer.Exit(1)
    await _take_in(theirs, comparison, settings, apply_deletions=False)
    return not theirs.rejections


def read_archive(path: Path) -> tuple[Manifest, Contents]:
    """Verify an archive and return what it holds.

    Raises:
        InvalidInputError: If it cannot be read, is damaged, or newer than this program.
        JournalUnavailableError: If a newer program wrote a line of it.
    """
    with unreadable(path), working(f"Verifying {path.name}"), open_archive(path) as archive:
        return archive.manifest, contents_of(archive)


def _ours(settings: Settings) -> Contents:
    collector = read_entries(settings)
    return contents_here(
        Journal(settings.journal_directory), collector.list_resolved(), collector.all_forgotten()
    )


async def _take_in(
    theirs: Contents, comparison: Comparison, settings: Settings, *, apply_deletions: bool
) -> None:
    began = monotonic()
    entries = [theirs.entries[ghap_id] for ghap_id in comparison.sorts["entry"].new]
    still_open = [theirs.open[ghap_id] for ghap_id in comparison.sorts["open entry"].new]
    forgotten = _merged(comparison.never, comparison.doomed if apply_deletions else {})
    facts: list[tuple[str, str | Text]] = []
    async with open_connection(settings, "import") as connection:
        # Numbers first: once an entry is here, clusters could get others. Then deletions, so that nothing is taken
        # in to be forgotten.
        if comparison.numbering is Numbering.NEW:
            await connection.run("add_records", records=[_fields(record) for record in theirs.clusters])
        if forgotten:
            gone = await connection.run("apply_deletions", forgotten=forgotten, found_too=apply_deletions)
            facts.append(("forgotten", f"{gone['forgotten']:,} here, {gone['noted']:,} noted"))
        facts.insert(0, ("imported", Text(counted(await connection.add(entries), "entry"), "green")))
        if still_open:
            added = await connection.run("add_open", entries=[ghap_to_data(entry) for entry in still_open])
            facts.append(("", counted(len(added["added"]), "open entry")))
        for kind, count in (await _add_records(connection, theirs, comparison)).items():
            facts.append(("", counted(count, kind)))
        facts.append(("index", await when_complete(connection)))
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
    """Yield the records in messages that are small enough for a hub's sessions to get their turn in between."""
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
    about = f"{day(manifest.created_at)}, by version {one_line(manifest.program)}"
    if manifest.project is not None:
        about += f", project {one_line(manifest.project)} only"
    facts: list[tuple[str, str | Text]] = [("archive", f"{path.name}: {about}")]
    for sort, difference in comparison.sorts.items():
        facts.append((sort, _described(difference)))
    if comparison.numbering is not Numbering.NONE:
        facts.append((f"{CLUSTERS}' numbers", _NUMBERING[comparison.numbering]))
    if doomed := sum(map(len, comparison.doomed.values())):
        what = "forgotten by this" if apply_deletions else "kept; --apply-deletions of `import` forgets them"
        facts.append(
            (
                "forgotten there",
                Text(
                    f"{counted(doomed, 'thing')} that {'is' if doomed == 1 else 'are'} here: {what}", "yellow"
                ),
            )
        )
    if never := sum(map(len, comparison.never.values())):
        facts.append(("forgotten there", f"{counted(never, 'thing')} unknown here: never taken in"))
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
        show_notice(f"{counted(set_aside, 'line')} could not be read when it was made; see damaged/ in it.")


def _described(difference: Difference) -> Text:
    parts = [
        (difference.new, "new", "green"),
        (difference.there, "already there", ""),
        (difference.differing, "differing (ours is kept)", "yellow"),
        (difference.forgotten_here, "forgotten here (stays so)", "yellow"),
    ]
    said = [Text(f"{len(ids):,} {what}", colour) for ids, what, colour in parts if ids or what == "new"]
    return Text(", ").join(said)
