"""A backup is made by itself before a newer format is written, and a purge removes what is forgotten from archives."""

import json
from pathlib import Path

import pytest

from learning_memory_server.errors import InvalidInputError, JournalUnavailableError
from learning_memory_server.journal.archive.contents import contents_of
from learning_memory_server.journal.archive.reading import open_archive
from learning_memory_server.journal.archive.rewriting import purge_archive
from learning_memory_server.journal.archive.writing import back_up, list_backups, take_snapshot
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.model.limits import BACKUPS_KEPT
from tests.journal.archive.making import (
    archived,
    forged,
    members_of,
    memory_record,
    read_back,
    sealed,
    value_record,
    verdict_record,
)
from tests.support import ALICE, NOON, TickingClock, forget, ghap, numbered


@pytest.fixture
def backups(tmp_path: Path) -> Path:
    return tmp_path / "backups"


def test_an_empty_journal_is_not_backed_up_and_the_newest_ten_are_kept(
    journal: Journal, tmp_path: Path, backups: Path
) -> None:
    assert back_up(Journal(tmp_path / "none"), backups, NOON) is None
    assert not backups.exists()
    clock = TickingClock()
    made = [back_up(journal, backups, clock()) for _ in range(BACKUPS_KEPT + 2)]
    assert [len(each.removed) for each in made if each] == [0] * BACKUPS_KEPT + [1, 1]
    assert list_backups(backups) == [each.path for each in reversed(made) if each][:BACKUPS_KEPT]


@pytest.fixture
def archive(journal: Journal, tmp_path: Path) -> Path:
    """An archive with a memory, two open entries, and lines and open files that cannot be read."""
    journal.memories.append([memory_record(1), memory_record(2)])
    journal.save_open(ghap(id="ghap_20260301_120000_dddddd"))
    with (journal.path / "values.jsonl").open("ab") as values:
        values.write(b'{"text": "of memory-2", broken}\n{broken}\n')
    for name, text in (("ghap_x", '{\n"text":\n"about memory-2"'), ("ghap_y", "{"), ("ghap_z", "{")):
        (journal.path / "open" / f"{name}.json").write_text(text)
    return archived(journal, tmp_path / "a.tar.gz", None)


def test_a_purge_removes_everything_about_what_is_forgotten_and_nothing_else(archive: Path) -> None:
    before = members_of(archive)
    forgotten = {
        ("ghap", numbered(1).id),
        ("ghap", ghap().id),
        ("ghap", "ghap_z"),
        ("memory", "memory-2"),
        ("memory", "memory-9"),
        # Another kind of the same id.
        ("value", "memory-1"),
    }
    assert purge_archive(archive, forgotten, dry_run=True) == 7
    assert members_of(archive) == before
    assert purge_archive(archive, forgotten) == 7
    after = members_of(archive)
    gone = b"".join(after.values())
    for record_id in ("memory-2", ghap().id):
        assert record_id.encode() not in gone
    # Clusters name the ids of entries, and nothing else of them.
    assert numbered(1).id.encode() not in b"".join(
        text for name, text in after.items() if name != "journal/clusters.jsonl"
    )
    assert before.keys() - after.keys() == {
        f"journal/open/{ghap().id}.json",
        "damaged/open/ghap_x.json",
        "damaged/open/ghap_z.json",
    }
    assert after["damaged/values.jsonl"] == b"{broken}\n"
    assert after["damaged/open/ghap_y.json"] == b"{"
    assert json.loads(after["manifest.json"])["created_at"] == json.loads(before["manifest.json"])["created_at"]
    with open_archive(archive) as opened:
        contents = contents_of(opened)
    assert contents.entries.keys() == {numbered(number).id for number in (3, 4)}
    assert contents.records.keys() == {
        ("value", value_record(1).id),
        ("verdict", verdict_record(3, numbered(4).id).id),
        ("memory", "memory-1"),
    }
    assert contents.forgotten == {("ghap", numbered(2).id)}
    assert contents.open.keys() == {"ghap_20260301_120000_dddddd"}
    assert archive.stat().st_mode & 0o777 == 0o600
    assert not list(archive.parent.glob(".*"))
    assert purge_archive(archive, forgotten, dry_run=True) == purge_archive(archive, forgotten) == 0


def test_an_archive_with_nothing_else_in_it_is_removed(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    journal.entries.append([JournalRecord("ghap", numbered(1).id, NOON, GHAP.encode(numbered(1)))])
    path = archived(journal, tmp_path / "a.tar.gz", ALICE.project)
    assert purge_archive(path, {("ghap", numbered(1).id)}) == 1
    assert not path.exists()


def test_an_archive_that_cannot_be_read_is_left_alone(archive: Path, tmp_path: Path) -> None:
    archive.write_bytes(archive.read_bytes()[:-100])
    with pytest.raises(InvalidInputError):
        purge_archive(archive, {("memory", "memory-2")})
    assert archive.exists()
    newer = forged(tmp_path / "b.tar", sealed({"journal/values.jsonl": b'{"data":{},"v":5}\n'}))
    with pytest.raises(JournalUnavailableError):
        purge_archive(newer, {("memory", "memory-2")})
    assert newer.exists()


def test_a_snapshot_covers_another_if_it_has_every_line_and_what_became_of_open_entries(journal: Journal) -> None:
    older = take_snapshot(journal.path)
    journal.memories.append([memory_record(1)])
    newer = take_snapshot(journal.path)
    assert newer.covers(newer)
    assert newer.covers(older)
    assert not older.covers(newer)

    journal.save_open(ghap(goal="another goal"))
    assert not take_snapshot(journal.path).covers(older)
    journal.entries.append([JournalRecord("ghap", ghap().id, NOON, GHAP.encode(numbered(9, id=ghap().id)))])
    assert take_snapshot(journal.path).covers(older)

    with (journal.path / "values.jsonl").open("ab") as values:
        values.write(b"{broken}\n")
    assert not newer.covers(take_snapshot(journal.path))


def test_an_archive_is_removed_only_if_a_fresh_one_has_its_rest(journal: Journal, tmp_path: Path) -> None:
    journal.memories.append([memory_record(1), memory_record(2)])
    first = archived(journal, tmp_path / "a.tar.gz")
    others = Journal(tmp_path / "others")
    others.memories.append([memory_record(2), memory_record(3)])
    second = archived(others, tmp_path / "b.tar.gz")
    forgotten = {("memory", "memory-2")}
    forget(journal.memories, "memory", "memory-2")

    assert purge_archive(first, forgotten, take_snapshot(journal.path)) == 1
    assert not first.exists()
    assert purge_archive(second, forgotten, take_snapshot(journal.path)) == 1
    assert read_back(second).records.keys() == {("memory", "memory-3")}
