import shutil
from pathlib import Path

import pytest

from learning_memory_server.errors import InvalidSettingsError
from learning_memory_server.index.document import Collection
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.server.composition.backends import open_embedded
from learning_memory_server.server.composition.services import Services
from tests.index.engines.double import QdrantDouble
from tests.services import opened, run
from tests.support import about

NOWHERE = "http://127.0.0.1:1"
ENTRIES = [about(topic, number) for number, topic in enumerate(["pool", "cache", "types"] * 10)]
FULL = Collection.EXPERIENCES_FULL


async def fill(services: Services) -> None:
    services.collector.add_resolved(ENTRIES)
    await run(services, "complete")


@pytest.mark.slow
async def test_the_embedded_index_fills_a_server_and_is_refilled_from_it(tmp_path: Path, double: QdrantDouble) -> None:
    to, back = ({"url": double.url, "key": None, "to_server": to_server} for to_server in (True, False))
    async with opened(tmp_path) as services:
        await fill(services)
        there = (await run(services, "migrate", **to))["collections"]
        assert (there[FULL]["copied"], there[FULL]["embedded"], there[FULL]["count"]) == (30, 0, 30)
        again = (await run(services, "migrate", **to))["collections"]
        assert (again[FULL]["there_before"], again[FULL]["copied"]) == (30, 0)
    shutil.rmtree(tmp_path / "index")
    async with opened(tmp_path) as services:
        before = services.index.generation(FULL)
        moved = (await run(services, "migrate", **back))["collections"]
        assert (moved[FULL]["copied"], moved[FULL]["embedded"], moved[FULL]["count"]) == (30, 0, 30)
        assert services.index.generation(FULL) > before
        assert (await run(services, "complete"))["points"] == 60


@pytest.mark.slow
async def test_somebody_elses_points_are_not_copied(tmp_path: Path, double: QdrantDouble) -> None:
    for name in ("one", "two"):
        async with opened(tmp_path / name) as services:
            await fill(services)
            there = {"url": double.url, "key": None, "to_server": name == "one"}
            moved = (await run(services, "migrate", **there))["collections"]
            assert moved[FULL]["count"] == 30
    asked = [request for request in double.asked if request.path.endswith("/points/scroll")]
    assert all(request.body["filter"]["must"][0]["key"] == "owner" for request in asked)


@pytest.mark.slow
async def test_the_embedded_engine_is_filled_even_if_the_configured_server_does_not_answer(
    tmp_path: Path, double: QdrantDouble
) -> None:
    async with opened(tmp_path, qdrant_url=NOWHERE) as services:
        services.collector.add_resolved(ENTRIES)
        here = {"url": double.url, "key": None, "to_server": False}
        moved = (await run(services, "migrate", **here))["collections"]
        assert (moved[FULL]["embedded"], moved[FULL]["missing"]) == (30, 0)
        embedded = open_embedded(services.settings, await services.index.embeddings.identity())
        assert await embedded.count(Collection.of(Axis.STRATEGY)) == 30
        await embedded.close()


async def test_only_a_server_is_accepted_as_a_target(tmp_path: Path) -> None:
    async with opened(tmp_path) as services:
        with pytest.raises(InvalidSettingsError, match="such as http://localhost:6333"):
            await run(services, "migrate", url=":memory:", key=None, to_server=True)
