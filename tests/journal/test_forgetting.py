"""What is forgotten disappears from every read immediately, and from the files after a purge."""

import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.journal.log import Log
from learning_memory_server.journal.records import Forgetting, Records
from tests.journal.mortal import deaths
from tests.support import NOON, forget, ghap, numbered

A, B, C = numbered(1), numbered(2), numbered(3)


def line(number: int, *, month: int = 0) -> JournalRecord:
    entry = numbered(number, goal=f"goal {number}")
    return JournalRecord("ghap", entry.id, NOON + timedelta(days=31 * month), GHAP.encode(entry))


def ids_of(log: Log) -> list[str]:
    return [record.id for record in log.read().records]


def written(path: Path) -> tuple[int, int]:
    """Return which file it is, and when it was last written; reading it changes neither."""
    about = path.stat()
    return about.st_ino, about.st_mtime_ns


@pytest.fixture
def three_months(journal: Journal) -> Journal:
    """Three files of three lines each, the middle one forgotten."""
    for month in range(3):
        journal.entries.append([line(month * 3 + number, month=month) for number in range(3)])
    forgotten = [numbered(number).id for number in (1, 4, 7)]
    forget(journal.entries, "ghap", *forgotten, at=NOON + timedelta(days=63))
    return journal


def test_a_forgotten_id_has_no_lines_left_to_read(journal: Journal) -> None:
    journal.entries.append([line(1), line(2)])
    journal.entries.append([line(1)])

    forget(journal.entries, "ghap", A.id)

    content = journal.entries.read()
    assert [record.id for record in content.records] == [B.id]
    assert content.forgotten == {("ghap", A.id)}
    assert journal.damage() == []


def test_no_later_line_brings_a_forgotten_id_back(journal: Journal) -> None:
    journal.entries.append([line(1)])
    forget(journal.entries, "ghap", A.id)
    journal.entries.append([line(1)])

    assert ids_of(journal.entries) == []


def test_a_tombstone_counts_even_in_an_earlier_file_than_the_entry(journal: Journal) -> None:
    journal.entries.append([line(1, month=2)])
    forget(journal.entries, "ghap", A.id)

    assert [path.name for path in journal.entries.segments()] == ["2026-03.jsonl", "2026-05.jsonl"]
    assert ids_of(journal.entries) == []


def test_the_same_id_of_another_kind_is_another_thing(journal: Journal) -> None:
    journal.values.append([JournalRecord("value", "one", NOON, {}), JournalRecord("memory", "one", NOON, {})])

    forget(journal.values, "memory", "one")

    assert [record.kind for record in journal.values.read().records] == ["value"]


def test_forgetting_nothing_writes_nothing(journal: Journal) -> None:
    Records[Any](journal.entries).forget([], NOON)

    assert not journal.path.exists()


def test_a_forgotten_entry_loses_its_open_file_at_the_next_start(journal: Journal) -> None:
    journal.save_open(ghap())
    forget(journal.entries, "ghap", ghap().id)

    journal.recover(NOON)

    assert journal.open_files() == []


def test_the_next_start_removes_incomplete_files(journal: Journal) -> None:
    journal.save_open(ghap())
    journal.entries.append([line(1)])
    half = [
        journal.path / "open" / "ghap_x.json.tmp",
        journal.path / "entries" / "2026-03.jsonl.tmp",
        journal.path / "values.jsonl.tmp",
        journal.path / "values.jsonl.corrupt-20260101T000000000000Z.tmp",
    ]
    for path in half:
        path.write_text("{")
    mine = journal.path / "mine.tmp"
    mine.write_text("somebody's own")

    journal.recover(NOON)

    assert not any(path.exists() for path in half)
    assert mine.exists()
    assert journal.open_entries() == [ghap()]


def test_a_look_up_counts_each_id_once_and_separates_the_unknown(journal: Journal) -> None:
    records = Records[Any](journal.entries)
    records.forget(["gone"], NOON, unknown_too=True)
    records.add(A, B)

    looked_up = records.look_up([B.id, "gone", A.id, B.id, "never"])

    assert looked_up == Forgetting((B, A), ("gone",), ("never",))


def test_a_purge_removes_the_text_and_keeps_the_tombstone(three_months: Journal) -> None:
    paths = three_months.entries.segments()
    kept = ids_of(three_months.entries)

    purge = three_months.purge()

    assert purge.removed == dict.fromkeys(paths, 1)
    assert purge.doubtful == []
    text = b"".join(path.read_bytes() for path in paths)
    assert not any(f'"goal {number}"'.encode() in text for number in (1, 4, 7))
    assert ids_of(three_months.entries) == kept
    assert three_months.entries.read().forgotten == {("ghap", numbered(number).id) for number in (1, 4, 7)}
    assert three_months.damage() == []


def test_a_purge_happens_once(three_months: Journal) -> None:
    three_months.purge()
    before = {path: written(path) for path in three_months.entries.segments()}

    assert three_months.purge().removed == {}
    assert {path: written(path) for path in three_months.entries.segments()} == before


def test_a_purge_changes_nothing_if_nothing_is_forgotten(journal: Journal) -> None:
    journal.entries.append([line(1)])
    (segment,) = journal.entries.segments()
    segment.write_bytes(segment.read_bytes() + b"damaged\n" + line(2).to_line())
    before = written(segment)

    purge = journal.purge()

    assert (purge.removed, purge.doubtful) == ({}, [])
    assert written(segment) == before


def test_a_purge_removes_older_lines_about_the_id_and_its_open_file(journal: Journal) -> None:
    journal.entries.append([line(1), line(2), line(1)])
    forget(journal.entries, "ghap", A.id, ghap().id)
    journal.entries.append([line(1)])
    journal.save_open(ghap())
    (segment,) = journal.entries.segments()

    assert journal.purge().removed == {segment: 3}
    assert b"goal 1" not in segment.read_bytes()
    assert journal.open_files() == []


def test_a_purge_removes_values_but_keeps_lines_about_clusters(journal: Journal) -> None:
    journal.values.append([JournalRecord("value", name, NOON, {"text": name}) for name in ("one", "two")])
    journal.clusters.append([JournalRecord("clusters", "full", NOON, {"moved": {A.id: 0}})])
    forget(journal.values, "value", "one")
    forget(journal.entries, "ghap", A.id)
    (lineage,) = journal.clusters.segments()
    before = lineage.read_bytes()

    journal.purge()

    assert b'"text":"one"' not in (journal.path / "values.jsonl").read_bytes()
    assert [record.id for record in journal.values.read().records] == ["two"]
    assert lineage.read_bytes() == before


def test_a_purge_keeps_damaged_lines_byte_for_byte_and_names_their_files(journal: Journal) -> None:
    journal.entries.append([line(1), line(2), line(3)])
    (segment,) = journal.entries.segments()
    first, second, third = segment.read_bytes().splitlines(keepends=True)
    damaged = first.replace(b"goal 1", b"GOAL 1") + b"\r\n\xff\0" + b"torn\n"
    segment.write_bytes(damaged + first + second + third[:-20])
    aside = segment.with_name(f"{segment.name}.corrupt-20260101T000000000000Z")
    aside.write_bytes(first[:200])
    # The torn line is no longer the last, as if a program had appended without recovering.
    with segment.open("ab") as file:
        file.write(b"\n")
    forget(journal.entries, "ghap", A.id)
    tombstone = segment.read_bytes().splitlines(keepends=True)[-1]

    purge = journal.purge()

    assert segment.read_bytes() == damaged + second + third[:-20] + b"\n" + tombstone
    assert purge.removed == {segment: 1}
    assert purge.doubtful == [segment, aside]
    assert aside.read_bytes() == first[:200]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}


def test_a_purge_that_dies_at_any_step_leaves_each_file_purged_or_unchanged(three_months: Journal) -> None:
    folder = three_months.path / "entries"
    before = contents(folder)
    kept = ids_of(three_months.entries)
    three_months.purge()
    after = contents(folder)
    assert all(len(after[name]) < len(before[name]) for name in before)

    reached = set()
    for _ in deaths(
        lambda: [(folder / name).write_bytes(text) for name, text in before.items()],
        lambda disk: Journal(three_months.path, disk=disk).purge(),
    ):
        now = contents(folder)
        assert all(now[name] in (before[name], after[name]) for name in before)
        reached.add(sum(now[name] == after[name] for name in before))

        journal = Journal(three_months.path)
        assert journal.recover(NOON) == []
        assert ids_of(journal.entries) == kept
        journal.purge()
        assert contents(folder) == after
        assert sorted(path.name for path in folder.iterdir()) == sorted(before)

    assert reached == {0, 1, 2, 3}


PURGE_AND_DIE = """
import os, signal, sys
from pathlib import Path
from learning_memory_server.system import files
from learning_memory_server.journal.journal import Journal

class Disk:
    append, remove = staticmethod(files.append), staticmethod(files.remove)

    def replace(self, path, data):
        if path.name == sys.argv[2]:
            os.kill(os.getpid(), signal.SIGKILL)
        files.replace(path, data)

Journal(Path(sys.argv[1]), disk=Disk()).purge()
"""


def test_a_killed_purge_loses_nothing_and_the_next_one_completes_it(three_months: Journal) -> None:
    kept = ids_of(three_months.entries)

    done = subprocess.run([sys.executable, "-c", PURGE_AND_DIE, str(three_months.path), "2026-04.jsonl"], check=False)

    assert done.returncode == -signal.SIGKILL
    assert ids_of(three_months.entries) == kept
    assert [path.name for path in three_months.purge().removed] == ["2026-04.jsonl", "2026-05.jsonl"]
    assert ids_of(three_months.entries) == kept
