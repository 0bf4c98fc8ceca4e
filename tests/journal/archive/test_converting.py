"""Journals and archives of earlier formats are rewritten into the present one, and the earlier files stay."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal.archive.contents import contents_of
from learning_memory_server.journal.archive.converting import convert_archive, convert_journal
from learning_memory_server.journal.archive.reading import open_archive
from learning_memory_server.journal.formats import Format
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.line import JournalRecord
from tests.journal.archive.making import members_of
from tests.support import NOON

DATA = Path(__file__).parents[2] / "data"


def records(journal: Journal) -> list[JournalRecord]:
    return [
        record for log in (journal.entries, journal.values, journal.clusters) for record in log.read().records
    ]


def test_a_journal_says_the_same_in_the_present_format(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(DATA / "journal-v1-018d22f", tmp_path / "journal"))
    with (folder / "values.jsonl").open("ab") as file:
        file.write(b'{"damaged","v":1}\n')
    (folder / "evidence.jsonl").write_bytes(JournalRecord("evidence", "one", NOON, {}).to_line(Format()))
    before = {path: path.read_bytes() for path in folder.rglob("*.json*")}
    said, still_open = records(Journal(folder)), Journal(folder).open_entries()

    kept = convert_journal(folder, NOON)

    assert {Path(str(path).partition(".earlier-")[0]): path.read_bytes() for path in kept} == before
    assert not (folder / "evidence.jsonl").exists()
    assert (records(Journal(folder)), Journal(folder).open_entries()) == (said, still_open)
    lines = b"".join(path.read_bytes() for path in folder.rglob("*.jsonl")).splitlines()
    assert [line for line in lines if not line.endswith(b'"v":4}')] == [b'{"damaged","v":1}']
    assert convert_journal(folder, NOON) == []


def test_an_archive_says_the_same_in_the_present_layout(tmp_path: Path) -> None:
    path = tmp_path / "archive.tar.gz"
    shutil.copy(DATA / "archive-v1-6a272ea.tar.gz", path)
    with open_archive(path) as archive:
        before = contents_of(archive)
    (kept,) = convert_archive(path, NOON)
    assert kept.read_bytes() == (DATA / "archive-v1-6a272ea.tar.gz").read_bytes()
    with open_archive(path) as archive:
        assert contents_of(archive) == before
    assert "SHA256SUMS" not in members_of(path)
    assert convert_archive(path, NOON) == []


def test_a_newer_journal_is_left_alone(tmp_path: Path) -> None:
    newer = JournalRecord("value", "one", NOON, {}).to_line().replace(b'"v":4}', b'"v":5}')
    lines = JournalRecord("value", "one", NOON, {}).to_line(Format()) + newer
    (tmp_path / "values.jsonl").write_bytes(lines)
    with pytest.raises(JournalUnavailableError, match="format 5"):
        convert_journal(tmp_path, NOON)
    assert (tmp_path / "values.jsonl").read_bytes() == lines
