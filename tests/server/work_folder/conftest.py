from pathlib import Path

import pytest

from tests.server.work_folder.repositories import World, repository


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop")
