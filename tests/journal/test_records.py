from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.journal.records import Forgetting, Records
from learning_memory_server.model.entry import Ghap
from tests.support import NOON, numbered

A, B, C = numbered(1), numbered(2, requests=("front:1", "front:2")), numbered(3)


@pytest.fixture
def records(journal: Journal) -> Records[Ghap]:
    return Records[Any](journal.entries)


def test_the_log_is_read_once_at_the_first_use(records: Records[Ghap], journal: Journal) -> None:
    journal.entries.append([JournalRecord("ghap", A.id, NOON, GHAP.encode(A))])
    assert records.all() == [A]
    journal.entries.append([JournalRecord("ghap", B.id, NOON, GHAP.encode(B))])
    assert records.all() == [A]


def test_what_was_added_is_there_and_survives_a_restart(records: Records[Ghap], journal: Journal) -> None:
    records.add(C, A)
    records.add(B)

    for each in (records, Records[Any](journal.entries)):
        assert each.all() == [C, A, B]
        assert each.find(A.id) == A
        assert each.find("ghap_unknown") is None


def test_a_later_line_replaces_an_earlier_one_in_its_place(records: Records[Ghap], journal: Journal) -> None:
    newer = numbered(1, goal="another goal")
    records.add(A, B)
    records.add(newer)

    for each in (records, Records[Any](journal.entries)):
        assert each.all() == [newer, B]


def test_lines_have_the_time_of_the_thing_unless_another_is_given(records: Records[Ghap], journal: Journal) -> None:
    later = NOON + timedelta(days=1)
    records.add(A)
    records.add(B, at=later)

    assert [line.at for line in journal.entries.read().records] == [A.created_at, later]


def test_only_unknown_ids_are_new_forgotten_ones_never(records: Records[Ghap], journal: Journal) -> None:
    records.add(A, B)
    records.forget([B.id], NOON)

    assert records.add_new([A, B, C, C]) == [C]
    assert records.all() == [A, C]
    assert [line.id for line in journal.entries.read().records] == [A.id, C.id]


def test_a_call_finds_what_it_wrote(records: Records[Ghap]) -> None:
    records.add(A, B, C)

    assert records.find_by_request("front:2") == B
    assert records.find_by_request("front:3") is None


def test_what_is_kept_elsewhere_is_found_and_forgotten_too(journal: Journal) -> None:
    still_open = replace(B, resolution=None)
    journal.save_open(still_open)
    records = ObservationCollector(journal, lambda: NOON)
    records.add(A)
    wanted = [B.id, A.id, C.id]

    assert records.look_up(wanted) == Forgetting((still_open, A), (), (C.id,))
    assert records.forget(wanted, NOON) == Forgetting((still_open, A), (), (C.id,))

    for each in (records, Records[Any](journal.entries)):
        assert each.all() == []
        assert each.forgotten_ids() == {A.id, B.id}
        assert each.look_up(wanted) == Forgetting((), (B.id, A.id), (C.id,))


def test_unknown_ids_are_forgotten_on_request_only(records: Records[Ghap], journal: Journal) -> None:
    assert records.forget([A.id], NOON).unknown == (A.id,)
    assert records.forgotten_ids() == set()

    assert records.forget([A.id], NOON, unknown_too=True).unknown == (A.id,)
    for each in (records, Records[Any](journal.entries)):
        assert each.look_up([A.id]).before == (A.id,)


def test_what_could_not_be_written_is_not_known(records: Records[Ghap], journal: Journal) -> None:
    records.add(A)
    (journal.path / "entries").rename(journal.path / "moved")
    (journal.path / "entries").write_text("in the way")

    with pytest.raises(JournalUnavailableError):
        records.add(B)
    with pytest.raises(JournalUnavailableError):
        records.forget([A.id], NOON)

    assert records.all() == [A]
    assert records.forgotten_ids() == set()


def test_a_log_that_could_not_be_read_is_read_again(records: Records[Ghap], journal: Journal) -> None:
    journal.entries.append([JournalRecord.of(GHAP, A)])
    moved = (journal.path / "entries").rename(journal.path / "moved")
    (journal.path / "entries").write_text("in the way")
    for _ in range(2):
        with pytest.raises(JournalUnavailableError):
            records.all()

    (journal.path / "entries").unlink()
    moved.rename(journal.path / "entries")
    assert records.all() == [A]


def test_a_line_that_is_not_understood_hides_only_what_it_is_about(records: Records[Ghap], journal: Journal) -> None:
    unknown = {**GHAP.encode(A), "domain": "alchemy"}
    journal.entries.append([JournalRecord("ghap", name, NOON, unknown | {"id": name}) for name in (A.id, C.id)])
    journal.entries.append([JournalRecord("ghap", A.id, NOON, GHAP.encode(A))])
    journal.entries.append([JournalRecord.tombstone("ghap", C.id, NOON)])
    assert records.all() == [A]

    journal.entries.append([JournalRecord("ghap", B.id, NOON, unknown | {"id": B.id})])
    again = Records[Any](journal.entries)
    assert again.all() == [A]
    # A copy from an archive does not take its place.
    assert again.has_had(B.id)
    assert again.add_new([B]) == []
    assert journal.known_damage == 1

    # Nor does an earlier version, which the newer one may have taken back.
    journal.entries.append([JournalRecord("ghap", A.id, NOON, unknown)])
    assert Records[Any](journal.entries).all() == []
