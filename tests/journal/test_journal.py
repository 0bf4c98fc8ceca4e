import json
import stat
from datetime import timedelta
from pathlib import Path

import pytest

from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal.answers import Answers
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.model.answer import Answer, Said
from learning_memory_server.model.entry import Ghap
from tests.support import CONFIRMED, NOON, ghap, numbered


def keep(journal: Journal, entry: Ghap) -> None:
    journal.entries.append([JournalRecord.of(GHAP, entry)])


def test_open_entries_come_back_oldest_first(journal: Journal) -> None:
    late = ghap(id="ghap_a", created_at=NOON + timedelta(hours=1), goal="caf\u00e9\n\u2028 \U0001f600")
    early = ghap(id="ghap_b")
    journal.save_open(late)
    journal.save_open(early)

    assert journal.open_entries() == [early, late]


def test_a_saved_entry_replaces_its_former_state(journal: Journal) -> None:
    journal.save_open(ghap())
    journal.save_open(ghap(goal="another"))

    assert journal.open_entries() == [ghap(goal="another")]
    assert [path.name for path in (journal.path / "open").iterdir()] == [f"{ghap().id}.json"]


def test_closing_removes_the_file_and_can_be_repeated(journal: Journal) -> None:
    journal.save_open(ghap())
    journal.close_entry(ghap().id)
    journal.close_entry(ghap().id)

    assert journal.open_entries() == []


def test_an_entry_that_is_open_and_resolved_is_resolved(journal: Journal) -> None:
    other = ghap(id="ghap_other")
    journal.save_open(ghap())
    journal.save_open(other)
    keep(journal, ghap(resolution=CONFIRMED))

    assert journal.recover(NOON) == []

    assert journal.open_entries() == [other]


def test_a_torn_resolution_leaves_the_entry_open(journal: Journal) -> None:
    journal.save_open(ghap())
    keep(journal, numbered(1))
    keep(journal, ghap(resolution=CONFIRMED))
    (segment,) = journal.entries.segments()
    segment.write_bytes(segment.read_bytes()[:-5])

    (aside,) = journal.recover(NOON)

    assert aside.parent == journal.path / "entries"
    assert journal.open_entries() == [ghap()]
    assert [record.id for record in journal.entries.read().records] == [numbered(1).id]


def test_a_half_written_open_file_is_not_an_entry(journal: Journal) -> None:
    journal.save_open(ghap())
    (journal.path / "open" / "ghap_x.json.tmp").write_text("{")

    assert journal.open_entries() == [ghap()]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"id": "x"}',
        '"text"',
        "\x00\x00",
        "[" * 100_000,
        json.dumps({"v": 4, **GHAP.encode(ghap())}),
    ],
)
def test_an_open_file_that_is_not_an_entry_is_named_and_does_not_affect_the_others(
    journal: Journal, content: str
) -> None:
    journal.save_open(ghap())
    bad = journal.path / "open" / "ghap_bad.json"
    bad.write_text(content)

    with pytest.raises(JournalUnavailableError, match=r"ghap_bad\.json") as caught:
        journal.read_open(bad)

    assert str(journal.path) not in caught.value.message
    assert journal.open_entries() == [ghap()]


@pytest.mark.parametrize("changed", [{"resolution": None}, {"created_at": "2026-01-01T00:00:00"}])
def test_an_open_file_with_an_invalid_part_is_skipped(journal: Journal, changed: dict[str, object]) -> None:
    journal.save_open(ghap())
    path = journal.path / "open" / f"{ghap().id}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))

    assert journal.open_entries() == []


def test_an_open_entry_keeps_its_file_despite_a_damaged_line(journal: Journal) -> None:
    entry = ghap()
    journal.save_open(entry)
    journal.entries.append([JournalRecord("ghap", entry.id, NOON, GHAP.encode(entry))])
    (segment,) = journal.entries.segments()
    segment.write_bytes(segment.read_bytes().replace(entry.goal.encode(), entry.goal.upper().encode()))

    journal.recover(NOON)

    assert journal.open_entries() == [entry]


def test_damage_in_every_log_is_reported(journal: Journal) -> None:
    for log in (journal.entries, journal.values, journal.clusters):
        log.append([JournalRecord("kind", "one", NOON, {}), JournalRecord("kind", "two", NOON, {})])
        (segment,) = log.segments()
        segment.write_bytes(segment.read_bytes().replace(b"one", b"eno"))

    assert {damage.path.name for damage in journal.damage()} == {"2026-03.jsonl", "values.jsonl", "clusters.jsonl"}
    assert not any(damage.torn for damage in journal.damage())


def test_torn_lines_of_every_log_are_set_aside(journal: Journal) -> None:
    for log in (journal.entries, journal.values, journal.clusters):
        log.append([JournalRecord("kind", "one", NOON, {})])
        (segment,) = log.segments()
        segment.write_bytes(segment.read_bytes() + b"{")

    assert len(journal.recover(NOON)) == 3
    assert journal.damage() == []


def test_a_newer_log_stops_recovery_before_any_file_is_changed(journal: Journal) -> None:
    for log in (journal.entries, journal.values):
        log.append([JournalRecord("kind", "one", NOON, {})])
    (entries,), (values,) = journal.entries.segments(), journal.values.segments()
    entries.write_bytes(torn := entries.read_bytes() + b"{")
    values.write_bytes(values.read_bytes() + b'{"sum":"?","v":5}\n')

    with pytest.raises(JournalUnavailableError, match="format 5"):
        journal.recover(NOON)

    assert entries.read_bytes() == torn


def test_open_files_and_the_folders_above_them_are_private(journal: Journal) -> None:
    journal.save_open(ghap())

    (file,) = journal.open_files()
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent, journal.path)]
    assert modes == [0o600, 0o700, 0o700]


def test_the_size_covers_all_files(journal: Journal) -> None:
    assert journal.size() == 0
    journal.save_open(ghap())
    keep(journal, numbered(1))
    journal.values.append([JournalRecord("value", "one", NOON, {})])

    assert journal.size() == sum(path.stat().st_size for path in journal.path.rglob("*.json*"))


def test_an_entry_that_is_resolved_while_sizes_are_added_up_is_left_out(journal: Journal) -> None:
    journal.save_open(ghap())
    (size,) = [path.stat().st_size for path in journal.open_files()]
    # Listed, and gone when it is looked at.
    (journal.path / "open" / "ghap_20260301_120000_000001.json").symlink_to("nowhere")

    assert journal.size() == size


def test_no_flipped_bit_of_an_open_entry_is_passed_over(journal: Journal) -> None:
    entry = ghap(goal="caf\u00e9\n\u2028 \U0001f600")
    journal.save_open(entry)
    (path,) = journal.open_files()
    whole = path.read_bytes()
    for bit in range(len(whole) * 8):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        try:
            read = journal.read_open(path)
        except JournalUnavailableError:
            continue
        assert read == entry


def test_a_purge_removes_answers_that_no_version_reads(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    kept, gone = (Answer(name, "shop", Said.YES, NOON) for name in ("shared_0123456789abcdef", "cure_0123456789abcdef"))
    Answers(journal.answers).add(kept, gone)
    assert sum(journal.purge().removed.values()) == 1
    assert b"cure_" not in (tmp_path / "answers.jsonl").read_bytes()
    assert Answers(Journal(tmp_path).answers).all() == [kept]
