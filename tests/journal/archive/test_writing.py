"""An archive has the content of the journal, and is complete or absent."""

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from learning_memory_server.errors import InvalidInputError, JournalUnavailableError
from learning_memory_server.journal.archive.contents import contents_of
from learning_memory_server.journal.archive.reading import is_archive, open_archive
from learning_memory_server.journal.archive.writing import (
    backup_name,
    list_backups,
    prune,
    take_snapshot,
    write_archive,
)
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import GHAP
from tests.journal.archive.making import archived, held, members_of, read_back
from tests.support import ALICE, CONFIRMED, NOON, TickingClock, ghap, numbered


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tgz"])
def test_an_archive_is_read_back_as_it_was_written(journal: Journal, tmp_path: Path, name: str) -> None:
    path = archived(journal, tmp_path / name)
    assert is_archive(path)
    contents = read_back(path)
    ours = held(journal)
    assert contents.entries == ours.entries
    assert contents.open.keys() == ours.open.keys() == {ghap().id}
    assert contents.records == ours.records
    assert contents.clusters == ours.clusters
    assert contents.forgotten == ours.forgotten == {("ghap", numbered(2).id)}
    assert contents.rejections == []


def test_only_the_tombstone_of_a_forgotten_entry_is_archived(journal: Journal, tmp_path: Path) -> None:
    gone = numbered(2)
    members = members_of(archived(journal, tmp_path / "a.tar"))
    lines = members["journal/entries/2026-03.jsonl"].splitlines()
    assert [line for line in lines if gone.id.encode() in line] == [lines[-1]]
    assert JournalRecord.from_line(lines[-1] + b"\n").is_tombstone


def test_a_record_that_was_written_again_counts_once(journal: Journal, tmp_path: Path) -> None:
    before = take_snapshot(journal.path)
    for log in journal.logs.values():
        # Of clusters each line is a change of its own.
        if log is not journal.clusters and (records := log.read().records):
            log.append(records)
    now = take_snapshot(journal.path)
    assert now.records == before.records
    assert sum(piece.lines for piece in now.pieces.values()) > sum(piece.lines for piece in before.pieces.values())
    assert len(journal.clusters.read().records) == now.records["clusters"] > 0
    with open_archive(archived(journal, tmp_path / "a.tar")) as archive:
        counts = [member.records for member in archive.manifest.files.values()]
    assert {kind for each in counts for kind in each} == now.records.keys()
    assert sum(sum(each.values()) for each in counts) == now.records.total()


def test_of_a_forgotten_record_no_line_is_archived_and_it_counts_once(journal: Journal) -> None:
    before = take_snapshot(journal.path)
    journal.entries.append([JournalRecord.of(GHAP, numbered(2)), JournalRecord.of(GHAP, numbered(2))])
    assert take_snapshot(journal.path).forgotten == before.forgotten == 1


def test_a_damaged_line_is_set_aside_unless_it_names_what_is_gone(journal: Journal, tmp_path: Path) -> None:
    segment = journal.path / "entries" / "2026-03.jsonl"
    naming = f'{{"id":"{numbered(2).id}", broken}}\n'.encode()
    segment.write_bytes(b"{broken}\n" + naming + segment.read_bytes() + b'{"unfinished')
    (journal.path / "open" / "ghap_x.json").write_bytes(b"{")
    snapshot = take_snapshot(journal.path)
    assert snapshot.damaged == {"entries/2026-03.jsonl": 1, "open/ghap_x.json": 1}
    assert snapshot.forgotten == 2
    members = members_of(archived(journal, tmp_path / "a.tar"))
    assert members["damaged/entries/2026-03.jsonl"] == b"{broken}\n"
    assert members["damaged/open/ghap_x.json"] == b"{"
    assert not any(b"unfinished" in data for data in members.values())


def test_a_last_line_without_its_line_feed_counts(journal: Journal) -> None:
    segment = journal.path / "entries" / "2026-03.jsonl"
    before = take_snapshot(journal.path).pieces
    segment.write_bytes(segment.read_bytes().removesuffix(b"\n"))
    assert take_snapshot(journal.path).pieces == before


@pytest.mark.parametrize("name", ["entries", "memories", "open"])
def test_an_unreadable_folder_is_an_error(name: str, journal: Journal) -> None:
    folder = journal.path / name
    if folder.exists():
        folder.rename(folder.with_name("elsewhere"))
    folder.touch()
    with pytest.raises(JournalUnavailableError, match=name):
        take_snapshot(journal.path)


def test_unknown_logs_are_archived_too(journal: Journal, tmp_path: Path) -> None:
    record = JournalRecord("dream", "d_1", NOON, {"text": "sheep"})
    (journal.path / "dreams").mkdir()
    (journal.path / "dreams" / "2026-03.jsonl").write_bytes(record.to_line())
    path = archived(journal, tmp_path / "a.tar")
    assert members_of(path)["journal/dreams/2026-03.jsonl"] == record.to_line()
    with open_archive(path) as archive:
        assert archive.manifest.files["journal/dreams/2026-03.jsonl"].records == {"dream": 1}
        rejections = contents_of(archive).rejections
    assert rejections == ["dreams/2026-03.jsonl:1: this program does not know records of the kind 'dream'."]


def test_the_export_of_a_project_has_no_line_of_another(journal: Journal, tmp_path: Path) -> None:
    with (journal.path / "values.jsonl").open("ab") as values:
        values.write(b"{broken}\n")
    journal.save_open(ghap(id="ghap_20260301_120000_eeeeee", project="acme/site"))
    snapshot = take_snapshot(journal.path, ALICE.project)
    assert snapshot.records == {"ghap": 2, "value": 1, "verdict": 1, "open": 1}
    assert snapshot.tombstones == 1
    assert snapshot.elsewhere == 5
    path = archived(journal, tmp_path / "a.tar", ALICE.project)
    assert not any(b"acme/site" in data for data in members_of(path).values())
    assert json.loads(members_of(path)["manifest.json"])["project"] == ALICE.project


def test_an_entry_that_is_open_and_resolved_is_resolved(journal: Journal) -> None:
    resolved = ghap(resolution=CONFIRMED)
    journal.entries.append([JournalRecord("ghap", resolved.id, NOON, GHAP.encode(resolved))])
    assert take_snapshot(journal.path).records["open"] == 0


@pytest.mark.parametrize("place", ["entries/2026-04.jsonl", "open/ghap_new.json"])
def test_lines_of_a_newer_program_are_not_exported(journal: Journal, place: str) -> None:
    (journal.path / place).write_text('{"data":{},"v":5}\n')
    with pytest.raises(JournalUnavailableError, match="format 5"):
        take_snapshot(journal.path)


def test_an_archive_is_private_and_replaces_a_file_only_on_request(journal: Journal, tmp_path: Path) -> None:
    path = archived(journal, tmp_path / "a.tar.gz")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()
    snapshot = take_snapshot(journal.path)
    with pytest.raises(InvalidInputError, match="already exists"):
        write_archive(path, snapshot, NOON)
    assert path.read_bytes() == before
    snapshot.pieces.clear()
    write_archive(path, snapshot, NOON, replace=True)
    assert set(members_of(path)) == {"manifest.json"}
    (tmp_path / "b.tar").mkdir()
    with pytest.raises(InvalidInputError, match="already exists"):
        write_archive(tmp_path / "b.tar", snapshot, NOON, replace=True)
    with pytest.raises(InvalidInputError, match="must end with"):
        write_archive(tmp_path / "a.zip", snapshot, NOON)
    with pytest.raises(InvalidInputError, match="cannot be written: No such file"):
        write_archive(tmp_path / "none" / "a.tar", snapshot, NOON)
    assert not list(tmp_path.glob(".*"))


WRITER = """
import os, signal, sys
from pathlib import Path
from learning_memory_server.journal.archive import writing
from learning_memory_server.journal.archive.writing import take_snapshot
from tests.support import NOON

class Dies(bytearray):
    '''Content whose length is asked for when it is its turn to be written.'''
    asked = 0
    def __len__(self):
        self.asked += 1
        if self.asked > 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__len__()

snapshot = take_snapshot(Path(sys.argv[1]))
piece = snapshot.pieces["journal/values.jsonl"]
piece.content = Dies(piece.content)
writing.write_archive(Path(sys.argv[2]), snapshot, NOON, replace=True)
"""


@pytest.mark.slow
def test_a_killed_writer_leaves_no_incomplete_archive(journal: Journal, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    path = folder / backup_name(NOON)
    command = [sys.executable, "-c", WRITER, str(journal.path), str(path)]
    for before in (None, b"an older one"):
        if before:
            path.write_bytes(before)
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": "."}, check=False)
        assert done.returncode == -signal.SIGKILL
        assert (path.read_bytes() if path.exists() else None) == before
        assert len(list(folder.glob(".*"))) == 1
    path.unlink()
    archived(journal, path)
    with open_archive(path):
        pass
    (folder / ".learning-memory-1.tar.gz.tmp").touch()
    prune(folder, 1)
    assert list(folder.iterdir()) == [path]


def test_pruning_keeps_the_newest_backups_and_all_other_files(tmp_path: Path) -> None:
    clock = TickingClock()
    names = [backup_name(clock()) for _ in range(5)]
    for name in (*names, "notes.txt", "learning-memory-old.tar.gz"):
        (tmp_path / name).touch()
    removed = prune(tmp_path, 2)
    assert [path.name for path in removed] == names[2::-1]
    assert [path.name for path in list_backups(tmp_path)] == names[:2:-1]
    assert (tmp_path / "learning-memory-old.tar.gz").exists()
    assert (tmp_path / "notes.txt").exists()
