"""The check of the free disk space. `tests/acceptance/test_full_disk.py` runs it on a disk that is nearly full."""

import pytest

from learning_memory_server.cli.doctor import Level
from learning_memory_server.cli.doctor.settings import check_space
from learning_memory_server.index.engines.base import MIN_FREE_BYTES

_GIB = 1024**3


@pytest.mark.parametrize(
    ("free", "level", "sentence"),
    [
        (MIN_FREE_BYTES - 1, Level.RED, "64.0 MiB are free, but 64.0 MiB are needed; free some space."),
        (MIN_FREE_BYTES, Level.YELLOW, "Only 64.0 MiB are free; consider freeing some space."),
        (_GIB - 1, Level.YELLOW, "Only 1.0 GiB are free; consider freeing some space."),
        (_GIB, Level.GREEN, "1.0 GiB are free."),
    ],
)
def test_too_little_free_space_is_red_and_less_than_a_gibibyte_is_yellow(
    free: int, level: Level, sentence: str
) -> None:
    finding = check_space(free)
    assert (finding.level, finding.topic, finding.sentence) == (level, "disk", sentence)
