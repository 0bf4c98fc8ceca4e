"""Points on Qdrant servers that are no longer in use: nobody forgets that they are there."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.cli.doctor import Level
from learning_memory_server.cli.doctor.storage import check_elsewhere
from learning_memory_server.errors import InvalidInputError, NoAnswerError, StorageUnavailableError
from learning_memory_server.journal.archive.writing import take_snapshot
from learning_memory_server.server.composition.services import Services
from tests.index.engines.double import QdrantDouble, Wrong, serving
from tests.index.engines.double_engine import recorded
from tests.services import opened, run, settings_in
from tests.support import about

pytestmark = pytest.mark.slow

ENTRIES = [about("pool", number) for number in range(3)]


@pytest.fixture
def first(double: QdrantDouble) -> QdrantDouble:
    return double


@pytest.fixture
def second() -> Iterator[QdrantDouble]:
    with serving() as server:
        yield server


@asynccontextmanager
async def used(path: Path, url: str | None) -> AsyncIterator[Services]:
    """Open the services with their index complete."""
    async with opened(path, qdrant_url=url) as services:
        await run(services, "complete")
        yield services


async def filled(path: Path, url: str) -> None:
    async with opened(path, qdrant_url=url) as services:
        services.collector.add_resolved(ENTRIES)
        await run(services, "complete")


async def forget(services: Services, number: int) -> dict[str, Any]:
    return await run(services, "forget", ids=[ENTRIES[number].id], project=None, purge=False, preview=False)


def points(double: QdrantDouble) -> int:
    with double.turn:
        return sum(double.engine.client.count(name).count for name in double.engine.created)


def said(path: Path, url: str | None, level: Level = Level.YELLOW) -> list[str]:
    return [each.sentence for each in check_elsewhere(settings_in(path, qdrant_url=url)) if each.level is level]


async def test_what_is_forgotten_may_still_be_on_a_server_of_before_and_goes_when_it_is_used_again(
    tmp_path: Path, first: QdrantDouble, second: QdrantDouble
) -> None:
    await filled(tmp_path, first.url)
    assert points(first) == 6
    for url in (None, second.url):
        (sentence,) = said(tmp_path, url)
        assert f"migrate --leave {first.url}" in sentence
    async with used(tmp_path, None) as services:
        assert (await forget(services, 0))["elsewhere"] == [first.url]
    async with used(tmp_path, second.url) as services:
        assert (await forget(services, 1))["elsewhere"] == [first.url]
    assert points(first) == 6
    async with used(tmp_path, first.url) as services:
        assert points(first) == 2
        assert (await forget(services, 2))["elsewhere"] == [second.url]
    assert points(first) == 0


async def test_a_server_that_was_left_is_forgotten_until_it_is_used_again(tmp_path: Path, first: QdrantDouble) -> None:
    await filled(tmp_path, first.url)
    async with used(tmp_path, None) as services:
        assert await run(services, "leave", url=first.url, key=None, gone=False) == {"removed": 6}
        assert (await forget(services, 0))["elsewhere"] == []
    assert said(tmp_path, None) == []
    async with used(tmp_path, first.url):
        pass
    assert len(said(tmp_path, None)) == 1


async def test_a_server_that_is_gone_is_left_without_asking_it(tmp_path: Path, first: QdrantDouble) -> None:
    await filled(tmp_path, first.url)
    first.refuse(Wrong.RESETS)
    async with used(tmp_path, None) as services:
        with pytest.raises(NoAnswerError) as caught:
            await run(services, "leave", url=first.url, key=None)
        assert "--gone" in str(caught.value.hint)
        before = len(first.asked)
        assert await run(services, "leave", url=first.url, key=None, gone=True) == {"removed": 0}
    assert said(tmp_path, None) == []
    assert len(first.asked) == before


async def test_what_migrate_filled_is_known_and_what_it_only_read_is_not(
    tmp_path: Path, first: QdrantDouble, second: QdrantDouble
) -> None:
    async with opened(tmp_path) as services:
        services.collector.add_resolved(ENTRIES)
        await run(services, "migrate", url=first.url, key=None, to_server=True)
        await run(services, "migrate", url=second.url, key=None, to_server=False)
        assert (await forget(services, 0))["elsewhere"] == [first.url]


async def test_a_server_in_use_is_not_left_by_another_name(tmp_path: Path, first: QdrantDouble) -> None:
    await filled(tmp_path, first.url)
    port = first.server_port
    async with used(tmp_path, f"{first.url},http://127.0.0.1:2") as services:
        for url in (
            f"http://localhost:{port}",
            f"http://127.0.0.1:{port}/",
            f"http://127.0.0.1:1, http://[::1]:{port}",
            "http://127.0.0.1:2",
        ):
            with pytest.raises(InvalidInputError, match="in use"):
                await run(services, "leave", url=url, key=None, gone=False)
    assert points(first) == 6


async def test_a_node_of_the_cluster_in_use_is_not_left(
    tmp_path: Path, first: QdrantDouble, second: QdrantDouble
) -> None:
    for node in (first, second):
        node.refuse(recorded("cluster: status"), only=lambda request: request.path == "/cluster")
    await filled(tmp_path, second.url)
    async with used(tmp_path, first.url) as services:
        with pytest.raises(InvalidInputError, match="in use"):
            await run(services, "leave", url=second.url, key=None)
    assert points(second) == 6


async def test_an_archive_does_not_say_which_servers_were_used(tmp_path: Path, first: QdrantDouble) -> None:
    await filled(tmp_path, first.url)
    assert "servers.jsonl" in {path.name for path in (tmp_path / "journal").iterdir()}
    snapshot = take_snapshot(tmp_path / "journal")
    assert snapshot.records == {"ghap": 3}


async def test_nothing_is_written_to_a_server_that_the_journal_cannot_note(tmp_path: Path, first: QdrantDouble) -> None:
    async with opened(tmp_path, qdrant_url=first.url) as services:
        services.collector.add_resolved(ENTRIES)
        (tmp_path / "journal" / "servers.jsonl").mkdir()
        with pytest.raises(StorageUnavailableError, match="could not note"):
            await services.writer.complete()
        assert points(first) == 0
        (tmp_path / "journal" / "servers.jsonl").rmdir()
        await services.writer.complete()
    assert points(first) == 6


async def test_an_owner_that_was_lost_is_missed(tmp_path: Path, first: QdrantDouble) -> None:
    await filled(tmp_path, first.url)
    (tmp_path / "qdrant-owner.json").unlink()
    (sentence,) = said(tmp_path, first.url)
    assert "qdrant-owner.json" in sentence
    async with used(tmp_path, first.url):
        pass
    assert said(tmp_path, first.url) == []
    (note,) = said(tmp_path, first.url, Level.GREEN)
    assert "another owner" in note
