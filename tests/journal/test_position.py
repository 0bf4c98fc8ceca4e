"""A position in the journal, and whether another process still finds the same before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Position
from learning_memory_server.journal.log import Log
from tests.support import NOON

if TYPE_CHECKING:
    from pathlib import Path


def append(log: Log, *names: str) -> None:
    log.append([JournalRecord("value", name, NOON, {}) for name in names])


def advanced(position: Position) -> list[str]:
    return [record.id for record in position.advance()]


def test_a_position_advances_over_what_is_appended_and_another_process_goes_on_from_there(tmp_path: Path) -> None:
    log, monthly = Log(tmp_path / "values"), Log(tmp_path / "entries", monthly=True)
    position = Position([log, monthly])
    assert advanced(position) == []
    append(log, "a", "b")
    append(monthly, "c")
    assert advanced(position) == ["a", "b", "c"]
    marks = position.marks()
    append(log, "d")
    assert advanced(position) == ["d"]

    other = Position([log, monthly])
    assert other.resume(marks)
    assert advanced(other) == ["d"]
    assert other.marks() == position.marks()


def test_an_unfinished_or_damaged_line_is_no_record_and_an_unfinished_one_is_not_passed(tmp_path: Path) -> None:
    log = Log(tmp_path / "values")
    append(log, "a")
    path = tmp_path / "values.jsonl"
    line = path.read_bytes()
    path.write_bytes(b"damaged\n" + line[:-1])
    position = Position([log])
    assert advanced(position) == []
    path.write_bytes(b"damaged\n" + line)
    assert advanced(position) == ["a"]


def test_a_journal_cut_anywhere_before_the_position_or_changed_there_does_not_agree(tmp_path: Path) -> None:
    log = Log(tmp_path / "values")
    append(log, "a", "b")
    position = Position([log])
    advanced(position)
    path = tmp_path / "values.jsonl"
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert not Position([log]).resume(position.marks())
    for change in (whole.replace(b'"a"', b'"x"'), b"\n" + whole, whole[1:] + b"\n"):
        path.write_bytes(change)
        assert not Position([log]).resume(position.marks())
    path.unlink()
    assert not Position([log]).resume(position.marks())
    path.write_bytes(whole)
    assert Position([log]).resume(position.marks())
