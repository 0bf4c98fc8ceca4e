"""Real services for what a person says."""

from pathlib import Path

import pytest

from tests.server.conftest import agent, indexed, services, settings  # noqa: F401 - fixtures
from tests.sharing.repositories import git


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a project."""
    made = tmp_path / "project"
    made.mkdir()
    git(made, "init", "-q", "-b", "main")
    return made
