import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.index.document import Collection
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.server.composition.backends import open_embedded
from learning_memory_server.server.composition.services import Services, open_services
from learning_memory_server.server.operations import operate
from learning_memory_server.server.settings import Settings
from tests.index.engines.double import QdrantDouble, serving
from tests.support import about

NOWHERE = "http://127.0.0.1:1"
ENTRIES = [about(topic, number) for number, topic in enumerate(["pool", "cache", "types"] * 10)]
FULL = Collection.EXPERIENCES_FULL


def ignore(doing: str, done: int = 0, total: int = 0) -> None:
    """Ignore progress."""


async def fill(services: Services) -> None:
    services.collector.add_resolved(ENTRIES)
    await operate(services, ignore, "complete", {})


@pytest.fixture
def double() -> Iterator[QdrantDouble]:
    with serving() as server:
        yield server


def settings_in(path: Path, **changes: Any) -> Settings:
    return Settings(storage_path=path, embedding_backend="hashing", **changes)


@pytest.mark.slow
async def test_the_embedded_index_fills_a_server_and_is_refilled_from_it(tmp_path: Path, double: QdrantDouble) -> None:
    to, back = ({"url": double.url, "key": None, "to_server": to_server} for to_server in (True, False))
    async with open_services(settings_in(tmp_path), purpose="a test") as services:
        await fill(services)
        there = (await operate(services, ignore, "migrate", to))["collections"]
        assert (there[FULL]["copied"], there[FULL]["embedded"], there[FULL]["count"]) == (30, 0, 30)
        again = (await operate(services, ignore, "migrate", to))["collections"]
        assert (again[FULL]["there_before"], again[FULL]["copied"]) == (30, 0)
    shutil.rmtree(tmp_path / "index")
    async with open_services(settings_in(tmp_path), purpose="a test") as services:
        before = services.index.generation(FULL)
        moved = (await operate(services, ignore, "migrate", back))["collections"]
        assert (moved[FULL]["copied"], moved[FULL]["embedded"], moved[FULL]["count"]) == (30, 0, 30)
        assert services.index.generation(FULL) > before
        assert (await operate(services, ignore, "complete", {}))["points"] == 60


@pytest.mark.slow
async def test_somebody_elses_points_are_not_copied(tmp_path: Path, double: QdrantDouble) -> None:
    for name in ("one", "two"):
        settings = settings_in(tmp_path / name)
        async with open_services(settings, purpose="a test") as services:
            await fill(services)
            there = {"url": double.url, "key": None, "to_server": name == "one"}
            moved = (await operate(services, ignore, "migrate", there))["collections"]
            assert moved[FULL]["count"] == 30
    asked = [request for request in double.asked if request.path.endswith("/points/scroll")]
    assert all(request.body["filter"]["must"][0]["key"] == "owner" for request in asked)


@pytest.mark.slow
async def test_the_embedded_engine_is_filled_even_if_the_configured_server_does_not_answer(
    tmp_path: Path, double: QdrantDouble
) -> None:
    async with open_services(settings_in(tmp_path, qdrant_url=NOWHERE), purpose="a test") as services:
        services.collector.add_resolved(ENTRIES)
        here = {"url": double.url, "key": None, "to_server": False}
        moved = (await operate(services, ignore, "migrate", here))["collections"]
        assert (moved[FULL]["embedded"], moved[FULL]["missing"]) == (30, 0)
        embedded = open_embedded(services.settings, await services.index.embeddings.identity())
        assert await embedded.count(Collection.of(Axis.STRATEGY)) == 30
        await embedded.close()


async def test_only_a_server_is_accepted_as_a_target(tmp_path: Path) -> None:
    async with open_services(settings_in(tmp_path), purpose="a test") as services:
        with pytest.raises(InvalidInputError, match="must begin with http"):
            await operate(services, ignore, "migrate", {"url": ":memory:", "key": None, "to_server": True})
