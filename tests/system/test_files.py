import shutil
import threading
from pathlib import Path

from learning_memory_server.system import files
from learning_memory_server.system.files import disk_use


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
