"""A user's machine in a temporary folder."""

from pathlib import Path

import pytest

from learning_memory_server.cli.clients.catalog import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    home = tmp_path / "home"
    home.mkdir()
    return Machine("linux", home, {"PATH": "/usr/bin:/bin", "HOME": str(home)})
