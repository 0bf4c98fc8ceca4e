"""Memory that is given back, and is still right."""

import mmap
import sys
from pathlib import Path

import pytest

from learning_memory_server.heap import give_back, let_go

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


def test_to_give_back_is_harmless() -> None:
    kept = [bytearray(1000) for _ in range(1000)]
    give_back()
    assert all(len(each) == 1000 for each in kept)
