import gc
import mmap
import platform
import sys
from pathlib import Path
from threading import Thread

import pytest

from learning_memory_server.system.ram import read_mapped, release_mapped, trim_heap, without_collections

SIZE = 4 * 1024 * 1024

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is released")


def resident(path: Path) -> int:
    """Return the bytes of the file that are resident in this process."""
    is_ours, total = False, 0
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if line.split()[0].endswith(":"):
            total += int(line.split()[1]) * 1024 if is_ours and line.startswith("Rss:") else 0
        else:
            is_ours = line.endswith(str(path))
    return total


def all_resident() -> int:
    """Return the bytes that are resident in this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


@pytest.mark.slow
def test_released_files_are_not_resident_and_keep_what_was_written(tmp_path: Path) -> None:
    path, other = tmp_path / "log" / "one", tmp_path / "two"
    path.parent.mkdir()
    for file in (path, other):
        file.write_bytes(bytes(SIZE))
    link = tmp_path / "link"
    link.symlink_to(path.parent)
    with path.open("r+b") as log, other.open("r+b") as rest:
        mapped, unrelated = mmap.mmap(log.fileno(), SIZE), mmap.mmap(rest.fileno(), SIZE)
        mapped[:], unrelated[:] = b"a" * SIZE, b"b" * SIZE
        assert resident(path) == resident(other) == SIZE

        release_mapped(link)

        assert resident(path) == 0
        assert resident(other) == SIZE
        assert mapped[:] == b"a" * SIZE
        mapped[:1] = b"c"
        mapped.close()
        unrelated.close()
    assert path.read_bytes() == b"c" + b"a" * (SIZE - 1)


@pytest.mark.skipif(tuple(map(int, platform.release().split(".")[:2])) < (5, 14), reason="Linux cannot do it")
def test_files_can_be_read_in_before_they_are_used(tmp_path: Path) -> None:
    path, other = tmp_path / "vectors" / "one", tmp_path / "two"
    path.parent.mkdir()
    for file in (path, other):
        file.write_bytes(bytes(SIZE))
    with path.open("r+b") as vectors, other.open("r+b") as rest:
        read, unrelated = (mmap.mmap(file.fileno(), SIZE, access=mmap.ACCESS_READ) for file in (vectors, rest))
        written = mmap.mmap(vectors.fileno(), SIZE)
        assert resident(path) == resident(other) == 0

        read_mapped(path.parent)

        # Once, although it is mapped twice.
        assert resident(path) == SIZE
        assert resident(other) == 0
        for each in (read, written, unrelated):
            each.close()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries have no such call")
def test_memory_freed_between_blocks_in_use_is_returned() -> None:
    made = [bytearray(b"x") * 2000 for _ in range(20_000)]
    kept = made[::20]
    del made
    before = all_resident()

    trim_heap()

    assert all_resident() < before - 16 * 1024 * 1024
    assert all(each == b"x" * 2000 for each in kept)


def test_collections_are_on_again_after_the_last_block_without_them() -> None:
    with without_collections():
        with without_collections():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_block_in_another_thread_does_not_turn_collections_on() -> None:
    def inside() -> None:
        with without_collections():
            pass

    with without_collections():
        other = Thread(target=inside)
        other.start()
        other.join()
        assert not gc.isenabled()
    assert gc.isenabled()
