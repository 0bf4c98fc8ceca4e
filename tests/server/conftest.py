"""Real services in a temporary directory."""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from learning_memory_server.server.config import Settings
from learning_memory_server.server.services import open_services
from tests.server.agent import indexing
from tests.server.topics import topics  # noqa: F401 - a fixture

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from learning_memory_server.server.services import Services


def settings_in(directory: Path) -> Settings:
    return Settings(storage_path=directory, embedding_backend="hashing", log_level="error")


@pytest.fixture(scope="session")
def empty_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index without points. The engine takes seconds to make one, and none to open a copy of it."""
    settings = settings_in(tmp_path_factory.mktemp("template"))

    async def create() -> None:
        async with open_services(settings, purpose="a test") as services:
            await services.index.open()

    asyncio.run(create())
    return settings.index_directory


def copy_with_holes(source: str, target: str) -> None:
    """Copy what a file holds and keep its holes: the engine reserves hundreds of MiB that it never fills."""
    with Path(source).open("rb") as reader, Path(target).open("wb") as writer:
        size, position = os.fstat(reader.fileno()).st_size, 0
        writer.truncate(size)
        with suppress(OSError):  # no more data before the end
            while position < size:
                start = os.lseek(reader.fileno(), position, os.SEEK_DATA)
                position = os.lseek(reader.fileno(), start, os.SEEK_HOLE)
                os.pwrite(writer.fileno(), os.pread(reader.fileno(), position - start, start), start)


@pytest.fixture
def settings(tmp_path: Path, empty_index: Path) -> Iterator[Settings]:
    settings = settings_in(tmp_path)
    shutil.copytree(empty_index, settings.index_directory, copy_function=copy_with_holes)
    yield settings
    shutil.rmtree(settings.index_directory)


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[Services]:
    """Services whose index is not open yet, as in the first seconds of a server."""
    async with open_services(settings, purpose="a test") as opened:
        yield opened


@pytest.fixture
async def indexed(services: Services) -> AsyncIterator[Services]:
    """Services whose index is open."""
    async with indexing(services):
        yield services
