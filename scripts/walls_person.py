"""What one of the people in `scripts.walls` does: random operations, each through a tool or a command."""

from __future__ import annotations

import asyncio
import random
import shutil
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.errors import (
    DeadlineExceededError,
    EmbeddingUnavailableError,
    LearningMemoryError,
    NoAnswerError,
)
from learning_memory_server.journal.archive.contents import contents_of
from learning_memory_server.journal.archive.reading import open_archive
from learning_memory_server.journal.entry_codec import ghap_to_data
from learning_memory_server.model.vocabulary import SearchMode
from tests.support import TOPICS, about

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from scripts.walls_hub import Hub

_SHARED: Final = 30
"""Entries that are imported into every journal."""
_MOST: Final = 80
"""Forgetting keeps a journal at about this many records, so that the last operations cost as much as the first."""
_FORGOTTEN_AT_ONCE: Final = 20
_CLUSTERED: Final = 20
"""Entries without which there are no clusters."""
_LONGEST_DELAY: Final = 0.3
"""Seconds into an operation at which its hub may be killed."""
_COPYS: Final = ("search", "write", "forget", "remember", "reindex", "forget", "search", "purge", "search")
"""What the owner of a copied folder does, a few times."""
_WORDS: Final = 6
"""Words of a topic, with which each goal begins."""
_LONG: Final = 25
"""Times that a long memory repeats its topic."""
_ATTEMPTS: Final = 10
"""Times that a server which is late is asked to complete an index."""
_KINDS: Final = ("ghap", "memory", "value")
_SEARCHES: Final = 3
"""Searches in one operation."""
_WEIGHTS: Final = {
    "write": 160,
    "forget": 110,
    "remember": 80,
    "import": 12,
    "reindex": 14,
    "learn": 6,
    "export": 7,
    "purge": 10,
    "migrate": 10,
    "restart": 3,
    "kill": 3,
    "away": 1,
}
"""How often each kind of operation is done, in a thousand; the others are searches."""


def deal(operations: int, people: int, draw: random.Random) -> list[list[str]]:
    """Return the kinds of operations that each of some people does, each kind at least once.

    Args:
        operations: How many each does.
        people: How many there are.
        draw: Decides who does what, and when.
    """
    total = operations * people
    kinds = [kind for kind, weight in _WEIGHTS.items() for _ in range(max(1, round(total * weight / 1000)))]
    kinds += ["search"] * (total - len(kinds))
    draw.shuffle(kinds)
    return [kinds[start : start + operations] for start in range(0, total, operations)]


@dataclass
class Tally:
    """What was done, and how it was answered.

    Attributes:
        late: Writes and removals that were not in the index when they were acknowledged.
        unanswered: Operations that failed because double, model or hub were late.
    """

    done: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    modes: Counter[str] = field(default_factory=Counter)
    unanswered: Counter[str] = field(default_factory=Counter)
    late: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def hybrid(self) -> float:
        """The share of the searches that were hybrid."""
        return self.modes[SearchMode.HYBRID] / max(self.modes.total(), 1)


class Person:
    """Somebody with a journal of their own, who knows what must be in it.

    Attributes:
        kept: What the journal must have: the kind of each record by its id.
        gone: The ids of what it must never have again.
        inbox: Archives that others have sent.
        others: To whom archives are sent.
        copy: The owner of the copied folder, once there is one.

    Args:
        hub: Their hub.
        seed: Decides what they do.
        tally: Where they count.
    """

    def __init__(self, hub: Hub, seed: float, tally: Tally) -> None:
        self.hub = hub
        self.name = hub.storage.name
        self.kept: dict[str, str] = {}
        self.gone: set[str] = set()
        self.inbox: list[Path] = []
        self.others: list[Person] = []
        self.copy: Person | None = None
        self._draw = random.Random(seed)  # noqa: S311 - reproducible
        self._tally = tally
        self._numbers = iter(range(1_000_000))
        self._copying: asyncio.Task[None] | None = None

    async def open(self, *, embedded: bool = False) -> None:
        """Start the hub, and wait until its index is complete: a search before that is lexical."""
        await self.hub.start(embedded=embedded)
        await self.complete()

    async def complete(self) -> None:
        """Wait until the index is complete. A server that is late is asked again."""
        for _ in range(_ATTEMPTS):
            with suppress(NoAnswerError):
                await self.hub.do("complete")
                return
        self._wrong("the index cannot be completed")

    async def end(self) -> None:
        """Leave no process behind."""
        if self._copying:
            self._copying.cancel()
        await self.hub.kill()
        if self.copy:
            await self.copy.end()

    async def restart(self, *, embedded: bool = False) -> None:
        """End the hub, and start another."""
        await self.hub.stop()
        await self.open(embedded=embedded)

    async def run(self, kinds: Iterable[str]) -> None:
        """Do operations of these kinds, one after the other."""
        for kind in kinds:
            await self.do(kind)
        if self._copying:
            await self._copying

    async def do(self, kind: str) -> None:
        """Do one operation of a kind, and count it."""
        began = time.monotonic()
        try:
            await getattr(self, f"_{kind}")()
        except (NoAnswerError, EmbeddingUnavailableError, DeadlineExceededError):
            # On a busy machine something is late now and then. It says nothing about what is whose.
            self._tally.unanswered[kind] += 1
        except LearningMemoryError as error:
            self._wrong(f"{kind}: {error.message}")
        self._tally.done[kind] += 1
        self._tally.seconds[kind] += time.monotonic() - began  # type: ignore[assignment]

    async def search(self) -> None:
        """Search memories, or experiences on one of the axes. Everything that is found must be one's own."""
        query = " ".join(self._draw.choices([*" ".join(TOPICS.values()).split()], k=3))
        axis = self._draw.choice(["full", "strategy", "surprise", "root_cause", None])
        if axis:
            found = await self.hub.call("search_experiences", query=query, axis=axis, limit=5)
        else:
            nothing = dict.fromkeys(("source", "project", "since"))
            found = await self.hub.do(
                "search_memories", query=query, limit=5, tags=[], explain=False, **nothing
            )
        self._tally.modes[found["mode"]] += 1
        self._expect_own("a search", (each["id"] for each in (*found["results"], *found.get("values", ()))))

    async def take_shared(self, count: int = _SHARED) -> None:
        """Import some of the entries that everybody has."""
        entries = [about(topic, number) for number, topic in zip(range(_SHARED), 10 * [*TOPICS], strict=True)]
        some = self._draw.sample(entries, count)
        await self.hub.do("add", entries=[ghap_to_data(entry) for entry in some])
        self._keep({entry.id: "ghap" for entry in some})
        await self.complete()

    async def forget(self, ids: list[str]) -> bool:
        """Forget some records. Return whether their points are gone, too."""
        done = await self.hub.do("forget", ids=ids, project=None, purge=False, preview=False)
        self._tally.late += not done["indexed"]
        self.gone.update(ids)
        for each in ids:
            del self.kept[each]
        return bool(done["indexed"])

    async def _search(self) -> None:
        for _ in range(_SEARCHES):
            await self.search()

    async def _write(self) -> None:
        words, number = self._topic(), next(self._numbers)
        beliefs = {
            "hypothesis": f"{words} because{number}",
            "action": f"{words} change",
            "prediction": f"{words} then{number} settles down",
        }
        started = await self.hub.call(
            "start_ghap",
            domain="debugging",
            strategy="read-the-error",
            goal=f"{words} goal{number} of {self.name}",
            **beliefs,
        )
        if self._draw.random() < 0.3:  # noqa: PLR2004 - now and then
            await self.hub.call("update_ghap", hypothesis=f"{words} rather because{number}")
        end: dict[str, Any] = {"status": "confirmed", "lesson": {"what_worked": f"{words} first"}}
        if self._draw.random() < 0.5:  # noqa: PLR2004 - every other
            cause = {"category": "wrong-assumption", "description": f"{words} was assumed{number}"}
            end = {"status": "falsified", "surprise": f"{words} surprise{number}", "root_cause": cause}
        resolved = await self.hub.call("resolve_ghap", result=f"{words} ended", **end)
        self._tally.late += not resolved["indexed"]
        self._keep({started["id"]: "ghap"})

    async def _remember(self) -> None:
        # Every other one has several chunks.
        repeated = self._draw.choice([1, _LONG])
        text = f"Note {next(self._numbers)} of {self.name}: " + ". ".join([self._topic()] * repeated)
        added = (await self.hub.call("add_memory", text=text))["text"]
        self._tally.late += "Indexing goes on" in added
        self._keep({added.partition("ID: ")[2].split()[0]: "memory"})

    async def _forget(self) -> None:
        await self._forget_some_of(self.kept, min(max(1, len(self.kept) - _MOST), _FORGOTTEN_AT_ONCE))

    async def _learn(self) -> None:
        """Look at the clusters, which have one's own experiences alone, and keep a value that one of them teaches."""
        entries = list(self.kept.values()).count("ghap")
        if entries < _CLUSTERED:
            return
        await self.complete()
        found = await self.hub.call("get_clusters", axis="full")
        if found["total"] != entries:
            self._wrong(f"clusters of {found['total']} experiences, not of {entries}")
        for cluster in found["clusters"][:2]:
            # In any order, these words are on the cluster's topic.
            words = cluster["exemplars"][0]["goal"].split()[:_WORDS]
            text = " ".join(self._draw.sample(words, len(words)))
            trial = await self.hub.call("validate_value", text=text, cluster_id=cluster["cluster_id"])
            self._expect_own("a validation", (each["id"] for each in trial.get("similar", ())))
            if trial["valid"]:
                stored = await self.hub.call(
                    "store_value", text=text, cluster_id=cluster["cluster_id"], axis="full"
                )
                self._keep({stored["id"]: "value"})
        listed = await self.hub.call("list_values", query=self._topic(), limit=50)
        self._expect_own("list_values", (each["id"] for each in listed["results"]))

    async def _export(self) -> None:
        """Send an archive to somebody, and forget some of what is in it: they keep it."""
        other = self._draw.choice(self.others)
        path = self.hub.storage.parent / f"{self.name}-{next(self._numbers)}.tar.gz"
        await self.hub.command("export", str(path))
        other.inbox.append(path)
        await self._forget_some_of(self.kept, 2)

    async def _import(self) -> None:
        """Import what somebody has sent, and forget some of it: they keep it."""
        if not self.inbox:
            await self.take_shared(self._draw.randint(1, _SHARED))
            return
        path = self.inbox.pop(0)
        with open_archive(path) as archive:
            theirs = contents_of(archive)
        await self.hub.command("import", str(path), "--json")
        path.unlink()
        # What they have forgotten and one never had is never imported later, either.
        self.gone |= {name for _, name in theirs.forgotten if name not in self.kept}
        sent = dict.fromkeys(theirs.entries, "ghap")
        sent |= {name: kind for kind, name in theirs.records if kind in _KINDS}
        self._keep(sent)
        await self._forget_some_of(sent, 2)

    async def _reindex(self) -> None:
        await self.hub.do("reindex", axis=self._draw.choice([None, "full", "strategy", "root_cause"]))

    async def _purge(self) -> None:
        await self.hub.do("forget", ids=[], project=None, purge=True, preview=False)

    async def _migrate(self) -> None:
        await self._move(to_server=self._draw.random() < 0.5)  # noqa: PLR2004 - either way

    async def _restart(self) -> None:
        await self.restart()

    async def _away(self) -> None:
        """Move to the embedded engine, work there for a while, and come back."""
        await self._move(to_server=False)
        await self.restart(embedded=True)
        try:
            for kind in ("write", "forget", "search"):
                await getattr(self, f"_{kind}")()
            await self._move(to_server=True)
        finally:
            await self.restart()

    async def _kill(self) -> None:
        """Kill the hub in the middle of something that can be repeated, and repeat it."""
        work = self._draw.choice([self._reindex, self._purge, self._migrate, self.take_shared])
        going_on = asyncio.create_task(work())
        await asyncio.sleep(self._draw.uniform(0, _LONGEST_DELAY))
        await self.hub.kill()
        with suppress(LearningMemoryError):
            await going_on
        await self.open()
        await work()

    async def _copy(self) -> None:
        """Copy the data folder. Nothing is removed for the copy until it is settled that it has another owner."""
        await self.hub.stop()
        copy = self.hub.beside(f"{self.name}-copy")
        await asyncio.to_thread(shutil.copytree, self.hub.storage, copy.storage)
        await self.open()
        self.copy = twin = Person(copy, self._draw.random(), self._tally)
        twin.kept, twin.gone, twin.others = dict(self.kept), set(self.gone), [self]
        await twin.open()
        await twin.search()
        if await twin.forget(sorted(twin.kept)[:1]):
            self._wrong("a copied folder removed something before it was settled whose it is")
        await copy.stop()
        await copy.command("owner", "--new")
        await twin.open()
        self._copying = asyncio.create_task(twin.run(5 * _COPYS))

    async def _move(self, *, to_server: bool) -> None:
        moved = await self.hub.do("migrate", url=self.hub.url, key=None, to_server=to_server)
        if missing := sum(each["missing"] for each in moved["collections"].values()):
            self._wrong(f"migrate left {missing} points behind")

    async def _forget_some_of(self, records: Iterable[str], count: int) -> None:
        own = sorted(self.kept.keys() & set(records))
        if own:
            await self.forget(self._draw.sample(own, min(count, len(own))))

    def _topic(self) -> str:
        return TOPICS[self._draw.choice([*TOPICS])]

    def _keep(self, records: dict[str, str]) -> None:
        self.kept |= {name: kind for name, kind in records.items() if name not in self.gone}

    def _expect_own(self, what: str, ids: Iterable[str]) -> None:
        if strange := sorted(set(ids) - self.kept.keys()):
            self._wrong(f"{what} found what is not in the journal: {', '.join(strange)}")

    def _wrong(self, sentence: str) -> None:
        self._tally.wrong.append(f"{self.name}: {sentence}")
