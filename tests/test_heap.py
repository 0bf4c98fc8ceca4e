"""Memory that is given back, and is still right."""

import gc
import mmap
import platform
import sys
from pathlib import Path

import pytest

from learning_memory_server.heap import give_back, keep, let_go

SIZE = 4 * 1024 * 1024

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is given back")


def resident(path: Path) -> int:
    """Return the bytes of the file that this process has in memory."""
    is_ours, total = False, 0
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if line.split()[0].endswith(":"):
            total += int(line.split()[1]) * 1024 if is_ours and line.startswith("Rss:") else 0
        else:
            is_ours = line.endswith(str(path))
    return total


def in_memory() -> int:
    """Return the bytes that this process has in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def test_mapped_files_leave_the_memory_and_keep_what_was_written(tmp_path: Path) -> None:
    path, other = tmp_path / "log" / "one", tmp_path / "two"
    path.parent.mkdir()
    for file in (path, other):
        file.write_bytes(bytes(SIZE))
    link = tmp_path / "link"
    link.symlink_to(path.parent)
    with path.open("r+b") as log, other.open("r+b") as rest:
        mapped, beside = mmap.mmap(log.fileno(), SIZE), mmap.mmap(rest.fileno(), SIZE)
        mapped[:], beside[:] = b"a" * SIZE, b"b" * SIZE
        assert resident(path) == resident(other) == SIZE

        let_go(link)

        assert resident(path) == 0
        assert resident(other) == SIZE
        assert mapped[:] == b"a" * SIZE
        mapped[:1] = b"c"
        mapped.close()
        beside.close()
    assert path.read_bytes() == b"c" + b"a" * (SIZE - 1)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries cannot be asked")
def test_what_was_freed_between_things_that_are_kept_leaves_the_memory() -> None:
    made = [bytearray(b"x") * 2000 for _ in range(20_000)]
    kept = made[::20]
    del made
    before = in_memory()

    give_back()

    assert in_memory() < before - 16 * 1024 * 1024
    assert all(each == b"x" * 2000 for each in kept)


def test_what_is_kept_is_not_searched_for_garbage() -> None:
    kept = [["a list that holds one"]]
    assert any(each is kept for each in gc.get_objects())
    try:
        keep()
        assert not any(each is kept for each in gc.get_objects())
    finally:
        gc.unfreeze()
