"""Real services in a temporary directory."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.settings import Settings
from tests.server.agent import Agent, agent_of, indexing, open_index
from tests.server.topics import topics  # noqa: F401 - a fixture
from tests.services import opened, settings_in
from tests.support import in_one_task


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_in(tmp_path)


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[Services]:
    """Services whose index is not open yet, as in the first seconds of a server."""
    async with opened(settings) as services:
        yield services


@pytest.fixture
async def indexed(services: Services) -> AsyncIterator[Services]:
    """Services whose index is open."""
    async with indexing(services):
        yield services


@pytest.fixture
async def agent(services: Services) -> AsyncIterator[Agent]:
    """An agent of these services: with an open index if the test asks for `indexed`."""
    async with in_one_task(agent_of(services)) as connected:
        yield connected


@pytest.fixture(params=["lexical", "hybrid"])
async def mode(services: Services, request: pytest.FixtureRequest) -> str:
    """How searches are answered: the index is open, or not yet."""
    name: str = request.param
    if name == "hybrid":
        await open_index(services)
    return name
