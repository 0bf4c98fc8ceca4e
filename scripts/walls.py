"""Several people on one Qdrant server: does each have exactly what is their own, whatever all of them do?

    python -m scripts.walls [--operations N] [--searches N] [--seed S]

Three journals work at once on a double of a server, on which there are also points of an earlier layout. Each has a hub
of its own, the real program, and the same entries to begin with. Each does N random operations, most of them through a
tool or a command: write entries, add memories, store values, look at clusters, search, forget, purge, rebuild the
index, send an archive to another and import what others sent, migrate both ways, use the embedded engine for a while,
start the hub again, and kill it in the middle of something. Once, a data folder is copied, and the copy becomes a
fourth person's.

At the end every journal must have what was acknowledged and nothing that was forgotten, and every index exactly what
its journal has. No answer of the server may have held another's point, no request may have dropped or renamed a
collection or read without an owner, no search may have found what is not one's own, clusters must have counted one's
own experiences alone, and at least 95 % of the searches must have been hybrid. After a start, people wait until the
index is complete; a search before that would be lexical. The exit code is 0 if all of this holds, otherwise 1.

`walls_person` is what people do, `walls_hub` their hubs, and `walls_witness` watches what the server answers.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.index.document import Collection
from learning_memory_server.index.engines.owner import open_owner
from learning_memory_server.server.composition.services import open_services
from learning_memory_server.server.settings import Settings
from scripts.walls_hub import Hub
from scripts.walls_person import Person, Tally, deal
from scripts.walls_witness import Witness
from tests.index.engines.double import QdrantDouble, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

_PEOPLE: Final = ("ann", "bob", "cleo")
_OLD: Final = "experiences_full-0123456789ab-89abcdef"
_OLD_POINTS: Final = 20
_HYBRID: Final = 0.95
_PROGRESS_SECONDS: Final = 20.0
_SHM: Final = Path("/dev/shm")  # noqa: S108 - a folder for this process alone is created in it
_NEEDED: Final = 1 << 30
"""Bytes that must be free in RAM before the data goes there: hubs wait for the disk at every write."""


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


def points_on(double: QdrantDouble) -> dict[str, dict[str, set[str]]]:
    """Return the ids of the points in each collection, for each owner; without those of the earlier layout."""
    found: dict[str, dict[str, set[str]]] = {}
    for name in double.engine.created:
        with double.turn:
            points, _ = double.engine.client.scroll(name, limit=1_000_000, with_payload=True)
        for each in points:
            owner = (each.payload or {})["owner"]
            found.setdefault(owner, {}).setdefault(name, set()).add(str(each.id))
    return found


async def check(person: Person, double: QdrantDouble, tally: Tally) -> str:
    """Compare the journal with what the person knows, and the points on the server with the journal, to the id.

    Returns:
        The owner's name on the server, after the counts have been printed.
    """
    await person.complete()
    await person.hub.stop()
    settings = Settings(
        storage_path=person.hub.storage, embedding_backend="hashing", qdrant_url=double.url, redaction=False
    )
    wanted: dict[str, set[str]] = {collection: set() for collection in Collection}
    async with open_services(settings, purpose="scripts.walls") as services:
        logs = (services.collector.list_resolved(), services.value_log.all(), services.memory_log.all())
        there = {each.id for log in logs for each in log}
        for source in services.sources:
            for document in source.documents():
                wanted[document.collection].add(document.point_id)
    if there != person.kept.keys():
        lost, risen = len(person.kept.keys() - there), len(there - person.kept.keys())
        tally.wrong.append(f"{person.name}: the journal lacks {lost} records, and has {risen} too many")
    owner = open_owner(settings.owner_file)
    points = points_on(double).get(owner.name, {})
    counts = []
    for name in double.engine.created:
        mine = {owner.outside(each) for each in points.get(name, ())}
        label = name.split("-")[0]
        belongs = wanted[label]
        counts.append(f"{label} {len(mine)} of {len(belongs)}")
        if mine != belongs:
            tally.wrong.append(
                f"{person.name}: {name}: {len(belongs - mine)} missing, {len(mine - belongs)} superfluous"
            )
    kinds = Counter(person.kept.values())
    print(
        f"{person.name}: {kinds['ghap']} entries, {kinds['memory']} memories, {kinds['value']} values. Points: "
        f"{', '.join(counts)}."
    )
    return owner.name


async def tell(tally: Tally, witness: Witness, operations: int) -> None:
    """Print the progress now and then, and what is wrong, until cancelled."""
    began, told = time.monotonic(), 0
    while True:
        await asyncio.sleep(_PROGRESS_SECONDS)
        wrong = [*tally.wrong, *witness.wrong]
        print(
            f"{time.monotonic() - began:4.0f} s: {tally.done.total():,} of {operations:,} operations, "
            f"{tally.modes.total():,} searches, {witness.answered.total():,} requests, {len(wrong)} wrong",
            *tally.wrong[told:],
            sep="\n       ",
            flush=True,
        )
        told = len(tally.wrong)


async def walls(
    folder: Path, operations: int, searches: int, seed: int, hybrid: float = _HYBRID
) -> tuple[list[str], str]:
    """Let them work, and return what is wrong and a summary.

    Args:
        folder: Where their journals go.
        operations: How many operations each does.
        searches: How many searches there are at least, in all.
        seed: Decides what they do.
        hybrid: The least share of the searches that must be hybrid, and of all operations that must be done in time.
    """
    began, tally = time.monotonic(), Tally()
    async with AsyncExitStack() as opened:
        double = opened.enter_context(serving())
        # Sockets need a short path.
        runtime = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="lms-")))
        sow_old_layout(double)
        witness = Witness(double)
        people = [
            Person(Hub(folder / name, runtime, double.url), seed + number / 10, tally)
            for number, name in enumerate(_PEOPLE)
        ]
        for person in people:
            person.others = [each for each in people if each is not person]
            opened.push_async_callback(person.end)
        telling = asyncio.create_task(tell(tally, witness, len(people) * operations))
        opened.callback(telling.cancel)
        # All of them find an empty server at the same time.
        await asyncio.gather(*(person.open() for person in people))
        await asyncio.gather(*(person.take_shared() for person in people))
        kinds = deal(operations, len(people), random.Random(seed))  # noqa: S311 - reproducible
        kinds[0].insert(operations // 2, "copy")
        await asyncio.gather(*(person.run(kinds) for person, kinds in zip(people, kinds, strict=True)))
        while tally.modes.total() < searches:
            await asyncio.gather(*(person.do("search") for person in people))
        everybody = [*people, *(person.copy for person in people if person.copy)]
        owners = {await check(person, double, tally) for person in everybody}
        if strangers := points_on(double).keys() - owners:
            tally.wrong.append(f"{len(strangers)} owners of points are nobody")
        kept = double.engine.client.count(_OLD).count
    if kept != _OLD_POINTS:
        tally.wrong.append(f"the earlier layout lost {_OLD_POINTS - kept} points")
    if (share := tally.hybrid) < hybrid:
        tally.wrong.append(f"only {share:.1%} of the searches were hybrid")
    if (unanswered := tally.unanswered.total()) > (1 - hybrid) * tally.done.total():
        tally.wrong.append(f"{unanswered} operations failed because something was late")
    return [*tally.wrong, *witness.wrong], "\n".join(summary(tally, witness, time.monotonic() - began))


def summary(tally: Tally, witness: Witness, seconds: float) -> Iterator[str]:
    """Yield the lines of a summary."""
    done = ", ".join(f"{count:,} {kind}" for kind, count in tally.done.most_common())
    yield f"{tally.done.total():,} operations: {done}."
    took = ", ".join(f"{kind} {1000 * tally.seconds[kind] / count:.0f}" for kind, count in tally.done.items())
    yield f"Milliseconds of one, on average: {took}."
    modes = ", ".join(f"{count:,} {mode}" for mode, count in tally.modes.most_common())
    yield f"{tally.modes.total():,} searches: {modes} ({tally.hybrid:.1%} hybrid)."
    yield (
        f"{tally.late:,} writes and removals were in the index only later, and {tally.unanswered.total()} operations "
        "failed because something was late."
    )
    yield (
        f"{witness.answered.total():,} requests; {witness.dropping} dropped or renamed; {witness.foreign} answers had "
        f"another's point. {len(tally.wrong) + len(witness.wrong)} wrong, in {seconds:.0f} s."
    )


def main(arguments: list[str] | None = None) -> int:
    """Run, print the summary, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.walls")
    parser.add_argument("--operations", type=int, default=2_000)
    parser.add_argument("--searches", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    in_ram = _SHM.is_dir() and shutil.disk_usage(_SHM).free >= _NEEDED
    with tempfile.TemporaryDirectory(prefix="lms-", dir=_SHM if in_ram else None) as folder:
        wrong, told = asyncio.run(walls(Path(folder), options.operations, options.searches, options.seed))
    for each in wrong[:10]:
        print(each, file=sys.stderr)
    print(told)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
