import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import GHAP, VALUE
from learning_memory_server.journal.log import Log
from tests.processes import python
from tests.support import NOON


def record(number: int, at: datetime = NOON) -> JournalRecord:
    return JournalRecord("ghap", f"ghap_{number}", at, {"text": f"caf\u00e9 \u2028 {number}\nline"})


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "journal", VALUE)


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    return tmp_path / "journal" / "values.jsonl"


def test_what_was_appended_is_read_in_order(log: Log) -> None:
    log.append([record(1), record(2)])
    log.append([record(3)])

    content = log.read()

    assert content.records == [record(1), record(2), record(3)]
    assert content.damage == []


def test_a_log_that_was_never_written_is_empty(log: Log, tmp_path: Path) -> None:
    assert log.read().records == []
    assert log.recover(NOON) == []
    log.append([])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("monthly", [False, True])
def test_an_unreadable_folder_is_not_an_empty_log(tmp_path: Path, *, monthly: bool) -> None:
    folder = tmp_path / "journal" / "entries" if monthly else tmp_path / "journal"
    folder.parent.mkdir(exist_ok=True)
    log = Log(tmp_path / "journal", GHAP if monthly else VALUE)
    for points_to in (None, folder, tmp_path / "a disk that is not there"):
        folder.symlink_to(points_to) if points_to else folder.touch()
        for use in (log.read, log.segments, log.set_aside_files, lambda: log.recover(NOON)):
            with pytest.raises(JournalUnavailableError, match="journal"):
                use()
        folder.unlink()


def test_a_monthly_log_reads_its_months_in_order(tmp_path: Path) -> None:
    log = Log(tmp_path, GHAP)
    december, january = datetime(2025, 12, 31, 23, 59, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
    log.append([record(2, january)])
    log.append([record(1, december)])

    assert [path.name for path in log.segments()] == ["2025-12.jsonl", "2026-01.jsonl"]
    assert [r.id for r in log.read().records] == ["ghap_1", "ghap_2"]


@pytest.mark.slow
def test_a_write_cut_off_at_any_byte_loses_only_what_was_not_acknowledged(log: Log, segment: Path) -> None:
    log.append([record(1), record(2)])
    acknowledged = segment.read_bytes()
    log.append([record(3)])
    whole = segment.read_bytes()

    for cut in range(len(acknowledged) + 1, len(whole) - 1):
        segment.write_bytes(whole[:cut])
        seen = log.read()
        assert seen.records == [record(1), record(2)]
        assert [(damage.number, damage.torn) for damage in seen.damage] == [(3, True)]

        (aside,) = log.recover(NOON + timedelta(seconds=cut))

        assert aside.name.startswith("values.jsonl.corrupt-")
        assert aside.read_bytes() == whole[len(acknowledged) : cut]
        assert segment.read_bytes() == acknowledged
        assert log.read().damage == []
        assert log.recover(NOON) == []
    log.append([record(4)])
    assert log.read().records == [record(1), record(2), record(4)]


def test_a_last_line_without_its_line_feed_is_kept(log: Log, segment: Path) -> None:
    log.append([record(1), record(2)])
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-1])

    assert log.recover(NOON) == []
    assert segment.read_bytes() == whole


def test_a_truncated_first_line_leaves_an_empty_log(log: Log, segment: Path) -> None:
    log.append([record(1)])
    segment.write_bytes(segment.read_bytes()[:-2])

    assert len(log.recover(NOON)) == 1
    assert log.read().records == []
    assert segment.read_bytes() == b""


@pytest.mark.parametrize("tail", [b"\0" * 4096, b'{"at":"2026', b"\xc3"])
def test_a_tail_that_is_not_a_record_is_set_aside(log: Log, segment: Path, tail: bytes) -> None:
    log.append([record(1)])
    before = segment.read_bytes()
    segment.write_bytes(before + tail)

    (aside,) = log.recover(NOON)

    assert aside.name == "values.jsonl.corrupt-20260301T120000000000Z"
    assert aside.read_bytes() == tail
    assert segment.read_bytes() == before


@pytest.mark.parametrize("tail", [b"garbage\n", b"\n"])
def test_a_complete_last_line_that_is_no_record_is_damage(log: Log, segment: Path, tail: bytes) -> None:
    log.append([record(1)])
    segment.write_bytes(whole := segment.read_bytes() + tail)

    assert log.recover(NOON) == []
    log.append([record(2)])

    assert [(damage.number, damage.torn) for damage in log.read().damage] == [(2, False)]
    assert log.read().records == [record(1), record(2)]
    assert segment.read_bytes().startswith(whole)


@pytest.mark.slow
def test_no_flipped_bit_of_the_last_line_is_passed_over(log: Log, segment: Path) -> None:
    log.append([record(1)])
    start = len(segment.read_bytes())
    log.append([record(2)])
    whole = segment.read_bytes()
    for bit in range(start * 8, len(whole) * 8):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        segment.write_bytes(flipped)
        try:
            set_aside = Journal(segment.parent).recover(NOON)
        except JournalUnavailableError:
            # The version became a newer one.
            assert segment.read_bytes() == flipped
            continue
        content = log.read()
        assert set_aside == []
        if bit // 8 == len(whole) - 1:
            assert (content.records, content.damage) == ([record(1), record(2)], [])
        else:
            assert content.records == [record(1)]
            assert content.damage
            assert not any(damage.torn for damage in content.damage)
            assert segment.read_bytes() == flipped


def test_reading_never_changes_a_file(log: Log, segment: Path) -> None:
    log.append([record(1)])
    torn = segment.read_bytes() + b'{"at":'
    segment.write_bytes(torn)

    log.read()

    assert segment.read_bytes() == torn
    assert [path.name for path in segment.parent.iterdir()] == ["values.jsonl"]


def test_damage_in_the_middle_is_kept_and_reported_but_not_used(log: Log, segment: Path) -> None:
    log.append([record(1), record(2), record(3)])
    damaged = segment.read_bytes().replace(b'"text":"caf\xc3\xa9 \xe2\x80\xa8 2', b'"text":"CAF\xc3\xa9 \xe2\x80\xa8 2')
    segment.write_bytes(damaged)

    content = log.read()

    assert content.records == [record(1), record(3)]
    (damage,) = content.damage
    assert (damage.path, damage.number, damage.torn) == (segment, 2, False)
    assert damage.reason == "the checksum does not match"
    assert log.recover(NOON) == []
    assert segment.read_bytes() == damaged


def test_every_segment_is_recovered(tmp_path: Path) -> None:
    log = Log(tmp_path, GHAP)
    for month in (1, 2):
        log.append([record(month, datetime(2026, month, 1, tzinfo=UTC))])
    for path in log.segments():
        path.write_bytes(path.read_bytes() + b"{")

    assert len(log.recover(NOON)) == 2
    assert len(log.read().records) == 2
    assert log.read().damage == []


NEWER = b'{"at":"2030-01-01T00:00:00+00:00","data":{},"id":"x","kind":"ghap","sum":"?","v":5}\n'


@pytest.mark.parametrize("after", [b"", b'{"at":"20'])
def test_a_newer_format_is_refused_and_left_untouched(log: Log, segment: Path, after: bytes) -> None:
    log.append([record(1)])
    newer = segment.read_bytes() + NEWER + after
    segment.write_bytes(newer)

    for use in (log.read, lambda: Journal(segment.parent).recover(NOON)):
        with pytest.raises(JournalUnavailableError, match="format 5"):
            use()

    assert segment.read_bytes() == newer
    assert [path.name for path in segment.parent.iterdir()] == ["values.jsonl"]


def test_files_are_private(log: Log, segment: Path) -> None:
    log.append([record(1)])
    segment.write_bytes(segment.read_bytes() + b"{")
    (aside,) = log.recover(NOON)

    assert stat.S_IMODE(segment.stat().st_mode) == 0o600
    assert stat.S_IMODE(aside.stat().st_mode) == 0o600
    assert stat.S_IMODE(segment.parent.stat().st_mode) == 0o700


def test_created_directories_are_private(tmp_path: Path) -> None:
    Log(tmp_path / "data" / "journal", GHAP).append([record(1)])

    for made in (tmp_path / "data", tmp_path / "data" / "journal", tmp_path / "data" / "journal" / "entries"):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700, made


def test_a_file_that_cannot_be_opened_is_a_clear_error(log: Log, segment: Path) -> None:
    segment.mkdir(parents=True)

    with pytest.raises(JournalUnavailableError, match=r"Is a directory: values\.jsonl") as caught:
        log.append([record(1)])
    assert [each.path for each in log.read().damage] == [segment]  # What stands elsewhere is read

    assert str(segment.parent) not in caught.value.message
    assert caught.value.hint
    assert list(segment.iterdir()) == []


def test_a_file_in_place_of_the_directory_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "entries").write_bytes(b"mine")

    with pytest.raises(JournalUnavailableError):
        Log(tmp_path, GHAP).append([record(1)])

    assert (tmp_path / "entries").read_bytes() == b"mine"


APPEND_ON_A_FULL_DISK = """
import resource, sys
from datetime import UTC, datetime
from pathlib import Path
from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal.log import Log
from learning_memory_server.system import files
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.kinds import VALUE

log = Log(Path(sys.argv[1]), VALUE)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    log.append([JournalRecord("ghap", "x", datetime(2026, 3, 1, tzinfo=UTC), {"text": "x" * 500})])
except JournalUnavailableError as error:
    print(error.message)
"""


def test_a_write_that_fails_halfway_leaves_the_file_as_it_was(log: Log, segment: Path) -> None:
    log.append([record(1)])
    before = segment.read_bytes()

    said = python(APPEND_ON_A_FULL_DISK, segment.parent, len(before) + 100)

    assert "The journal could not be used" in said
    assert segment.read_bytes() == before


def test_a_torn_line_of_any_length_is_set_aside_whole(log: Log, segment: Path) -> None:
    log.append([record(1)])
    torn = b'{"at":"' + b"x" * 200_000
    segment.write_bytes(segment.read_bytes() + torn)

    (aside,) = log.recover(NOON)

    assert aside.read_bytes() == torn
    assert log.read().records == [record(1)]
    assert log.read().damage == []


def test_the_rest_of_a_line_that_is_written_meanwhile_is_no_line(log: Log, segment: Path) -> None:
    log.append([record(1), record(2)])
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-20])

    reading = log.raw_lines()
    begun = [next(reading)[2], next(reading)[2]]
    segment.write_bytes(whole)

    assert b"".join([*begun, *(line for _, _, line in reading)]) == whole[:-20]
