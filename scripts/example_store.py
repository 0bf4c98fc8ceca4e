"""A store with the demo's entries, as if they had been recorded over a summer, and everything else the dashboard shows.

The entries are the demo's. When they were recorded and how confident the agent was is drawn with a fixed seed. Advice,
clusters and values are what the program makes of them.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.cli.demo.demo import examples
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.learning.advice.advisor import Advisor
from learning_memory_server.learning.advice.finder import AdviceFinder
from learning_memory_server.learning.failures.error_advisor import Ran
from learning_memory_server.learning.values.store import Cited
from learning_memory_server.model.advice import Channel, Effect
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Lesson, RootCause
from learning_memory_server.model.vocabulary import (
    Axis,
    Domain,
    OutcomeStatus,
    RootCauseCategory,
    Stance,
    Strategy,
)
from learning_memory_server.server.composition.services import open_services

if TYPE_CHECKING:
    from learning_memory_server.model.entry import Ghap
    from learning_memory_server.server.composition.services import Services
    from learning_memory_server.server.settings import Settings

_BEGIN: Final = datetime(2026, 6, 1, 9, tzinfo=UTC)
_HALFWAY: Final = 26
"""Entries before the first retrospective; advice needs some, and values need clusters."""
_SAID: Final = 0.6
"""How often an agent says whether advice helped."""
_VALUES: Final = (
    "Tests must not share state: reset modules, files and variables in fixtures, and replay a failing order.",
    "Build the cache key in one function, and invalidate the entry on every write, so that none is stale.",
    "Count the queries of a slow page and read the query plan before adding an index.",
    "When the build passes on the laptop and fails in CI, compare the environments before changing the code.",
)
_BETTER: Final = (
    "Tests must not share state: reset modules, environment variables and files in fixtures, and when one is flaky, "
    "replay the failing order before touching timeouts."
)
_MEMORIES: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    (
        "We chose SQLite over Postgres for the demo shop: one file, and no server to run.",
        {"title": "Database of the demo shop", "tags": ["decision", "storage"]},
    ),
    (
        "Release checklist: run the slow tests, tag the commit, publish the package, then the notes.",
        {"title": "How we release", "tags": ["process"], "source": "docs/release.md"},
    ),
    ("The staging server is rebuilt each Sunday at 04:00 UTC; do not start long imports then.", {}),
)
_FAILURES: Final = (
    (
        "pytest tests/cart",
        "bash: line 1: pytest: command not found",
        "python3 -m pytest tests/cart",
    ),
    ("docker-compose build", "bash: docker-compose: command not found", "docker compose build"),
    ("docker-compose build", "bash: docker-compose: command not found", "docker compose build"),
    ("docker compose up db", "Error: bind: address already in use", None),
)


class _Summer:
    """A clock that this script turns."""

    def __init__(self) -> None:
        self.now = _BEGIN

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


async def fill(settings: Settings) -> None:
    """Fill an empty store. Takes a few seconds with the default model."""
    summer, drawn, coin = _Summer(), random.Random(5), random.Random(1)  # noqa: S311 - an example
    async with open_services(settings, purpose="an example", clock=summer) as services:
        await services.index.open()
        finder = AdviceFinder(
            services.collector, services.index, services.value_log, services.verdicts, is_everywhere=True
        )
        # However long it takes: the pictures must not depend on the machine.
        advisor = Advisor(
            finder,
            services.advice_log,
            services.collector,
            services.value_log,
            summer,
            withheld=0.25,
            within=None,
            chance=coin.random,
        )
        entries = examples()
        drawn.shuffle(entries)
        for number, entry in enumerate(entries):
            summer.now += timedelta(hours=drawn.expovariate(1 / 44))
            await _record(services, advisor, entry, drawn)
            if number == _HALFWAY:
                await _look_back(services, _VALUES[:2])
        await _look_back(services, _VALUES[2:])
        await _supersede(services)
        for text, metadata in _MEMORIES:
            await services.memories.add(Caller("demo", "a" * 16), text, metadata)
        for number, (command, error, remedy) in enumerate(_FAILURES):
            summer.now += timedelta(hours=3)
            for ran, output, has_failed in ((command, error, True), (remedy, "", False)):
                if ran:
                    seen = Ran("demo", f"session {number}", ran, output, has_failed, summer.now)
                    await services.shield.saw(seen)
        services.collector.start(
            Caller("demo", "b" * 16),
            domain=Domain.PERFORMANCE,
            strategy=Strategy.ROOT_CAUSE_ANALYSIS,
            goal="Make the first page of the shop draw within a second",
            hypothesis="The page waits for a font that comes from another server",
            action="Serve the font from the shop itself",
            prediction="The first text is drawn before 800 ms",
            confidence=0.7,
        )
        await services.writer.complete()


async def _record(services: Services, advisor: Advisor, entry: dict[str, Any], drawn: random.Random) -> None:
    first, *later = entry["steps"]
    caller = Caller("demo", "a" * 16)
    held = entry["status"] == "confirmed"
    # As agents are: too sure of themselves, and a little surer of what holds.
    confidence = round(min(0.97, max(0.3, drawn.gauss(0.78 if held else 0.68, 0.12))), 2)
    begun = services.collector.start(
        caller,
        domain=Domain(entry["domain"]),
        strategy=Strategy(entry["strategy"]),
        goal=entry["goal"],
        **first,
        confidence=confidence,
    ).entry
    await advisor.advise(begun, Channel.START)
    for step in later:
        services.collector.update(caller, **step, confidence=confidence)
    cause, lesson = entry.get("root_cause"), entry.get("lesson")
    ended = services.collector.resolve(
        caller,
        status=OutcomeStatus(entry["status"]),
        result=entry["result"],
        surprise=entry.get("surprise"),
        root_cause=cause and RootCause(RootCauseCategory(cause["category"]), cause["description"]),
        lesson=lesson and Lesson(lesson["what_worked"], lesson.get("takeaway")),
    )
    _judge_advice(services, ended, drawn)
    await services.persister.persist(ended)


def _judge_advice(services: Services, ended: Ghap, drawn: random.Random) -> None:
    shown = [each for each in services.advice_log.of(ended) if not each.withheld]
    effects = {
        item.id: drawn.choice((Effect.HELPED, Effect.HELPED, Effect.HELPED, Effect.MISLED))
        for each in shown
        for item in each.items
        if drawn.random() < _SAID
    }
    services.advice_log.mark(ended, effects, services.clock())


async def _look_back(services: Services, texts: tuple[str, ...]) -> None:
    """Keep each of these principles for the first cluster that it fits, with its members as evidence."""
    found = (await services.clusterer.cluster_axis(Axis.FULL)).clusters
    for text in texts:
        for cluster in found:
            try:
                kept = await services.values.store(Caller("demo", "a" * 16), text, cluster.id, Axis.FULL)
            except InvalidInputError:
                continue
            members = [member.id for member in cluster.members]
            stances = {
                **dict.fromkeys(members[:5], Stance.SUPPORTS),
                **dict.fromkeys(members[5:6], Stance.CONTRADICTS),
            }
            services.verdicts.record(Caller("demo", "a" * 16), kept.standing.value, services.clock(), stances)
            break


async def _supersede(services: Services) -> None:
    """Put the first principle more precisely."""
    old = next((value for value in services.value_log.current() if value.text == _VALUES[0]), None)
    if old is None:
        return
    found = await services.clusterer.cluster_axis(Axis.FULL)
    for cluster in found.clusters:
        try:
            cited = Cited(tuple(member.id for member in cluster.members[:4]))
            await services.values.store(
                Caller("demo", "a" * 16), _BETTER, cluster.id, Axis.FULL, old.id, cited
            )
        except InvalidInputError:
            continue
        return
