"""A user's machine in a temporary folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from learning_memory_server.cli.clients.catalog import Machine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    home = tmp_path / "home"
    home.mkdir()
    return Machine("linux", home, {"PATH": "/usr/bin:/bin", "HOME": str(home)})
