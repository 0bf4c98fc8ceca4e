import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from learning_memory_server.cli.doctor import Level
from learning_memory_server.cli.doctor.settings import check_folders
from learning_memory_server.errors import DiskFullError, JournalUnavailableError
from learning_memory_server.index.queries import ExperienceQuery
from learning_memory_server.model.vocabulary import OutcomeStatus, SearchMode
from learning_memory_server.server.composition.services import open_services
from learning_memory_server.server.settings import load_settings
from tests.support import ALICE, start

pytestmark = pytest.mark.slow


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB: too small for the engine to write safely."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs", str(disk)],  # noqa: S607 - needs root anyway
        check=False,
        capture_output=True,
    )
    if mounted.returncode:
        pytest.skip("mounting a file system needs root")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)  # noqa: S607


async def test_a_full_disk_is_an_error_and_loses_nothing(small_disk: Path) -> None:
    settings = load_settings(
        {"LEARNING_MEMORY_STORAGE_PATH": str(small_disk / "memory"), "LEARNING_MEMORY_EMBEDDING_BACKEND": "hashing"}
    )
    async with open_services(settings, purpose="a test") as services:
        first = start(services.collector, ALICE)
        fill = small_disk / "fill"
        _fill(fill)

        with pytest.raises(JournalUnavailableError, match="No space left") as refused:
            services.collector.resolve(ALICE, status=OutcomeStatus.CONFIRMED, result="It held" * 200)
        assert refused.value.hint is not None
        assert "doctor" in refused.value.hint
        assert services.collector.find_current(ALICE) == first

        fill.unlink()
        resolved = services.collector.resolve(ALICE, status=OutcomeStatus.CONFIRMED, result="It held")
        # 4 MB are enough for the journal, and too little for the engine.
        with pytest.raises(DiskFullError):
            await services.index.open()
        assert not await services.persister.persist(resolved)
        found = await services.searcher.search_experiences(ExperienceQuery(text=first.hypothesis))
        assert (found.mode, [hit.entry for hit in found.found]) == (SearchMode.LEXICAL, [resolved])

    assert [finding.level for finding in check_folders(settings) if finding.topic == "disk"] == [Level.RED]
    async with open_services(settings, purpose="a test") as again:
        assert again.collector.list_resolved() == [resolved]
        assert again.journal.damage() == []


def _fill(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    for size in (65536, 1):
        with suppress(OSError):
            while True:
                os.write(descriptor, b"x" * size)
    os.close(descriptor)
