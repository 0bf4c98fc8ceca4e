"""What is forgotten is gone from every reading at once, and from the files after a purge."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from learning_memory_server.journal.codec import ghap_to_data
from learning_memory_server.journal.forgetting import Forgetting
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.record import JournalRecord
from tests.journal.mortal import MortalDisk, MortalSystem, PowerLossError
from tests.support import NOON, ghap, numbered

if TYPE_CHECKING:
    from pathlib import Path

    from learning_memory_server.journal.log import Log

A, B, C = numbered(1), numbered(2), numbered(3)


def line(number: int, *, month: int = 0) -> JournalRecord:
    entry = numbered(number, goal=f"goal {number}")
    return JournalRecord("ghap", entry.id, NOON + timedelta(days=31 * month), ghap_to_data(entry))


def ids_of(log: Log) -> list[str]:
    return [record.id for record in log.read().records]


@pytest.fixture
def three_months(journal: Journal) -> Journal:
    """Three files of three lines; in each, the middle one is forgotten."""
    for month in range(3):
        journal.entries.append([line(month * 3 + number, month=month) for number in range(3)])
    forgotten = [numbered(number).id for number in (1, 4, 7)]
    journal.entries.forget("ghap", forgotten, NOON + timedelta(days=63))
    return journal


def test_a_forgotten_id_has_no_lines_left_to_read(journal: Journal) -> None:
    journal.entries.append([line(1), line(2)])
    journal.entries.append([line(1)])

    journal.entries.forget("ghap", [A.id], NOON)

    content = journal.entries.read()
    assert [record.id for record in content.records] == [B.id]
    assert content.forgotten == {("ghap", A.id)}
    assert content.forgotten_ids("ghap") == {A.id}
    assert content.forgotten_ids("value") == set()
    assert journal.damage() == []


def test_no_later_line_brings_a_forgotten_id_back(journal: Journal) -> None:
    journal.entries.append([line(1)])
    journal.entries.forget("ghap", [A.id], NOON)
    journal.entries.append([line(1)])

    assert ids_of(journal.entries) == []


def test_a_tombstone_counts_also_in_an_earlier_file_than_the_entry(journal: Journal) -> None:
    journal.entries.append([line(1, month=2)])
    journal.entries.forget("ghap", [A.id], NOON)

    assert [path.name for path in journal.entries.segments()] == ["2026-03.jsonl", "2026-05.jsonl"]
    assert ids_of(journal.entries) == []


def test_another_kind_of_the_same_id_is_another_thing(journal: Journal) -> None:
    journal.values.append([JournalRecord("value", "one", NOON, {}), JournalRecord("memory", "one", NOON, {})])

    journal.values.forget("memory", ["one"], NOON)

    assert [record.kind for record in journal.values.read().records] == ["value"]


def test_forgetting_nothing_writes_nothing(journal: Journal) -> None:
    journal.entries.forget("ghap", [], NOON)

    assert not journal.path.exists()


def test_a_forgotten_entry_loses_its_open_file_at_the_next_start(journal: Journal) -> None:
    journal.save_open(ghap())
    journal.entries.forget("ghap", [ghap().id], NOON)

    journal.recover(NOON)

    assert journal.open_files() == []


def test_the_next_start_removes_files_that_never_became_whole(journal: Journal) -> None:
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


def test_looking_up_counts_each_id_once_and_tells_the_unknown_apart() -> None:
    known = {"a": 1, "b": 2, "back": 3}

    looked_up = Forgetting.of(["b", "gone", "a", "b", "never", "back"], known, {"gone", "back"})

    assert looked_up == Forgetting((2, 1, 3), ("gone",), ("never",))


def test_a_purge_takes_the_text_and_leaves_the_tombstone(three_months: Journal) -> None:
    paths = three_months.entries.segments()
    kept = ids_of(three_months.entries)

    purge = three_months.purge()

    assert purge.removed == dict.fromkeys(paths, 1)
    assert purge.doubtful == []
    text = b"".join(path.read_bytes() for path in paths)
    assert not any(f'"goal {number}"'.encode() in text for number in (1, 4, 7))
    assert ids_of(three_months.entries) == kept
    assert three_months.entries.read().forgotten_ids("ghap") == {numbered(number).id for number in (1, 4, 7)}
    assert three_months.damage() == []


def test_a_purge_happens_once(three_months: Journal) -> None:
    three_months.purge()
    before = {path: path.stat() for path in three_months.entries.segments()}

    assert three_months.purge().removed == {}
    assert {path: path.stat() for path in three_months.entries.segments()} == before


def test_a_purge_of_a_journal_in_which_nothing_is_forgotten_changes_nothing(journal: Journal) -> None:
    journal.entries.append([line(1)])
    (segment,) = journal.entries.segments()
    segment.write_bytes(segment.read_bytes() + b"damaged\n" + line(2).to_line())
    before = segment.stat()

    purge = journal.purge()

    assert (purge.removed, purge.doubtful) == ({}, [])
    assert segment.stat() == before


def test_a_purge_takes_old_lines_about_the_same_id_and_the_open_file(journal: Journal) -> None:
    journal.entries.append([line(1), line(2), line(1)])
    journal.entries.forget("ghap", [A.id, ghap().id], NOON)
    journal.entries.append([line(1)])
    journal.save_open(ghap())
    (segment,) = journal.entries.segments()

    assert journal.purge().removed == {segment: 3}
    assert b"goal 1" not in segment.read_bytes()
    assert journal.open_files() == []


def test_a_purge_takes_values_but_leaves_what_is_said_about_clusters(journal: Journal) -> None:
    journal.values.append([JournalRecord("value", name, NOON, {"text": name}) for name in ("one", "two")])
    journal.clusters.append([JournalRecord("clusters", "full", NOON, {"moved": {A.id: 0}})])
    journal.values.forget("value", ["one"], NOON)
    journal.entries.forget("ghap", [A.id], NOON)
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
    # The torn line is no longer the last one, as after an append by a program that did not recover.
    with segment.open("ab") as file:
        file.write(b"\n")
    journal.entries.forget("ghap", [A.id], NOON)
    tombstone = segment.read_bytes().splitlines(keepends=True)[-1]

    purge = journal.purge()

    assert segment.read_bytes() == damaged + second + third[:-20] + b"\n" + tombstone
    assert purge.removed == {segment: 1}
    assert purge.doubtful == [segment, aside]
    assert aside.read_bytes() == first[:200]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}


def test_a_purge_that_dies_at_any_step_has_purged_each_file_or_not(three_months: Journal) -> None:
    folder = three_months.path / "entries"
    before = contents(folder)
    kept = ids_of(three_months.entries)
    three_months.purge()
    after = contents(folder)
    assert all(len(after[name]) < len(before[name]) for name in before)

    reached = set()
    for steps in range(100):
        for name, text in before.items():
            (folder / name).write_bytes(text)
        system = MortalSystem()
        system.die_after(steps, steps * 97)
        try:
            Journal(three_months.path, disk=MortalDisk(system)).purge()
        except PowerLossError:
            pass
        else:
            break
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
from learning_memory_server.journal import files
from learning_memory_server.journal.journal import Journal

class Disk:
    append, remove = staticmethod(files.append), staticmethod(files.remove)

    def replace(self, path, data):
        if path.name == sys.argv[2]:
            os.kill(os.getpid(), signal.SIGKILL)
        files.replace(path, data)

Journal(Path(sys.argv[1]), disk=Disk()).purge()
"""


def test_a_purge_that_is_killed_loses_nothing_and_is_finished_by_the_next(three_months: Journal) -> None:
    kept = ids_of(three_months.entries)

    done = subprocess.run(
        [sys.executable, "-c", PURGE_AND_DIE, str(three_months.path), "2026-04.jsonl"],
        check=False,
    )

    assert done.returncode == -signal.SIGKILL
    assert ids_of(three_months.entries) == kept
    assert [path.name for path in three_months.purge().removed] == ["2026-04.jsonl", "2026-05.jsonl"]
    assert ids_of(three_months.entries) == kept
