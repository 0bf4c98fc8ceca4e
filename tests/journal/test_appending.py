"""Appends after another one failed, or after another program changed the file."""

import errno
import os
from pathlib import Path

import pytest

from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal.kinds import VALUE
from learning_memory_server.journal.log import Log
from learning_memory_server.system import files
from tests.journal.test_log import log, record, segment

__all__ = ["log", "segment"]


class FailingDisk:
    """Fails an append after some bytes of it, and the removal of these bytes as well, until it is repaired."""

    replace, remove = staticmethod(files.replace), staticmethod(files.remove)

    def __init__(self, written: int) -> None:
        self._written = written
        self.is_broken = False

    def append(self, path: Path, data: bytes, /) -> None:
        if not self.is_broken:
            files.append(path, data)
            return
        with path.open("ab") as file:
            file.write(data[: self._written])
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def truncate(self, path: Path, size: int, /) -> None:
        if self.is_broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        files.truncate(path, size)


def test_a_record_is_safe_after_an_append_whose_bytes_could_not_be_removed(tmp_path: Path) -> None:
    whole = len(record(2).to_line())
    for written in (0, 1, whole // 2, whole - 1, whole):
        disk = FailingDisk(written)
        log = Log(tmp_path / str(written), VALUE, disk=disk)
        log.append([record(1)])

        disk.is_broken = True
        for _ in range(2):
            with pytest.raises(JournalUnavailableError):
                log.append([record(2)])
        disk.is_broken = False
        log.append([record(3)])

        content = Log(tmp_path / str(written), VALUE).read()
        assert (content.records, content.damage) == ([record(1), record(3)], [])
        assert not log.changed_by_others


@pytest.mark.parametrize("torn", [b"{", b'{"at":"2026', record(7).to_line()[:-1]])
def test_nothing_is_glued_to_bytes_that_another_program_left(log: Log, segment: Path, torn: bytes) -> None:
    log.append([record(1)])
    with segment.open("ab") as file:
        file.write(torn)

    log.append([record(2)])

    assert [each.id for each in log.read().records if each.id != "ghap_7"] == ["ghap_1", "ghap_2"]
    assert log.read().damage == []


@pytest.mark.parametrize("known", [0, 1])
def test_what_an_earlier_version_of_a_file_lacks_is_written_again(tmp_path: Path, known: int) -> None:
    Log(tmp_path / "before", VALUE).append([record(number) for number in range(known)])
    whole = b"".join(record(number).to_line() for number in range(known, 6))
    for size in range(len(whole)):
        log = Log(tmp_path / str(size), VALUE)
        log.append([record(number) for number in range(known)])
        later = Log(tmp_path / str(size), VALUE)
        for number in range(known, 6):
            later.append([record(number)])
        (path,) = later.segments()
        path.write_bytes(path.read_bytes()[: path.stat().st_size - len(whole) + size])
        assert not later.changed_by_others
        later.append([record(6)])
        assert later.changed_by_others == {path}
        later.append([record(7)])
        content = Log(tmp_path / str(size), VALUE).read()
        assert (content.records, content.damage) == ([record(number) for number in range(8)], [])


def test_a_removed_file_is_written_again_and_only_once(log: Log, segment: Path) -> None:
    for number in range(3):
        log.append([record(number)])
        segment.unlink()
    log.append([record(3)])
    assert log.read().records == [record(number) for number in range(4)]


@pytest.mark.parametrize("there", [(0,), (7, 8, 9), (0, 1, 2, 7), (1, 2, 7)])
def test_a_file_that_became_another_one_is_named_and_left_as_it_is(
    log: Log, segment: Path, there: tuple[int, ...]
) -> None:
    log.append([record(0)])
    log.rewrite({record(0).to_line(): b""})
    log.append([record(1), record(2)])
    segment.write_bytes(b"".join(record(number).to_line() for number in there))
    log.append([record(3)])
    log.append([record(4)])
    assert log.changed_by_others == {segment}
    assert [each.id for each in log.read().records] == [f"ghap_{number}" for number in (*there, 3, 4)]


def test_a_file_that_was_put_back_after_it_was_read_is_named(log: Log, segment: Path) -> None:
    log.append([record(1)])
    earlier = segment.read_bytes()
    log.append([record(2)])
    later = Log(log.segments()[0].parent, VALUE)
    later.read()

    segment.write_bytes(earlier)
    later.append([record(3)])

    assert later.changed_by_others == {segment}


def test_a_rewritten_file_was_not_changed_by_another_program(log: Log) -> None:
    log.append([record(1), record(2)])
    log.rewrite({record(1).to_line(): b""})

    log.append([record(3)])

    assert not log.changed_by_others
    assert [each.id for each in log.read().records] == ["ghap_2", "ghap_3"]
