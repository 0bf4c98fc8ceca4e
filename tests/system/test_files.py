import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal.archive.writing import take_snapshot, write_archive
from learning_memory_server.journal.journal import Journal
from learning_memory_server.system import files
from learning_memory_server.system.files import disk_use
from learning_memory_server.system.ipc.programs import RECORD, record, this_program
from tests.journal.mortal import MortalDisk, MortalSystem
from tests.support import NOON, numbered


def test_the_use_of_a_folder_is_that_of_all_files_in_it(tmp_path: Path) -> None:
    assert disk_use(tmp_path / "missing") == 0
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    for folder in (tmp_path, below):
        (folder / "file").write_bytes(b"x" * 10_000)
    assert disk_use(tmp_path) >= 20_000


def test_folders_may_disappear_while_their_use_is_added_up(tmp_path: Path) -> None:
    is_over = threading.Event()

    def disturb() -> None:
        while not is_over.is_set():
            for number in range(20):
                (tmp_path / str(number) / "below").mkdir(parents=True)
            for number in range(20):
                shutil.rmtree(tmp_path / str(number))

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        assert all(disk_use(tmp_path) == 0 for _ in range(500))
    finally:
        is_over.set()
        thread.join()


def test_a_file_is_created_once_and_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    assert files.create(path, b"first")
    assert not files.create(path, b"second")
    assert path.read_bytes() == b"first"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_a_link_that_was_planted_in_place_of_a_new_file_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.symlink_to(tmp_path / "elsewhere")
    assert not files.create(path, b"first")
    assert not (tmp_path / "elsewhere").exists()


def archived(path: Path) -> None:
    write_archive(path.with_name("archive.tar"), take_snapshot(path.parent / "journal"), NOON, replace=True)


WRITERS: dict[str, Callable[[Path], object]] = {
    "file": lambda path: files.replace(path, b"new"),
    "claim": lambda path: files.create(path, b"new"),
    RECORD: lambda path: record(path.parent, this_program()),
    "archive.tar": archived,
}


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="not a regular file"):
        files.replace(pipe, b"new")
    assert pipe.is_fifo()
    assert [*tmp_path.iterdir()] == [pipe]


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("plant", [os.symlink, os.link])
def test_no_link_that_was_planted_beside_a_file_is_written_through(
    tmp_path: Path, name: str, plant: Callable[[Path, Path], None]
) -> None:
    (tmp_path / "journal").mkdir()
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    victim.chmod(0o644)
    for planted in (f"{name}.tmp", f".{name}.tmp", f"{name}.{os.getpid()}", f".{name}.{os.getpid()}.tmp"):
        plant(victim, tmp_path / planted)
    WRITERS[name](tmp_path / name)
    assert (victim.read_bytes(), victim.stat().st_mode & 0o777) == (b"mine", 0o644)
    assert (tmp_path / name).stat().st_ino != victim.stat().st_ino


@pytest.mark.parametrize("old", [None, b"old"])
def test_a_file_that_could_not_be_replaced_is_as_it_was_or_whole(tmp_path: Path, old: bytes | None) -> None:
    path = tmp_path / "file"
    refused = 0
    for steps in range(20):
        path.unlink(missing_ok=True)
        if old is not None:
            path.write_bytes(old)
        system = MortalSystem()
        system.refuse_after(steps, steps)
        try:
            MortalDisk(system).replace(path, b"new")
        except OSError:
            refused += 1
            # A new one would be taken for a second.
            assert (path.read_bytes() if path.exists() else None) in ({old} if old is None else {old, b"new"})
        else:
            assert path.read_bytes() == b"new"
        assert set(tmp_path.iterdir()) <= {path}
    assert refused >= 4


def test_an_entry_that_could_not_be_started_is_not_there_beside_its_second_try(tmp_path: Path) -> None:
    for steps in range(20):
        folder = tmp_path / str(steps)
        system = MortalSystem()
        system.refuse_after(steps, steps)
        journal = Journal(folder, disk=MortalDisk(system))
        started = numbered(1, resolution=None), numbered(2, resolution=None)
        try:
            journal.save_open(started[0])
        except JournalUnavailableError:
            journal.save_open(started[1])
            assert journal.open_entries() == [started[1]], steps


def test_a_folder_that_can_be_rebuilt_is_marked_once(tmp_path: Path) -> None:
    for _ in range(2):
        files.mark_rebuildable(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["CACHEDIR.TAG"]
    # What the specification, and each program that follows it, looks at.
    assert (tmp_path / "CACHEDIR.TAG").read_bytes().startswith(b"Signature: 8a477f597d28d172789f06886806bc55\n")
