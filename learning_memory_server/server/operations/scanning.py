"""The operation `redact_stored`: replace secrets that are stored already, first in the journal, then in the index."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Final

from pydantic import Field

from learning_memory_server.errors import EmbeddingUnavailableError, LearningMemoryError, StorageUnavailableError
from learning_memory_server.index.document import point_id
from learning_memory_server.index.memory_chunks import point_ids
from learning_memory_server.journal.codec import (
    ADVICE,
    FAILURE,
    GHAP,
    MEMORY,
    VALUE,
    VERDICT,
    Codec,
    DamagedLineError,
    JournalRecord,
    with_data,
)
from learning_memory_server.journal.log import journal_errors
from learning_memory_server.journal.scanning import Scanner, scan_journal
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.memory import Chunking
from learning_memory_server.server.composition.backends import remove_unused_indexes
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.operations.forgetting import learned
from learning_memory_server.server.operations.report import Report

_CODECS: Final[tuple[Codec[Any], ...]] = (GHAP, VALUE, VERDICT, ADVICE, FAILURE, MEMORY)
_KindAndId = Annotated[list[str], Field(min_length=2, max_length=2)]
Lines = list[tuple[bytes, bytes]]
"""Lines and open files as they are, and what is to stand in their place, which may be the same."""


async def redact_stored(services: Services, report: Report, *, records: list[_KindAndId]) -> dict[str, Any]:
    """Replace the secrets in records, by kind and id, and in everything unreadable, with markers. May be repeated.

    Searches and writes continue. The journal is rewritten in one step for each file. If the process dies then, the
    next one completes the index. The reply counts the lines and open entries that were `changed`; `indexed` is false if
    the index could not be changed yet.
    """
    scanner = Scanner(services.redaction.redactor)
    wanted = {(kind, record_id) for kind, record_id in records}

    def redacted(entry: Ghap) -> Ghap:
        return GHAP.decode(scanner.redact(GHAP.kind, GHAP.encode(entry)).data)

    # First: an entry that is resolved from now on is stored without its secrets.
    changed = services.collector.rewrite_open([name for kind, name in wanted if kind == GHAP.kind], redacted)
    lines = await asyncio.to_thread(_scanned, services, scanner, wanted)
    notices: list[str] = []
    has_changed = any(before != after for before, after in lines)
    is_open = True
    if has_changed or services.outdated.ids():
        is_open = await _open_index(services, report, notices)
    if has_changed:
        report("Rewriting the journal's files")
        changed += _rewrite(services, lines)
    indexed = is_open and await _renew(services, report, notices)
    return {"changed": changed, "indexed": indexed, "notices": notices}


def _scanned(services: Services, scanner: Scanner, wanted: set[tuple[str, str]]) -> Lines:
    """Return the lines about the wanted records, and what is to stand in their place. For a thread.

    Memories whose texts change are chunked here, so that no start has to do it.
    """
    chunk = services.memory_log.chunk
    return [
        (text, text if scanned.text == text else _chunked(scanned.text, chunk))
        for text, scanned in scan_journal(services.journal, scanner, lambda _done, _total: None, wanted)
    ]


def _chunked(line: bytes, chunk: Callable[[str], Chunking]) -> bytes:
    record = _record(line)
    if record is None or record.kind != MEMORY.kind or record.is_tombstone or "cuts" in record.data:
        return line
    memory = record.decoded(MEMORY.decode)
    return with_data(line, MEMORY.encode(replace(memory, chunking=chunk(memory.text))))


def _rewrite(services: Services, lines: Lines) -> int:
    """Rewrite the journal, and what the services know of it. Return how many lines and files were replaced.

    Not in a thread, and without awaiting: nothing may be written at the same time.
    """
    # A later line about the same record supersedes an earlier one.
    said = [record for record in (_record(after) for _, after in lines) if record and not record.is_tombstone]
    now = {(record.kind, record.id): record for record in said}
    things = {
        codec.kind: [each.decoded(codec.decode) for each in now.values() if each.kind == codec.kind]
        for codec in _CODECS
    }
    points = [point_id(kind, each.id) for kind in (GHAP.kind, VALUE.kind) for each in things[kind]]
    for memory in things[MEMORY.kind]:
        if earlier := services.memory_log.find(memory.id):
            points += point_ids(memory.id, services.memory_log.chunks_of(earlier))
    # Before the journal: if the process dies in between, points are rebuilt without need.
    with journal_errors(services.settings.outdated_file):
        services.outdated.add(points)
    try:
        return services.journal.rewrite({before: after for before, after in lines if before != after})
    finally:
        # Even if a file could not be replaced: others were, and the index is built from what is held here.
        for kind, log in learned(services).items():
            log.hold(*things[kind])
        # Their labels are words of the texts.
        services.clusterer.reread_numbers()


async def _open_index(services: Services, report: Report, notices: list[str]) -> bool:
    """Open the index, and remove those that are not in use. Return whether that was possible."""
    report("Loading the embedding model")
    try:
        await services.index.open()
        if remove_unused_indexes(services.settings, await services.index.embeddings.identity()):
            notices.append("Indexes that are not in use were removed: they had the earlier texts.")
    except (EmbeddingUnavailableError, StorageUnavailableError) as error:
        notices.append(_postponed(error))
        return False
    return True


async def _renew(services: Services, report: Report, notices: list[str]) -> bool:
    """Bring the index up to date. Return whether that was possible."""
    report("Reindexing")
    try:
        await services.writer.renew(partial(report, "Reindexing"))
    except (EmbeddingUnavailableError, StorageUnavailableError) as error:
        notices.append(_postponed(error))
        return False
    except asyncio.CancelledError:
        # The command is gone; the background task does the rest.
        services.writer.postpone(())
        raise
    # A fit may have been running, with a label of the earlier texts.
    services.clusterer.reread_numbers()
    return True


def _postponed(error: LearningMemoryError) -> str:
    return f"{error.sentence} The index is brought up to date as soon as that is possible."


def _record(line: bytes) -> JournalRecord | None:
    """Return the record in a line; None if it has none, or is an open entry's file."""
    try:
        return JournalRecord.from_line(line)
    except DamagedLineError:
        return None
