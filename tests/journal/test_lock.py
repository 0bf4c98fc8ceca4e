from __future__ import annotations

import os
import stat
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from learning_memory_server.errors import AlreadyRunningError, JournalUnavailableError
from learning_memory_server.journal.lock import describe_holder, exclusive, holder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOLD = """
import sys
from pathlib import Path
from learning_memory_server.journal.lock import exclusive

with exclusive(Path(sys.argv[1]), "a nightly import"):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_elsewhere(directory: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the directory until its input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_two_processes_cannot_hold_it_and_the_holder_is_named(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path) as process:
        with pytest.raises(AlreadyRunningError) as caught, exclusive(tmp_path, "a second server"):
            pass

        assert f"a nightly import, process {process.pid}" in caught.value.message
        assert caught.value.hint
        assert holder(tmp_path) == {"pid": process.pid, "purpose": "a nightly import"}


def test_it_is_free_once_the_holder_ends(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path) as process:
        process.communicate()
        assert process.returncode == 0

        assert holder(tmp_path) is None
        with exclusive(tmp_path, "the next"):
            assert holder(tmp_path) == {"pid": os.getpid(), "purpose": "the next"}


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


def test_a_failed_attempt_does_not_touch_the_holder_s_note(tmp_path: Path) -> None:
    with exclusive(tmp_path, "the first"):
        for _ in range(2):
            with pytest.raises(AlreadyRunningError, match="the first"), exclusive(tmp_path, "the second"):
                pass


def test_asking_for_the_holder_takes_nothing_and_creates_nothing(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    assert list(tmp_path.iterdir()) == []
    with exclusive(tmp_path, "work"):
        holder(tmp_path)
        with pytest.raises(AlreadyRunningError), exclusive(tmp_path, "more work"):
            pass


def test_a_lock_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    lock.symlink_to(lock)
    for look in (holder, describe_holder):
        with pytest.raises(JournalUnavailableError) as caught:
            look(tmp_path)
        assert str(lock) in caught.value.message
        assert caught.value.hint


def test_directory_and_lock_are_for_their_owner_alone(tmp_path: Path) -> None:
    with exclusive(tmp_path / "journal", "work"):
        assert stat.S_IMODE((tmp_path / "journal").stat().st_mode) == 0o700
        assert stat.S_IMODE((tmp_path / "journal" / ".lock").stat().st_mode) == 0o600


def test_a_directory_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("a file")

    with pytest.raises(JournalUnavailableError), exclusive(tmp_path / "journal", "work"):
        pass
