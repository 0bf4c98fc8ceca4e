"""What a later program stores under names that this one does not know stays, whatever this one does with it."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.archive.contents import contents_of
from learning_memory_server.journal.archive.entries_importing import entry_of_record, open_entry_of
from learning_memory_server.journal.archive.reading import open_archive
from learning_memory_server.journal.archive.rewriting import purge_archive, redact_archive
from learning_memory_server.journal.codec import ADVICE, FAILURE, GHAP, MEMORY, VALUE, VERDICT, Codec
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.line import JournalRecord
from learning_memory_server.journal.records import Records
from learning_memory_server.journal.scanning import Scanner, scan_journal
from learning_memory_server.redaction.redactor import build_redactor
from tests.journal.archive.making import (
    advice_record,
    archived,
    failure_record,
    memory_record,
    value_record,
    verdict_record,
)
from tests.stored_secrets import TOKEN
from tests.support import NOON, forget, ghap, numbered

OTHERS = st.dictionaries(
    st.text("xyz", min_size=1, max_size=3),
    st.recursive(st.none() | st.booleans() | st.integers() | st.text("abc "), st.lists, max_leaves=3),
    min_size=1,
    max_size=3,
)
CODECS: tuple[Codec[Any], ...] = (GHAP, VALUE, VERDICT, ADVICE, FAILURE, MEMORY)


def others_in(journal: Journal) -> dict[str, Any]:
    logs = (
        journal.entries,
        journal.values,
        journal.verdicts,
        journal.advice,
        journal.failures,
        journal.memories,
    )
    found = {
        each.kind: record.decoded(each.decode).others
        for each, log in zip(CODECS, logs, strict=True)
        for record in log.read().records
    }
    (entry,) = journal.open_entries()
    return {**found, "open": entry.others}


def written(folder: Path, others: dict[str, Any]) -> Journal:
    """Return a journal with one record of each kind, a secret in each log that has texts, and something forgotten."""
    journal = Journal(folder)
    journal.entries.append([JournalRecord("ghap", numbered(2).id, NOON, GHAP.encode(numbered(2)))])
    entry = GHAP.encode(numbered(1, goal=f"use {TOKEN}"))
    journal.entries.append([JournalRecord("ghap", entry["id"], NOON, {**entry, **others})])
    journal.values.append([value_record(1, **others)])
    journal.verdicts.append([verdict_record(1, numbered(1).id, **others)])
    journal.advice.append([advice_record(numbered(1).id, "ghap_2", **others)])
    journal.failures.append([failure_record(**others)])
    memory = memory_record(1)
    journal.memories.append([JournalRecord("memory", memory.id, NOON, {**memory.data, **others})])
    journal.save_open(GHAP.decode({**GHAP.encode(ghap(goal=f"use {TOKEN}")), **others}))
    return journal


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(OTHERS)
def test_it_stays_in_a_purge_a_redaction_an_archive_and_an_import(others: dict[str, Any]) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        journal = written(folder / "journal", others)
        whole = others_in(journal)
        assert list(whole) == [*(codec.kind for codec in CODECS), "open"]
        assert all(found == others for found in whole.values())

        path = archived(journal, folder / "a.tar")
        forget(journal.entries, "ghap", numbered(2).id)
        journal.purge()
        scanner = Scanner(build_redactor())
        scanned = scan_journal(journal, scanner, lambda _done, _total: None)
        assert journal.rewrite({text: found.text for text, found in scanned if found.findings}) == 2
        assert others_in(journal) == whole

        assert purge_archive(path, {("ghap", numbered(2).id)}) == 1
        assert redact_archive(path, scanner)
        with open_archive(path) as archive:
            contents = contents_of(archive)
        assert not contents.rejections
        elsewhere = Journal(folder / "elsewhere")
        Records(elsewhere.entries, GHAP).add(*contents.entries.values())
        for codec, log in zip(
            CODECS[1:],
            (elsewhere.values, elsewhere.verdicts, elsewhere.advice, elsewhere.failures, elsewhere.memories),
            strict=True,
        ):
            Records(log, codec).add(
                *(
                    codec.decode(record.data)
                    for key, record in contents.records.items()
                    if key[0] == codec.kind
                )
            )
        for entry in contents.open.values():
            elsewhere.save_open(open_entry_of(GHAP.encode(entry)))
        assert others_in(elsewhere) == whole
    finally:
        shutil.rmtree(folder)


def test_too_much_of_it_is_refused() -> None:
    data = {**GHAP.encode(numbered(1)), "mood": "x" * 70_000}
    with pytest.raises(InvalidInputError, match=r"mood: 70,012 bytes of JSON, the limit is 65,536"):
        entry_of_record(JournalRecord("ghap", data["id"], NOON, data))
