"""A scripted hub, and clients of relays over it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.hub.front.link import HubLink
from learning_memory_server.system.ipc.discovery import HubPaths
from tests.hub.front.scripted import Client, ClientOf, ScriptedHub, hello_of, place_in


@pytest.fixture
def place(runtime: Path) -> HubPaths:
    return place_in(runtime)


@pytest.fixture
def hub(place: HubPaths) -> Iterator[ScriptedHub]:
    hub = ScriptedHub(place)
    yield hub
    hub.close()


@pytest.fixture
def client_of(place: HubPaths, hub: ScriptedHub) -> Iterator[ClientOf]:
    clients = []

    def make(**limits: Any) -> Client:
        clients.append(Client(HubLink(place, hello_of(place), [].append), **limits))
        return clients[-1]

    yield make
    for client in clients:
        client.close(hub)


@pytest.fixture
def client(client_of: ClientOf) -> Client:
    return client_of()
