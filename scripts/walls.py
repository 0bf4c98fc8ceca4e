"""Several people on one Qdrant server: does each have exactly what is their own, whatever all of them do?

    python -m scripts.walls [--operations N] [--searches N] [--seed S]

Three journals with the same entries work at once on a double of a server, on which there are also points of the layout
before. Each does N random operations: write, forget, search, reindex, purge, migrate, import, restart. At the end every
index must have exactly what its journal has, no answer of the server may have held another's point, no request may have
dropped or renamed a collection, and at least 95 % of the searches must have been hybrid. The exit code is 0 if all of
this holds, otherwise 1.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.composition.services import Services, open_services
from learning_memory_server.domain.vocabulary import Axis, SearchMode
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.indexing.document import Collection
from learning_memory_server.observation.query import ExperienceQuery
from learning_memory_server.operations import operate
from learning_memory_server.settings import Settings
from learning_memory_server.storage.owner import open_owner
from scripts.walls_witness import Witness
from tests.storage.double import QdrantDouble, serving
from tests.support import keeping_up, numbered

if TYPE_CHECKING:
    from learning_memory_server.domain.ghap import Ghap

_PEOPLE: Final = 3
_SHARED: Final = 30
"""Entries that are imported into every journal."""
_OLD: Final = "experiences_full-0123456789ab-89abcdef"
_OLD_POINTS: Final = 20
_HYBRID: Final = 0.95
_WORDS: Final = ("pool", "cache", "token", "retry", "queue", "shard", "index", "proxy", "build", "socket")
_WEIGHTS: Final = {
    "search": 60,
    "write": 16,
    "forget": 14,
    "import": 4,
    "reindex": 2,
    "purge": 2,
    "migrate": 1,
    "restart": 1,
}


@dataclass
class Tally:
    """What was done, and how it was answered."""

    done: Counter[str] = field(default_factory=Counter)
    modes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


class Person:
    """Somebody with a journal of their own.

    Args:
        number: Which of them.
        folder: Their storage folder.
        double: The server that all share.
        seed: Decides what they do.
        tally: Where they count.
    """

    def __init__(self, number: int, folder: Path, double: QdrantDouble, seed: int, tally: Tally) -> None:
        self._draw = random.Random(seed * _PEOPLE + number)  # noqa: S311 - reproducible
        self._settings = Settings(
            storage_path=folder, embedding_backend="hashing", qdrant_url=double.url, redaction=False
        )
        self._double = double
        self._tally = tally
        self._opened = AsyncExitStack()
        self._services: Services | None = None
        self._next = 1000 * (number + 1)

    @property
    def services(self) -> Services:
        """What a hub works with."""
        assert self._services is not None  # noqa: S101 - opened before anything else
        return self._services

    async def open(self) -> None:
        """Start, and complete the index."""
        self._services = await self._opened.enter_async_context(
            open_services(self._settings, purpose="scripts.walls")
        )
        await self._opened.enter_async_context(keeping_up(self._services.writer))
        await self.do("complete")

    async def close(self) -> None:
        """End."""
        await self._opened.aclose()
        self._opened = AsyncExitStack()

    async def run(self, operations: int) -> None:
        """Do random operations, one after the other."""
        kinds = self._draw.choices(list(_WEIGHTS), list(_WEIGHTS.values()), k=operations)
        for kind in kinds:
            self._tally.done[kind] += 1
            try:
                await getattr(self, f"_{kind}")()
            except LearningMemoryError as error:
                self._tally.wrong.append(f"{kind}: {error.message}")

    async def do(self, operation: str, **fields: object) -> None:
        """Run one of the operations behind the commands."""
        await operate(self.services, lambda *_: None, operation, fields)

    async def search(self) -> None:
        """Search once, on any axis. Everything that is found is in one's own journal."""
        axis = self._draw.choice([Axis.FULL, Axis.STRATEGY])
        query = ExperienceQuery(" ".join(self._draw.choices(_WORDS, k=3)), axis, limit=5)
        result = await self.services.searcher.search_experiences(query)
        self._tally.modes[result.mode] += 1
        for each in result.found:
            if self.services.collector.find_resolved(each.entry.id) is None:
                self._tally.wrong.append("search: found what is not in the journal")

    async def check(self) -> None:
        """Compare one's own points on the server with the journal, to the id."""
        await self.do("complete")
        owner = open_owner(self._settings.owner_file)
        wanted: dict[str, set[str]] = {collection: set() for collection in Collection}
        for source in self.services.sources:
            for document in source.documents():
                wanted[document.collection].add(document.point_id)
        engine = self._double.engine
        for name in engine.created:
            with self._double.turn:
                points, _ = engine.client.scroll(name, limit=100_000, with_payload=True)
            mine = {
                owner.outside(str(each.id)) for each in points if (each.payload or {})["owner"] == owner.name
            }
            if mine != (belongs := wanted[name.split("-")[0]]):
                self._tally.wrong.append(
                    f"{name}: {len(belongs - mine)} missing, {len(mine - belongs)} superfluous"
                )

    async def _search(self) -> None:
        await self.search()

    async def _write(self) -> None:
        self._next += 1
        goal = " ".join(self._draw.choices(_WORDS, k=5))
        entry = numbered(self._next, goal=goal)
        self.services.collector.add_resolved([entry])
        if not await self.services.persister.persist(entry):
            self._tally.wrong.append("write: an entry was not indexed at once")

    async def _forget(self) -> None:
        entries = self.services.collector.list_resolved()
        if entries:
            chosen = self._draw.choice(entries)
            await self.do("forget", ids=[chosen.id], project=None, purge=False, preview=False)

    async def _purge(self) -> None:
        await self.do("forget", ids=[], project=None, purge=True, preview=False)

    async def _reindex(self) -> None:
        await self.do("reindex", axis=self._draw.choice([None, "full", "strategy"]))

    async def _migrate(self) -> None:
        there = self._draw.random() < 0.5  # noqa: PLR2004 - either way
        await self.do("migrate", url=self._double.url, key=None, to_server=there)

    async def _import(self) -> None:
        self.services.collector.add_resolved(shared()[: self._draw.randrange(_SHARED)])
        self.services.writer.postpone([])
        await self.services.writer.find_pending()
        await self.do("complete")

    async def _restart(self) -> None:
        await self.close()
        await self.open()


def shared() -> list[Ghap]:
    """Return the entries that everybody imports."""
    draw = random.Random(0)  # noqa: S311 - reproducible
    return [numbered(n, goal=" ".join(draw.choices(_WORDS, k=5))) for n in range(_SHARED)]


def sow_old_layout(double: QdrantDouble) -> None:
    """Leave what an earlier version made: a collection behind an alias, with texts in it."""
    from qdrant_client import models  # noqa: PLC0415 - a second to import

    client = double.engine.client
    dense = models.VectorParams(size=4, distance=models.Distance.COSINE)
    client.create_collection(_OLD, {"dense": dense})
    points = [
        models.PointStruct(id=n, vector={"dense": [1.0, 0.0, 0.0, float(n)]}, payload={"entry": "a text"})
        for n in range(_OLD_POINTS)
    ]
    client.upsert(_OLD, points)
    alias = models.CreateAlias(collection_name=_OLD, alias_name=_OLD.rpartition("-")[0])
    client.update_collection_aliases([models.CreateAliasOperation(create_alias=alias)])


async def walls(folder: Path, operations: int, searches: int, seed: int) -> tuple[list[str], str]:
    """Let them work, and return what is wrong and a summary.

    Args:
        folder: Where their journals go.
        operations: How many operations each does.
        searches: How many searches there are at least, in all.
        seed: Decides what they do.
    """
    began, tally = time.monotonic(), Tally()
    with serving() as double:
        sow_old_layout(double)
        witness = Witness(double)
        people = [Person(number, folder / str(number), double, seed, tally) for number in range(_PEOPLE)]
        for person in people:
            await person.open()
            person.services.collector.add_resolved(shared())
            await person.services.writer.find_pending()
            await person.do("complete")
        await asyncio.gather(*(person.run(operations) for person in people))
        while tally.modes.total() < searches:
            await asyncio.gather(*(person.search() for person in people))
        for person in people:
            await person.check()
            await person.close()
        kept = double.engine.client.count(_OLD).count
        requests = witness.answered.total()
    hybrid = tally.modes[SearchMode.HYBRID] / max(tally.modes.total(), 1)
    wrong = [*tally.wrong, *witness.wrong]
    if kept != _OLD_POINTS:
        wrong.append(f"the layout before lost {_OLD_POINTS - kept} points")
    if hybrid < _HYBRID:
        wrong.append(f"only {hybrid:.1%} of the searches were hybrid")
    done = ", ".join(f"{count:,} {kind}" for kind, count in tally.done.most_common())
    return wrong, (
        f"{_PEOPLE} people: {done}. {tally.modes.total():,} searches, {hybrid:.1%} hybrid. {requests:,} requests in "
        f"{time.monotonic() - began:.0f} s. {len(wrong)} wrong."
    )


def main(arguments: list[str] | None = None) -> int:
    """Run, print the summary, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.walls")
    parser.add_argument("--operations", type=int, default=2_000)
    parser.add_argument("--searches", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    with tempfile.TemporaryDirectory() as folder:
        wrong, summary = asyncio.run(walls(Path(folder), options.operations, options.searches, options.seed))
    for each in wrong[:10]:
        print(each, file=sys.stderr)
    print(summary)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
