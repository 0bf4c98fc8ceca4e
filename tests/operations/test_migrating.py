"""Which engine is filled from which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from learning_memory_server.composition.backends import open_embedded
from learning_memory_server.composition.services import open_services
from learning_memory_server.domain.vocabulary import Axis
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.indexing.document import Collection
from learning_memory_server.operations import operate
from learning_memory_server.operations.migrating import move_between
from learning_memory_server.settings import Settings
from learning_memory_server.storage.qdrant import MEMORY, QdrantStore
from tests.support import about

if TYPE_CHECKING:
    from pathlib import Path

    from learning_memory_server.composition.services import Services

NOWHERE = "http://127.0.0.1:1"
ENTRIES = [about(topic, number) for number, topic in enumerate(["pool", "cache", "types"] * 10)]
FULL = Collection.EXPERIENCES_FULL


def ignore(doing: str, done: int = 0, total: int = 0) -> None:
    """Ignore progress."""


async def fill(services: Services) -> None:
    services.collector.add_resolved(ENTRIES)
    await operate(services, ignore, "complete", {})


def settings_in(path: Path, **changes: Any) -> Settings:
    return Settings(storage_path=path, embedding_backend="hashing", **changes)


@pytest.mark.slow
async def test_the_embedded_index_fills_a_server_and_is_refilled_from_it(tmp_path: Path) -> None:
    server = QdrantStore(MEMORY)
    async with open_services(settings_in(tmp_path / "here"), purpose="a test") as services:
        await fill(services)
        there = (await move_between(services, ignore, server, to_server=True))["collections"]
        assert (there[FULL]["copied"], there[FULL]["embedded"], there[FULL]["count"]) == (30, 0, 30)
        again = (await move_between(services, ignore, server, to_server=True))["collections"]
        assert (again[FULL]["there_before"], again[FULL]["copied"]) == (30, 0)
    async with open_services(settings_in(tmp_path / "back"), purpose="a test") as services:
        services.collector.add_resolved(ENTRIES)
        before = services.index.generation(FULL)
        back = (await move_between(services, ignore, server, to_server=False))["collections"]
        assert (back[FULL]["copied"], back[FULL]["embedded"], back[FULL]["count"]) == (30, 0, 30)
        assert services.index.generation(FULL) > before
        assert (await operate(services, ignore, "complete", {}))["points"] == 60
    await server.close()


@pytest.mark.slow
async def test_the_embedded_engine_is_filled_even_if_the_configured_server_does_not_answer(
    tmp_path: Path,
) -> None:
    async with open_services(settings_in(tmp_path, qdrant_url=NOWHERE), purpose="a test") as services:
        services.collector.add_resolved(ENTRIES)
        server = QdrantStore(MEMORY)
        moved = (await move_between(services, ignore, server, to_server=False))["collections"]
        assert (moved[FULL]["embedded"], moved[FULL]["missing"]) == (30, 0)
        embedded = open_embedded(services.settings, await services.index.identity())
        assert await embedded.count(Collection.of(Axis.STRATEGY)) == 30
        await embedded.close()
        await server.close()


async def test_only_a_server_is_accepted_as_a_target(tmp_path: Path) -> None:
    async with open_services(settings_in(tmp_path), purpose="a test") as services:
        with pytest.raises(InvalidInputError, match="must begin with http"):
            await operate(services, ignore, "migrate", {"url": MEMORY, "key": None, "to_server": True})
