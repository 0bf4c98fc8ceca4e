"""What takes something out of the stored data for good: records that are forgotten, and secrets stored before."""

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Final

from pydantic import Field

from learning_memory_server.advice.log import without_advice
from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.errors import AWAY, InvalidInputError, LearningMemoryError, NotFoundError
from learning_memory_server.index.document import point_id
from learning_memory_server.index.engines.owner import find_owner
from learning_memory_server.index.memory_chunks import point_ids
from learning_memory_server.journal.codec import JournalRecord, with_data
from learning_memory_server.journal.kinds import GHAP, KINDS, MEMORY, RULE, RULE_COUNT, VALUE
from learning_memory_server.journal.log import journal_errors
from learning_memory_server.journal.records import Records
from learning_memory_server.journal.scanning import Scanner, scan_journal
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.limits import VALUE_MAX
from learning_memory_server.model.memory import Chunking
from learning_memory_server.server.composition.backends import remove_unused_indexes
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.operations.report import Report
from learning_memory_server.server.views import fields
from learning_memory_server.system import files

_SHOWN: Final = VALUE_MAX  # Characters of a memory that a preview shows; values are never longer

Forgetful = Records[Any] | ObservationCollector  # A log with things that can be forgotten


def learned(services: Services) -> dict[str, Forgetful]:
    """Return the logs of all that is learned, by kind: verdicts and advice before what they are about."""
    return {"verdict": services.verdicts, "advice": services.advice_log, **forgetful(services)}


def forgetful(services: Services) -> dict[str, Forgetful]:
    """Return the logs whose items a person can forget, by kind."""
    return {
        "ghap": services.collector,
        "value": services.value_log,
        "memory": services.memory_log,
        "failure": services.failure_log,
        RULE.kind: services.rule_log,
    }


def _wanted(
    services: Services, ids: list[str], project: str | None, *, rules_too: bool, is_purge: bool
) -> tuple[list[str], int]:
    """Return the ids of the things to forget, and how many rules of the project stay."""
    if ids and project:
        raise InvalidInputError("Give either ids or a project.")
    if not (ids or project or is_purge):
        raise InvalidInputError(
            "Give the ids of entries, values, memories, errors or rules, or a project, or only --purge."
        )
    if not rules_too and (named := services.rule_log.look_up(ids).found):
        raise InvalidInputError(f"Only a person forgets a rule, such as {named[0].id}; nothing was forgotten.")
    if not project:
        return ids, 0
    found = {kind: log.look_up_project(project).found for kind, log in forgetful(services).items()}
    staying = 0 if rules_too else len(found.pop(RULE.kind))
    return [each.id for things in found.values() for each in things], staying


async def forget(
    services: Services,
    report: Report,
    *,
    ids: list[str],
    project: str | None,
    purge: bool,
    preview: bool,
    rules_too: bool = False,
) -> dict[str, Any]:
    """Permanently forget entries, values, memories, failures and rules by their ids, or everything in a project.

    Verdicts and advice on them, entries that repeat their texts, and what was counted of rules, go, too. An unknown id
    prevents all. `purge` also removes forgotten things from the journal's files; `preview` changes nothing. Rules stay
    without `rules_too`, which is a person's. The reply has the fields of `forget --json`.
    """
    kept = forgetful(services)
    ids, staying = _wanted(services, ids, project, rules_too=rules_too, is_purge=purge)
    repeating = services.collector.repeating(ids)
    ids = [*ids, *repeating]
    looked = {kind: log.look_up(ids) for kind, log in kept.items()}
    if unknown := set(ids).intersection(*(each.unknown for each in looked.values())):
        raise NotFoundError(
            f"There is no entry, value, memory, error or rule {', '.join(sorted(unknown))}; nothing was forgotten.",
            hint="The commands `list`, `values`, `memories`, `failures` and `rules --json` show ids.",
        )
    found = {kind: [each.id for each in looked[kind].found] for kind in kept}
    citing = services.value_log.citing(found["ghap"])
    verdicts = services.verdicts.about({*found["ghap"], *found["value"]})
    reply: dict[str, Any] = {
        "found": [
            {"kind": kind, "id": each.id, "text": each.goal if isinstance(each, Ghap) else each.text[:_SHOWN]}
            for kind in kept
            for each in looked[kind].found
        ],
        "repeating": repeating,
        "citing": [value.id for value in citing if value.id not in found["value"]],
        "verdicts": [fields(("value_id", "ghap_id", "stance"), each) for each in verdicts],
        "rules_kept": staying,
    }
    if preview:
        return reply
    points, at = [], services.clock()
    # First: if the process dies in between, the entries and values can still be forgotten.
    services.verdicts.forget((each.id for each in verdicts), at)
    services.rule_counts.forget((each.id for name in found[RULE.kind] for each in services.rule_counts.about(name)), at)
    gone = {*found["ghap"], *found["value"], *found[RULE.kind]}
    services.answers.forget((each.id for each in services.answers.all() if each.id in gone), at)
    services.advice_log.forget(services.advice_log.about(gone), at)
    services.failure_log.add(
        *(each for one in services.failure_log.all() if (each := without_advice(one, gone))), at=at
    )
    for kind, log in kept.items():
        log.forget(found[kind], at)
        points += log.points_of(looked[kind])
    # An embedded index that is not open is compared with the journal when it opens, which cannot be said of a server.
    is_later = services.settings.qdrant_url is None and not services.index.is_open
    reply["indexed"] = not points or is_later or await services.writer.remove(points)
    elsewhere = services.servers.elsewhere(services.settings.qdrant_url, find_owner(services.settings.owner_file))
    reply["elsewhere"] = [",".join(each.urls) for each in elsewhere] if points else []
    if purge:
        report("Rewriting the journal's files")
        # Not in a thread: nothing may be appended during the purge.
        purged = services.journal.purge()
        for path in services.settings.retired_files:
            with journal_errors(path):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    files.remove(path)
        reply["removed"] = sum(purged.removed.values())
        reply["doubtful"] = [str(path) for path in purged.doubtful]
    return reply


_KindAndId = Annotated[list[str], Field(min_length=2, max_length=2)]
Lines = list[tuple[bytes, bytes]]  # Lines and open files, and their replacements, which may be the same


async def redact_stored(services: Services, report: Report, *, records: list[_KindAndId]) -> dict[str, Any]:
    """Replace the secrets in records, by kind and id, and in everything unreadable, with markers. May be repeated.

    The journal is rewritten in one step for each file, and the next process completes the index. The reply counts the
    `changed` lines and open entries; `indexed` is false if the index could not be changed yet.
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
    """Return the lines about the wanted records, and their replacements, with new chunks of memories. For a thread."""
    chunk = services.memory_log.chunk
    return [
        (text, text if scanned.text == text else _chunked(scanned.text, chunk))
        for text, scanned in scan_journal(services.journal, scanner, lambda _done, _total: None, wanted)
    ]


def _chunked(line: bytes, chunk: Callable[[str], Chunking]) -> bytes:
    record = JournalRecord.find(line)
    if record is None or record.kind != MEMORY.kind or record.is_tombstone or "cuts" in record.data:
        return line
    memory = record.decoded(MEMORY.decode)
    return with_data(line, MEMORY.encode(replace(memory, chunking=chunk(memory.text))))


def _rewrite(services: Services, lines: Lines) -> int:
    """Rewrite the journal and the services' state, without awaiting; return the number of lines and files."""
    # A later line about the same record supersedes an earlier one.
    said = [
        record for record in (JournalRecord.find(after) for _, after in lines) if record and not record.is_tombstone
    ]
    now = {(record.kind, record.id): record for record in said}
    names = services.journal.names
    things = {
        codec.kind: [names.renamed(each.decoded(codec.decode)) for each in now.values() if each.kind == codec.kind]
        for codec in KINDS.values()
        if codec.check
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
            log.replace_loaded(*things[kind])
        services.rule_counts.replace_loaded(*things[RULE_COUNT.kind])
        services.clusterer.reread_numbers()  # Their labels are words of the texts


async def _open_index(services: Services, report: Report, notices: list[str]) -> bool:
    """Open the index, and remove those that are not in use. Return whether that was possible."""
    report("Loading the embedding model")
    try:
        await services.index.open()
        if remove_unused_indexes(services.settings, await services.index.embeddings.identity()):
            notices.append("Indexes that are not in use were removed: they had the earlier texts.")
    except AWAY as error:
        notices.append(_postponed(error))
        return False
    return True


async def _renew(services: Services, report: Report, notices: list[str]) -> bool:
    """Bring the index up to date. Return whether that was possible."""
    report("Reindexing")
    try:
        await services.writer.renew(partial(report, "Reindexing"))
    except AWAY as error:
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
