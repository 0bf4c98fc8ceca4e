import fcntl
import os
import stat
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from learning_memory_server.errors import AlreadyRunningError, LockUnavailableError
from learning_memory_server.system.locking import exclusive, hold, holder, is_locked_by, try_lock
from tests.processes import python, python_once

HOLD = """
import sys
from pathlib import Path
from learning_memory_server.system.locking import exclusive

with exclusive(Path(sys.argv[1]), "a nightly import"):
    print("held", flush=True)
    sys.stdin.read()
"""


def held_elsewhere(directory: Path) -> AbstractContextManager[subprocess.Popen[str]]:
    """Start another process that locks the directory until its input ends."""
    return python_once("held", HOLD, directory)


def test_two_processes_cannot_lock_it_and_the_first_is_named(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path) as process:
        with pytest.raises(AlreadyRunningError) as caught, exclusive(tmp_path, "a second server"):
            pass

        assert f"a nightly import, process {process.pid}" in caught.value.message
        assert caught.value.hint
        assert holder(tmp_path) == {"folder": str(tmp_path), "pid": process.pid, "purpose": "a nightly import"}


def test_it_is_free_once_the_holder_ends(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path) as process:
        process.communicate()
        assert process.returncode == 0

        assert holder(tmp_path) is None
        with exclusive(tmp_path, "the next"):
            assert holder(tmp_path) == {"folder": str(tmp_path), "pid": os.getpid(), "purpose": "the next"}


def test_it_is_free_after_the_holder_was_killed(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path) as process:
        process.kill()
        process.wait()

        assert (tmp_path / ".lock").read_text(), "the dead holder's note is still there"
        assert holder(tmp_path) is None
        with exclusive(tmp_path, "the next"):
            pass


def test_it_is_free_after_an_error_in_the_block(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), exclusive(tmp_path, "work"):
        _ = 1 / 0

    with exclusive(tmp_path, "work"):
        pass


def test_a_failed_attempt_does_not_change_the_holder_s_note(tmp_path: Path) -> None:
    with exclusive(tmp_path, "the first"):
        for _ in range(2):
            with pytest.raises(AlreadyRunningError, match="the first"), exclusive(tmp_path, "the second"):
                pass


def test_asking_for_the_holder_locks_nothing_and_creates_nothing(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    assert list(tmp_path.iterdir()) == []
    with exclusive(tmp_path, "work"):
        holder(tmp_path)
        with pytest.raises(AlreadyRunningError), exclusive(tmp_path, "more work"):
            pass


def test_a_lock_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    lock.symlink_to(lock)
    with pytest.raises(LockUnavailableError) as caught:
        holder(tmp_path)
    assert str(lock) in caught.value.message
    assert caught.value.hint


def test_folder_and_lock_file_are_private(tmp_path: Path) -> None:
    with exclusive(tmp_path / "journal", "work"):
        assert stat.S_IMODE((tmp_path / "journal").stat().st_mode) == 0o700
        assert stat.S_IMODE((tmp_path / "journal" / ".lock").stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["the journal folder", "the storage folder"])
def test_a_folder_that_cannot_be_created_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    places = {"the journal folder": tmp_path / "journal", "the storage folder": tmp_path / "storage"}
    places[name] = tmp_path / "file"
    journal, storage = places.values()

    with pytest.raises(LockUnavailableError) as caught, hold(journal, storage, "work"):
        pass

    assert caught.value.message == f"{name.capitalize()} could not be locked (Not a directory)."
    assert caught.value.hint


@pytest.mark.parametrize("name", ["the journal folder", "the storage folder"])
def test_the_folder_that_another_process_uses_is_named(name: str, tmp_path: Path) -> None:
    places = {"the journal folder": tmp_path / "journal", "the storage folder": tmp_path / "storage"}
    journal, storage = places.values()

    with (
        held_elsewhere(places[name]) as process,
        pytest.raises(AlreadyRunningError) as caught,
        hold(journal, storage, "a second server"),
    ):
        pass

    assert caught.value.message == (
        f"Another process (a nightly import, process {process.pid}) is using {name} {places[name]}."
    )
    assert [holder(path) for path in places.values()] == [None, None]


@pytest.mark.parametrize("name", ["real", "link"])
def test_one_folder_for_journal_and_storage_is_locked_once_though_it_has_two_names(name: str, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    with hold(tmp_path / name, real, "a server"):
        assert holder(real) == {"folder": str(real), "pid": os.getpid(), "purpose": "a server"}


def test_only_the_process_that_has_locked_it_is_its_holder(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path) as process:
        assert is_locked_by(tmp_path / ".lock", process.pid)
        # Neither a process that has merely opened the file, nor one that does not exist.
        with (tmp_path / ".lock").open("rb"):
            assert not is_locked_by(tmp_path / ".lock", os.getpid())
        assert not is_locked_by(tmp_path / ".lock", 2**22 - 3)
        assert not is_locked_by(tmp_path / "none" / ".lock", process.pid)


def test_a_process_that_only_looks_does_not_keep_another_from_locking(tmp_path: Path) -> None:
    looking, locking = (os.open(tmp_path / ".lock", os.O_RDWR | os.O_CREAT) for _ in range(2))
    fcntl.flock(looking, fcntl.LOCK_SH)
    pauses: list[float] = []

    def end_looking(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            os.close(looking)

    assert try_lock(locking, end_looking)
    assert len(pauses) == 2
    os.close(locking)


def test_a_lock_that_stays_is_given_up(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / ".lock", os.O_RDWR | os.O_CREAT)
    pauses: list[float] = []
    with exclusive(tmp_path, "a server"):
        assert not try_lock(descriptor, pauses.append)
    assert 0 < sum(pauses) < 1
    os.close(descriptor)


def test_two_processes_can_look_at_the_same_time(tmp_path: Path) -> None:
    with exclusive(tmp_path, "a server"):
        pass
    looking = os.open(tmp_path / ".lock", os.O_RDWR)
    fcntl.flock(looking, fcntl.LOCK_SH)
    assert holder(tmp_path) is None
    os.close(looking)


def test_a_completely_full_disk_does_not_prevent_locking(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    program = """
import resource, sys
from pathlib import Path
from learning_memory_server.system.locking import exclusive

resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
with exclusive(Path(sys.argv[1]), "a server"):
    print("locked")
"""
    assert python(program, tmp_path) == "locked\n"
