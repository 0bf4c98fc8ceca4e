from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.settings import Settings
from tests.advice.parts import MeasuredModel
from tests.advice.ruled import Session
from tests.server.agent import at_work
from tests.services import settings_in
from tests.support import Parts, open_parts


@pytest.fixture
async def parts(tmp_path: Path) -> AsyncIterator[Parts]:
    """Everything over an empty journal, with an index that is up to date and a model whose scale is known."""
    async with open_parts(tmp_path, load=MeasuredModel) as opened:
        await opened.ready()
        yield opened


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_in(tmp_path)


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[Services]:
    """Services that have all the time for advice that a busy machine needs."""
    async with at_work(settings, load=MeasuredModel) as services:
        services.room.has_deadline = False
        yield services


@pytest.fixture
def accept(services: Services) -> Callable[..., None]:
    return services.rule_log.add


@pytest.fixture
def session(services: Services) -> Session:
    return Session(services)
