"""Several people on one server: each has exactly what is their own, whatever all of them do at once."""

import asyncio
import random
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.index.document import Collection
from learning_memory_server.index.engines.owner import open_owner
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.server.composition.services import Services
from tests.index.engines.double import QdrantDouble, serving
from tests.server.agent import ENTRY
from tests.services import opened as services_in, run as run_operation
from tests.support import TOPICS, about

SHARED = [about(topic, number) for number, topic in enumerate(10 * [*TOPICS])]
KINDS = ("write", "write", "write", "forget", "forget", "remember", "search", "search", "reindex", "purge")


class Person:
    """Somebody who knows which records their journal must have."""

    def __init__(self, name: str, services: Services) -> None:
        self.name, self.services, self.kept = name, services, set[str]()
        self._draw, self._number = random.Random(name), 0

    async def do(self, operation: str, **fields: Any) -> dict[str, Any]:
        return await run_operation(self.services, operation, **fields)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return await self.do("call", tool=tool, arguments=arguments, project=self.name, session=self.name)

    async def take_shared(self) -> None:
        await self.do("add_records", records=[JournalRecord.of(GHAP, entry).to_fields() for entry in SHARED])
        self.kept.update(entry.id for entry in SHARED)

    async def run(self, operations: int) -> None:
        for kind in self._draw.choices(KINDS, k=operations):
            self._number += 1
            await getattr(self, kind)()

    async def write(self) -> None:
        topic = TOPICS[self._draw.choice([*TOPICS])]
        started = await self.call("start_ghap", **{**ENTRY, "goal": f"{topic} {self._number} of {self.name}"})
        await self.call("resolve_ghap", status="confirmed", result=topic, lesson={"what_worked": f"{topic} first"})
        self.kept.add(started["id"])

    async def remember(self) -> None:
        text = ". ".join([TOPICS[self._draw.choice([*TOPICS])]] * self._draw.choice([1, 25]))
        added = await self.call("add_memory", text=f"Note {self._number} of {self.name}: {text}")
        self.kept.add(added["text"].partition("ID: ")[2].split()[0])

    async def forget(self) -> None:
        gone = self._draw.sample(sorted(self.kept), min(3, len(self.kept)))
        await self.do("forget", ids=gone, project=None, purge=False, preview=False)
        self.kept.difference_update(gone)

    async def search(self) -> None:
        query = " ".join(self._draw.choices(" ".join(TOPICS.values()).split(), k=3))
        axis = self._draw.choice([*("full", "strategy", "surprise", "root_cause")])
        found = await self.call("search_experiences", query=query, axis=axis, limit=5)
        assert {each["id"] for each in found["results"]} <= self.kept

    async def reindex(self) -> None:
        await self.do("reindex", axis=self._draw.choice([None, "full"]))

    async def purge(self) -> None:
        await self.do("forget", ids=[], project=None, purge=True, preview=False)


def points_on(double: QdrantDouble, owner: str) -> dict[str, set[str]]:
    """Return the ids of the points that belong to an owner, by collection."""
    found: dict[str, set[str]] = {}
    for name in double.engine.created:
        points, _ = double.engine.client.scroll(name, limit=100_000, with_payload=True)
        mine = {str(each.id) for each in points if (each.payload or {})["owner"] == owner}
        found.setdefault(name.split("-")[0], set()).update(mine)
    return found


async def expect_own(person: Person, double: QdrantDouble) -> None:
    """Compare the journal with what the person knows, and the points on the server with the journal."""
    await person.do("complete")
    services = person.services
    logs = (services.collector.list_resolved(), services.value_log.all(), services.memory_log.all())
    assert {each.id for log in logs for each in log} == person.kept
    owner = open_owner(services.settings.owner_file)
    wanted: dict[str, set[str]] = {collection: set() for collection in Collection}
    for source in services.sources:
        for document in source.documents():
            wanted[document.collection].add(document.point_id)
    found = points_on(double, owner.name)
    assert {name: {owner.outside(each) for each in found.get(name, ())} for name in wanted} == wanted


@pytest.mark.slow
async def test_each_has_exactly_what_is_their_own(tmp_path: Path) -> None:
    async with AsyncExitStack() as opened:
        double = opened.enter_context(serving())
        people = []
        for name in ("ann", "bob", "cleo"):
            theirs = services_in(tmp_path / name, qdrant_url=double.url, redaction=False)
            people.append(Person(name, await opened.enter_async_context(theirs)))
        await asyncio.gather(*(person.take_shared() for person in people))
        await asyncio.gather(*(person.run(60) for person in people))
        for person in people:
            await expect_own(person, double)
        reads = [each for each in double.asked if each.path.endswith(("/scroll", "/query", "/count"))]
        assert all(each.body["filter"]["must"][0]["key"] == "owner" for each in reads)
        assert not [each for each in double.asked if each.method == "DELETE" or "aliases" in each.path]
