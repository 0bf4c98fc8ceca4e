from pathlib import Path

import pytest

from learning_memory_server.cli.doctor import Level
from learning_memory_server.cli.doctor.settings import check_folders
from learning_memory_server.errors import DiskFullError, JournalUnavailableError
from learning_memory_server.index.queries import ExperienceQuery
from learning_memory_server.model.vocabulary import OutcomeStatus, SearchMode
from tests.acceptance.disks import fill, small_disk
from tests.services import opened, settings_in
from tests.support import ALICE, start

pytestmark = pytest.mark.slow


async def test_a_full_disk_is_an_error_and_loses_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    settings = settings_in(disk / "memory")
    # Too small for the engine to write safely.
    with small_disk(disk, "4m"):
        async with opened(settings) as services:
            first = start(services.collector, ALICE)
            fill(disk / "fill")

            with pytest.raises(JournalUnavailableError, match="No space left") as refused:
                services.collector.resolve(ALICE, status=OutcomeStatus.CONFIRMED, result="It held" * 200)
            assert refused.value.hint is not None
            assert "doctor" in refused.value.hint
            assert services.collector.still_open.current(ALICE) == first

            (disk / "fill").unlink()
            resolved = services.collector.resolve(ALICE, status=OutcomeStatus.CONFIRMED, result="It held")
            # 4 MB are enough for the journal, and too little for the engine.
            with pytest.raises(DiskFullError):
                await services.index.open()
            assert not await services.persister.persist(resolved)
            found = await services.searcher.search_experiences(ExperienceQuery(text=first.hypothesis))
            assert (found.mode, [hit.entry for hit in found.found]) == (SearchMode.LEXICAL, [resolved])

        assert [finding.level for finding in check_folders(settings) if finding.topic == "disk"] == [Level.RED]
        async with opened(settings) as again:
            assert again.collector.list_resolved() == [resolved]
            assert again.journal.damage() == []
