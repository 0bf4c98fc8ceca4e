"""What other systems do with locks, by parts that behave as theirs."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from learning_memory_server.errors import LockUnavailableError
from learning_memory_server.system.locking import has_open, lock, lock_errors, lock_far_byte
from tests.processes import python_once

HOLD = """
import fcntl, os, sys
file = os.open(sys.argv[1], os.O_RDWR)
os.lseek(file, 1 << 30, os.SEEK_SET)
fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0, os.SEEK_CUR)
print("locked", flush=True)
sys.stdin.read()
"""


def lock_bytes(descriptor: int, size: int) -> None:
    """Lock bytes at the file's position, as `msvcrt.locking` does: an `OSError` if another process has locked them."""
    fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, size, 0, os.SEEK_CUR)


def test_a_far_byte_is_locked_and_the_content_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    path.write_bytes(b"holder")
    descriptor = os.open(path, os.O_RDWR)
    lock_far_byte(descriptor, lock_bytes)
    assert os.read(descriptor, 6) == b"holder"
    assert path.stat().st_size == 6
    os.close(descriptor)


@pytest.mark.slow
def test_a_far_byte_that_another_process_has_locked_is_refused(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    path.touch()
    with python_once("locked", HOLD, path) as process:
        descriptor = os.open(path, os.O_RDWR)
        with pytest.raises(BlockingIOError):
            lock_far_byte(descriptor, lock_bytes)
        assert os.lseek(descriptor, 0, os.SEEK_CUR) == 0
        process.communicate()
        lock_far_byte(descriptor, lock_bytes)
        os.close(descriptor)


def test_shared_locks_share_and_an_exclusive_one_excludes(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    path.touch()
    first, second = (os.open(path, os.O_RDWR) for _ in range(2))
    lock(first, shared=True)
    lock(second, shared=True)
    with pytest.raises(BlockingIOError):
        lock(second)
    os.close(first)
    lock(second)
    os.close(second)


@pytest.mark.parametrize(("says", "expected"), [("41\\n42", True), ("421", False), ("", False)])
def test_lsof_says_who_has_opened_a_file(says: str, tmp_path: Path, *, expected: bool) -> None:
    lsof = tmp_path / "lsof"
    lsof.write_text(f'#!/bin/sh\n[ "$*" = "-t -a -p 42 -- {tmp_path}" ] && printf "{says}"\n')
    lsof.chmod(0o700)
    assert has_open(tmp_path, 42, str(lsof)) is expected
    assert not has_open(tmp_path, 42, str(tmp_path / "missing"))


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP, errno.EIO])
def test_a_file_system_without_locks_is_named(number: int) -> None:
    with pytest.raises(LockUnavailableError, match="does not lock files") as raised, lock_errors():
        raise OSError(number, os.strerror(number))
    assert "local disk" in raised.value.sentence


def test_a_file_that_another_process_has_locked_is_not_a_fault() -> None:
    with pytest.raises(BlockingIOError), lock_errors():
        raise BlockingIOError
