"""`migrate`: which engine is filled from which, and what is said when that is not possible."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from learning_memory_server.domain.vocabulary import Axis
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.indexing.document import Collection
from learning_memory_server.server.config import Settings
from learning_memory_server.server.operations import operate
from learning_memory_server.server.operations.migrating import move_between
from learning_memory_server.server.services import open_embedded, open_services
from learning_memory_server.storage.qdrant import MEMORY, QdrantStore
from tests.support import about

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

    from learning_memory_server.server.services import Services

NOWHERE = "http://127.0.0.1:1"
ENTRIES = [about(topic, number) for number, topic in enumerate(["pool", "cache", "types"] * 10)]
FULL = Collection.EXPERIENCES_FULL


def ignore(doing: str, done: int = 0, total: int = 0) -> None:
    """Take a report."""


async def fill(services: Services) -> None:
    services.collector.add_resolved(ENTRIES)
    await operate(services, ignore, "complete", {})


def settings_in(path: Path, **changes: Any) -> Settings:
    return Settings(storage_path=path, embedding_backend="hashing", **changes)


async def test_the_embedded_index_fills_a_server_and_a_server_fills_it_anew(tmp_path: Path) -> None:
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


async def test_beside_a_server_that_does_not_answer_the_embedded_engine_is_filled_all_the_same(
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


async def test_only_servers_are_migrated_to(tmp_path: Path) -> None:
    async with open_services(settings_in(tmp_path), purpose="a test") as services:
        with pytest.raises(InvalidInputError, match="must begin with http"):
            await operate(services, ignore, "migrate", {"url": MEMORY, "key": None, "to_server": True})


@pytest.mark.parametrize("with_hub", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("option", ["--to", "--from"])
def test_a_server_that_cannot_be_reached_is_a_sentence(
    run: Any, filled: Result, start_hub: Callable[[], int], option: str, with_hub: bool
) -> None:
    assert filled.exit_code == 0
    if with_hub:
        start_hub()
    result = run("migrate", option, NOWHERE)
    assert result.exit_code == 1
    assert "error: " in result.stderr
    assert "127.0.0.1:1" in result.stderr
    assert "mode: hybrid" in run("search", "leak").stdout


@pytest.mark.parametrize(
    "options", ["", "--to http://a --from http://b", "--to :memory:", "--from file:///x"]
)
def test_one_server_must_be_named(run: Any, options: str) -> None:
    result = run("migrate", *options.split())
    assert result.exit_code == 1
    assert "Qdrant server" in result.stderr or "must look like" in result.stderr


@pytest.mark.skipif("LMS_TEST_QDRANT_URL" not in os.environ, reason="needs a Qdrant server")
def test_there_and_back_over_a_real_server(run: Any, filled: Result, storage: Path) -> None:
    assert filled.exit_code == 0
    url = os.environ["LMS_TEST_QDRANT_URL"]
    there = run("migrate", "--to", url)
    assert there.exit_code == 0
    assert f"set LEARNING_MEMORY_QDRANT_URL={url}" in there.stdout
    assert run("migrate", "--from", url, LEARNING_MEMORY_QDRANT_URL=url).exit_code == 0
    assert storage.exists()
