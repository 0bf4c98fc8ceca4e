"""Projects that people rename, merge and split: what is read changes, and nothing that was written."""

from dataclasses import replace
from pathlib import Path

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.index.document import digest_of, documents_of
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.journal.archive.contents import checked_thing
from learning_memory_server.journal.archive.writing import take_snapshot
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import FAILURE, GHAP
from learning_memory_server.journal.records import FailureLog
from tests.journal.archive.making import failure_record
from tests.support import ALICE, NOON, ghap, numbered

SHOP, COPY = "github.com/acme/shop", "shop-34a889"


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    journal = Journal(tmp_path / "journal")
    collector = ObservationCollector(journal, lambda: NOON)
    collector.add_resolved([numbered(1, project=SHOP), numbered(2, project=COPY)])
    collector.add_open([ghap(project=COPY)])
    return journal


def projects(journal: Journal) -> list[str]:
    again = Journal(journal.path)
    entries = ObservationCollector(again, lambda: NOON).list_resolved()
    return sorted(each.project for each in (*entries, *again.open_entries()))


def written(journal: Journal) -> str:
    lines = [line for _, _, line in journal.raw_lines()]
    return b"".join([*lines, *(each.read_bytes() for each in journal.open_files())]).decode().replace(" ", "")


def test_what_is_merged_is_read_as_one_and_split_again(journal: Journal) -> None:
    journal.names.merge(COPY, SHOP, NOON)

    assert projects(journal) == [SHOP] * 3
    collector = ObservationCollector(Journal(journal.path), lambda: NOON)
    assert len(collector.list_resolved(EntryQuery(project=SHOP))) == collector.timeline.count(SHOP) == 2
    # What is changed meanwhile keeps what it was written under.
    changed = collector.update(replace(ALICE, project=SHOP), ghap().id, hypothesis="keep it")
    assert changed.project == SHOP
    assert written(journal).count(f'"project":"{COPY}"') == 2
    assert journal.names.split(SHOP, NOON) == [COPY]
    assert projects(journal) == [SHOP, COPY, COPY]


def test_what_is_written_under_a_new_name_keeps_the_id(journal: Journal) -> None:
    journal.names.rename(COPY, "webshop", [SHOP, COPY], NOON)
    collector = ObservationCollector(Journal(journal.path), lambda: NOON)

    collector.add_resolved([numbered(3, project="webshop")])
    collector.add_open([ghap(id="ghap_20260301_120000_eeeeee", project="webshop")])

    assert projects(journal) == [SHOP, *["webshop"] * 4]
    assert written(journal).count(f'"project":"{COPY}"') == 4
    assert '"project":"webshop"' not in written(journal)
    journal.names.rename("webshop", COPY, [SHOP, "webshop"], NOON)
    assert projects(journal) == [SHOP, *[COPY] * 4]


def test_the_name_of_another_project_is_refused_and_both_are_named(journal: Journal) -> None:
    with pytest.raises(InvalidInputError, match=rf"{SHOP} is the name of another project than {COPY}"):
        journal.names.rename(COPY, SHOP, [SHOP, COPY], NOON)
    journal.names.rename(COPY, "webshop", [SHOP, COPY], NOON)
    for name in (COPY, "webshop"):
        with pytest.raises(InvalidInputError, match=f"{name} is the name of another project than {SHOP}"):
            journal.names.rename(SHOP, name, [SHOP, "webshop"], NOON)


def test_projects_cannot_be_merged_in_a_circle(journal: Journal) -> None:
    journal.names.merge(COPY, SHOP, NOON)
    with pytest.raises(InvalidInputError, match="are one project"):
        journal.names.merge(SHOP, COPY, NOON)
    with pytest.raises(InvalidInputError, match="Nothing was merged into"):
        journal.names.split("another", NOON)
    journal.names.rename(SHOP, "webshop", [SHOP], NOON)
    assert projects(journal) == ["webshop"] * 3


def test_failures_of_merged_projects_are_of_one_error(journal: Journal) -> None:
    records = failure_record("a", SHOP), failure_record("b", COPY)
    FailureLog(journal.failures).add(*(FAILURE.decode(each.data) for each in records))
    journal.names.merge(COPY, SHOP, NOON)
    assert [len(each) for each in FailureLog(Journal(journal.path).failures).errors()] == [2]


def test_points_are_made_again_under_another_name_and_no_others(journal: Journal) -> None:
    def digests() -> dict[str, list[str]]:
        entries = ObservationCollector(Journal(journal.path), lambda: NOON).list_resolved()
        return {each.id: [digest_of(document) for document in documents_of(each)] for each in entries}

    before = digests()
    journal.names.merge(COPY, SHOP, NOON)
    after = digests()
    assert [name for name in before if before[name] != after[name]] == [numbered(2).id]
    journal.names.split(SHOP, NOON)
    assert digests() == before


def test_an_entry_that_is_read_as_anothers_is_written_as_its_own(journal: Journal) -> None:
    data = GHAP.encode(numbered(2, project=COPY))
    journal.names.merge(COPY, SHOP, NOON)
    read = GHAP.decode(journal.names.as_read(data))
    assert read.project == SHOP
    assert GHAP.encode(read) == data


def test_an_archive_of_one_project_has_what_is_read_as_it_as_it_was_written(journal: Journal) -> None:
    journal.names.merge(COPY, SHOP, NOON)

    snapshot = take_snapshot(journal.path, SHOP)

    assert (snapshot.records["ghap"], snapshot.records["open"]) == (2, 1)
    assert snapshot.records["project"] == 1
    content = b"".join(bytes(piece.content) for piece in snapshot.pieces.values()).replace(b" ", b"")
    assert content.count(f'"project":"{COPY}"'.encode()) == 2


def test_nothing_that_an_archive_brings_can_say_that_projects_are_one() -> None:
    data = GHAP.encode(numbered(2, project=COPY))
    record = JournalRecord(GHAP.kind, data["id"], NOON, data | {"written_project": SHOP})
    with pytest.raises(InvalidInputError, match="written_project: is not for files"):
        checked_thing(record)
