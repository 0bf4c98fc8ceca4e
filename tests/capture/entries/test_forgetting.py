"""A forgotten entry is gone from every read, and stays gone."""

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.errors import JournalUnavailableError, NoActiveGhapError, NotFoundError
from learning_memory_server.index.queries import EntryQuery, ExperienceQuery
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import Forgetting
from learning_memory_server.model.entry import Ghap
from learning_memory_server.recall.recall import search_lexical
from learning_memory_server.system import files
from tests.support import ALICE, BOB, CAROL, NOON, TickingClock, confirm, ids, numbered, reloaded, start

FOUR = [numbered(number, goal=f"goal{number} of the checkout") for number in range(4)]


def files_of(journal: Journal) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in journal.path.rglob("*.json*")}


def forget_project(collector: ObservationCollector, project: str) -> Forgetting[Ghap]:
    return collector.forget([entry.id for entry in collector.look_up_project(project).found], NOON)


def test_a_forgotten_entry_is_gone_from_every_reading_and_stays_gone(
    collector: ObservationCollector, journal: Journal
) -> None:
    collector.add_resolved(FOUR)

    forgetting = collector.forget([FOUR[1].id, FOUR[3].id], NOON)

    assert forgetting == Forgetting((FOUR[1], FOUR[3]), (), ())
    for reader in (collector, ObservationCollector(journal, TickingClock()), reloaded(journal)):
        assert ids(reader.list_resolved()) == [FOUR[2].id, FOUR[0].id]
        assert ids(reader.list_resolved(EntryQuery(project=ALICE.project))) == [FOUR[2].id, FOUR[0].id]
        documents = reader.documents()
        assert {document.payload["ghap_id"] for document in documents} == {FOUR[0].id, FOUR[2].id}
        found = search_lexical(reader.list_resolved(), ExperienceQuery("goal1 goal3 of the checkout")).found
        assert {one.entry.id for one in found} <= {FOUR[0].id, FOUR[2].id}
        assert set(reader.look_up(entry.id for entry in FOUR).before) == {FOUR[1].id, FOUR[3].id}


def test_a_preview_says_the_same_changing_nothing(collector: ObservationCollector, journal: Journal) -> None:
    collector.add_resolved(FOUR)
    start(collector, ALICE)
    before = files_of(journal)
    wanted = [FOUR[0].id, "ghap_unknown", FOUR[0].id]

    preview = collector.look_up(wanted)
    whole = collector.look_up_project(ALICE.project)

    assert files_of(journal) == before
    assert preview == Forgetting((FOUR[0],), (), ("ghap_unknown",))
    assert collector.forget(wanted, NOON) == preview
    assert set(forget_project(collector, ALICE.project).found) == {*whole.found} - {FOUR[0]}


def test_forgetting_twice_is_forgetting_once(collector: ObservationCollector, journal: Journal) -> None:
    collector.add_resolved(FOUR)
    collector.forget([FOUR[0].id], NOON)
    before = files_of(journal)

    assert collector.forget([FOUR[0].id], NOON) == Forgetting((), (FOUR[0].id,), ())
    assert reloaded(journal).forget([FOUR[0].id], NOON) == Forgetting((), (FOUR[0].id,), ())
    assert files_of(journal) == before


def test_an_id_naming_nothing_leaves_no_tombstone(collector: ObservationCollector, journal: Journal) -> None:
    assert collector.forget(["ghap_unknown"], NOON).unknown == ("ghap_unknown",)

    assert set(collector.look_up(["ghap_unknown"]).before) == set()
    assert not journal.path.exists()


def test_an_open_entry_can_be_forgotten(collector: ObservationCollector, journal: Journal) -> None:
    mine, other = start(collector, ALICE), start(collector, BOB)

    assert collector.forget([mine.id], NOON).found == (mine,)

    assert journal.open_entries() == [other]
    for reader in (collector, reloaded(journal)):
        assert reader.still_open.current(ALICE) is None
        assert ids(reader.still_open.others(ALICE, elsewhere=False)) == [other.id]
        with pytest.raises(NoActiveGhapError):
            confirm(reader, ALICE)
        with pytest.raises(NotFoundError, match="was forgotten"):
            confirm(reader, ALICE, mine.id)


def test_an_open_file_that_outlives_its_tombstone_is_not_an_entry(
    collector: ObservationCollector, journal: Journal
) -> None:
    entry = start(collector, ALICE)
    collector.forget([entry.id], NOON)
    journal.save_open(entry)

    assert ObservationCollector(journal, TickingClock()).still_open.current(ALICE) is None
    journal.recover(NOON)
    assert journal.open_files() == []


def test_a_project_is_forgotten_with_its_open_entries_and_no_other(
    collector: ObservationCollector, journal: Journal
) -> None:
    theirs = numbered(9, project=CAROL.project)
    collector.add_resolved([*FOUR, theirs])
    opened = start(collector, ALICE)
    kept = start(collector, CAROL)

    forgetting = forget_project(collector, ALICE.project)

    assert set(forgetting.found) == {*FOUR, opened}
    assert forget_project(collector, ALICE.project) == Forgetting()
    for reader in (collector, reloaded(journal)):
        assert reader.list_resolved() == [theirs]
        assert reader.still_open.current(CAROL) == kept
        assert reader.still_open.current(ALICE) is None


def test_an_import_brings_no_forgotten_entry_back(collector: ObservationCollector, journal: Journal) -> None:
    collector.add_resolved(FOUR)
    collector.forget([FOUR[0].id, FOUR[1].id], NOON)
    new = numbered(9)

    for reader in (collector, reloaded(journal)):
        assert reader.add_resolved([FOUR[0], replace(FOUR[1], goal="changed"), FOUR[2]]) == []
    assert collector.add_resolved([FOUR[0], new]) == [new]
    journal.purge()
    assert reloaded(journal).add_resolved([FOUR[0]]) == []


def test_a_forgotten_project_can_be_used_again(collector: ObservationCollector) -> None:
    collector.add_resolved(FOUR)
    forget_project(collector, ALICE.project)

    entry = start(collector, ALICE)

    assert collector.still_open.current(ALICE) == entry
    assert collector.list_resolved() == []


class FullDisk:
    """A disk that is full."""

    replace = staticmethod(files.replace)
    remove = staticmethod(files.remove)
    truncate = staticmethod(files.truncate)

    def append(self, path: Path, _: bytes, /) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


def test_nothing_is_forgotten_that_could_not_be_written_to_the_journal(
    collector: ObservationCollector, journal: Journal
) -> None:
    collector.add_resolved(FOUR)
    opened = start(collector, ALICE)
    full = ObservationCollector(Journal(journal.path, disk=FullDisk()), TickingClock())

    with pytest.raises(JournalUnavailableError, match="No space left"):
        full.forget([FOUR[0].id, opened.id], NOON)

    assert len(full.list_resolved()) == len(FOUR)
    assert full.still_open.current(ALICE) == opened
    assert set(full.look_up([FOUR[0].id]).before) == set()
