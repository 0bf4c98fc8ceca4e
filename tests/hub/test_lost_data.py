"""A hub whose data is gone ends, at whatever moment it went."""

import asyncio
from pathlib import Path

import pytest

from learning_memory_server.hub import hub
from learning_memory_server.hub.hub import Hub
from learning_memory_server.hub.listener import open_door
from learning_memory_server.system.ipc.discovery import HubPaths
from tests.acceptance.wire import environment
from tests.services import opened
from tests.support import MINUTES

pytestmark = pytest.mark.slow


async def test_a_hub_whose_data_was_removed_before_its_first_look_ends(
    tmp_path: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = tmp_path / "data"
    place = HubPaths({**environment(storage), "XDG_RUNTIME_DIR": str(runtime)})
    monkeypatch.setattr(hub, "_LOOK_SECONDS", 0.05)
    async with opened(storage) as services:
        with open_door(place) as door:
            # What ends it must not be that nobody uses it.
            assert services.settings.hub_idle_minutes > 1
            (place.journal / ".lock").unlink()
            async with asyncio.timeout(MINUTES):
                assert await Hub(services, place, door).serve() is False
