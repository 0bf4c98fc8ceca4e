"""What a later program stores under names that this one does not know stays, whatever this one does with it."""

import shutil
import tempfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.archive.contents import checked_thing, entry_of_record
from learning_memory_server.journal.archive.rewriting import purge_archive, redact_archive
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import ADVICE, FAILURE, GHAP, MEMORY, VALUE, VERDICT, RecordKind
from learning_memory_server.journal.records import Records
from learning_memory_server.journal.scanning import Scanner, scan_journal
from learning_memory_server.model.stored import Stored
from learning_memory_server.redaction.redactor import build_redactor
from tests.journal.archive.making import (
    advice_record,
    archived,
    failure_record,
    memory_record,
    read_back,
    value_record,
    verdict_record,
)
from tests.stored_secrets import TOKEN
from tests.support import NOON, forget, full_ghap, numbered

OTHERS = st.dictionaries(
    st.text("xyz", min_size=1, max_size=3),
    st.recursive(st.none() | st.booleans() | st.integers() | st.text("abc "), st.lists, max_leaves=3),
    min_size=1,
    max_size=3,
)
CODECS: tuple[RecordKind[Any], ...] = (GHAP, VALUE, VERDICT, ADVICE, FAILURE, MEMORY)


PARTS = {"ghap": 7, "value": 2, "verdict": 1, "advice": 2, "failure": 1, "memory": 1, "open": 3}
"""How many objects with names of their own a record has, itself included."""


def unknown_in(part: Any) -> list[dict[str, Any]]:
    """Return what a thing, and each part of it, has under unknown names."""
    if isinstance(part, tuple):
        return [each for item in part for each in unknown_in(item)]
    if not isinstance(part, Stored):
        return []
    inner = [each for field in fields(part) for each in unknown_in(getattr(part, field.name))]
    return [dict(part.others), *inner]


def with_unknown(data: Any, others: dict[str, Any]) -> Any:
    """Return data with unknown names in it and in every object of it."""
    if isinstance(data, list):
        return [with_unknown(item, others) for item in data]
    if not isinstance(data, dict):
        return data
    return {**{name: with_unknown(part, others) for name, part in data.items()}, **others}


def others_in(journal: Journal) -> dict[str, list[dict[str, Any]]]:
    logs = (journal.entries, journal.values, journal.verdicts, journal.advice, journal.failures, journal.memories)
    found = {
        each.kind: unknown_in(record.decoded(each.decode))
        for each, log in zip(CODECS, logs, strict=True)
        for record in log.read().records
    }
    (entry,) = journal.open_entries()
    return {**found, "open": unknown_in(entry)}


def written(folder: Path, others: dict[str, Any]) -> Journal:
    """Return a journal with one record of each kind, a secret in each log that has texts, and something forgotten."""
    journal = Journal(folder)
    journal.entries.append([JournalRecord("ghap", numbered(2).id, NOON, GHAP.encode(numbered(2)))])
    entry = replace(full_ghap(), id=numbered(1).id, goal=f"use {TOKEN}")
    memory = memory_record(1)
    records = (
        (journal.entries, JournalRecord("ghap", entry.id, NOON, GHAP.encode(entry))),
        (journal.values, value_record(1)),
        (journal.verdicts, verdict_record(1, entry.id)),
        (journal.advice, advice_record(entry.id, "ghap_2")),
        (journal.failures, failure_record()),
        (journal.memories, memory),
    )
    for log, record in records:
        log.append([replace(record, data=with_unknown(record.data, others))])
    still_open = GHAP.encode(replace(full_ghap(), goal=f"use {TOKEN}", resolution=None))
    journal.save_open(GHAP.decode(with_unknown(still_open, others)))
    return journal


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(OTHERS)
def test_it_stays_in_a_purge_a_redaction_an_archive_and_an_import(others: dict[str, Any]) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        journal = written(folder / "journal", others)
        whole = others_in(journal)
        assert whole == {kind: [others] * count for kind, count in PARTS.items()}

        path = archived(journal, folder / "a.tar")
        forget(journal.entries, "ghap", numbered(2).id)
        journal.purge()
        scanner = Scanner(build_redactor())
        scanned = scan_journal(journal, scanner, lambda _done, _total: None)
        assert journal.rewrite({text: found.text for text, found in scanned if found.findings}) == 2
        assert others_in(journal) == whole

        assert purge_archive(path, {("ghap", numbered(2).id)}) == 1
        assert redact_archive(path, scanner)
        contents = read_back(path)
        assert not contents.rejections
        elsewhere = Journal(folder / "elsewhere")
        Records[Any](elsewhere.entries).add(*contents.entries.values())
        for codec, log in zip(
            CODECS[1:],
            (elsewhere.values, elsewhere.verdicts, elsewhere.advice, elsewhere.failures, elsewhere.memories),
            strict=True,
        ):
            Records[Any](log).add(
                *(codec.decode(record.data) for key, record in contents.records.items() if key[0] == codec.kind)
            )
        for entry in contents.open.values():
            elsewhere.save_open(checked_thing(JournalRecord.of(GHAP, entry)))
        assert others_in(elsewhere) == whole
    finally:
        shutil.rmtree(folder)


def test_too_much_of_it_is_refused() -> None:
    data = {**GHAP.encode(numbered(1)), "mood": "x" * 70_000}
    with pytest.raises(InvalidInputError, match=r"mood: 70,012 bytes of JSON, the limit is 65,536"):
        entry_of_record(JournalRecord("ghap", data["id"], NOON, data))
