"""A store for the page's tests: a few themes, something of each kind, and hostile texts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from learning_memory_server.model.advice import Advice, AdviceKind, Effect, Item, Reason, TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Ghap, Lesson, Resolution, RootCause
from learning_memory_server.model.failure import Failure, failure_id
from learning_memory_server.model.rule import Origin, OriginKind, Rule, RuleCount, RuleState, new_rule_id
from learning_memory_server.model.value import ClusterId, Evidence, Value
from learning_memory_server.model.vocabulary import Axis, Domain, OutcomeStatus, RootCauseCategory, Stance, Strategy
from learning_memory_server.server.composition.services import Services, open_services
from learning_memory_server.server.settings import load_settings
from tests.sharing.repositories import commit, git, lesson, write
from tests.support import NOON, InProcessFitting, TickingClock, numbered

CALLER = Caller("acme/shop", "a" * 16)
THEMES = (
    "The nightly import loses rows because two workers share one file",
    "The product page is slow because it asks the database for every picture",
    "The invoice shows an old price because the cache is never emptied",
)
HOSTILE = (
    "</script><script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 2'> <svg onload='window.pwned = 3'>",
    "javascript:window.pwned=4 https://evil.example/pixel.png",
    "\u202egnp.exe\u2066 and <!--<script> {{DATA}} \u2028 ${window.pwned=5}",
    "x" * 10_000,
)


def entry(number: int, **changes: Any) -> Ghap:
    """A resolved entry on one of the themes; a day later for each number."""
    theme = THEMES[number % len(THEMES)]
    at = NOON + timedelta(days=number)
    held = number % 2 == 0
    status = (
        OutcomeStatus.ABANDONED if number % 11 == 10 else OutcomeStatus.CONFIRMED if held else OutcomeStatus.FALSIFIED
    )
    end = Resolution(
        status,
        f"{theme}: it {'stopped' if held else 'went on'}",
        at + timedelta(hours=1),
        surprise=None if held else f"{theme}, and also at night",
        root_cause=None if held else RootCause(RootCauseCategory.WRONG_ASSUMPTION, theme),
        lesson=Lesson("Looking at one run closely", f"Watch for this: {theme}"),
    )
    given = {
        "created_at": at,
        "goal": f"{theme}, case {number}",
        "hypothesis": theme,
        "domain": list(Domain)[number % 3],
        "resolution": end,
        "confidence": round(0.35 + 0.06 * (number % 10), 2),
        "first_confidence": 0.5,
    }
    return numbered(number, **{**given, **changes})


def value(number: int, text: str, members: tuple[str, ...], supersedes: str | None = None) -> Value:
    """A value of a cluster."""
    return Value(
        f"value_20260401_00000{number}_0a1b2c",
        text,
        ClusterId(Axis.FULL, 0),
        CALLER.project,
        NOON + timedelta(days=10 + number),
        Evidence(members, (1.0,), 0.9, 0.1, 0.2, "digest"),
        supersedes=supersedes,
    )


def rule(text: str, **changes: Any) -> Rule:
    """A rule that a person has accepted."""
    given = {"state": RuleState.ACCEPTED, "broken_before": 4, "matched_before": 6, **changes}
    return Rule(
        new_rule_id(), text, CALLER.project, origin=Origin(OriginKind.ADDED), created_at=NOON, changed_at=NOON, **given
    )


@asynccontextmanager
async def store(folder: Path) -> AsyncIterator[Services]:
    """Services over a new store, with a model that needs no weights."""
    settings = load_settings(
        {
            "LEARNING_MEMORY_STORAGE_PATH": str(folder),
            "LEARNING_MEMORY_EMBEDDING_BACKEND": "hashing",
            "LEARNING_MEMORY_CONFIG": "/dev/null",
        }
    )
    clock = TickingClock(NOON + timedelta(days=90))
    async with open_services(settings, purpose="a test", clock=clock, fitting=InProcessFitting()) as services:
        yield services


async def nothing(_services: Services) -> None:
    """Store nothing."""


async def learn(services: Services, *entries: Ghap) -> None:
    """Keep and index entries."""
    services.collector.add_resolved(list(entries))
    await services.index.open()
    await services.writer.complete()


async def fill(services: Services) -> None:
    """Store thirty entries, two values, advice, two failures, memories, and an open entry."""
    entries = [entry(number) for number in range(30)]
    await learn(services, *entries)
    ids = tuple(each.id for each in entries)
    first = value(1, "Give each worker a file of its own", ids[:9:3])
    better = value(2, "Give each worker a file of its own, named after its number", ids[:9:3], first.id)
    services.value_log.add(first, better)
    stances = {**dict.fromkeys(ids[0:9:3], Stance.SUPPORTS), ids[12]: Stance.CONTRADICTS}
    services.verdicts.record(CALLER, better, NOON, stances)
    shown = (
        Item(ids[0], AdviceKind.EXPERIENCE, 0.612, Reason.BOTH, Effect.HELPED),
        Item(better.id, AdviceKind.VALUE, 0.5, Reason.SIMILAR, Effect.MISLED),
    )
    at = NOON + timedelta(days=20)
    services.advice_log.add(
        Advice(TriggerKind.ENTRY_START, shown, CALLER.project, at, ids[20], revision=1),
        # As an earlier version recorded it: without a score.
        Advice(
            TriggerKind.ENTRY_START, (Item(ids[0], AdviceKind.EXPERIENCE),), CALLER.project, at, ids[22], revision=1
        ),
    )
    for command, worked in (("docker-compose build", "docker compose build"), ("docker-compose up", None)):
        name = failure_id(CALLER.project, "Missing script", CALLER.session, command)
        failure = Failure(name, CALLER.project, CALLER.session, "Missing script", command, at, worked=worked)
        services.failure_log.add(failure)
    tidy = rule("Keep the desk clean")
    services.rule_log.add(tidy, rule("Keep messages short", state=RuleState.RETIRED))
    services.rule_counts.add(RuleCount("use_1", tidy.id, CALLER.project, CALLER.session, at, followed=3, reminded=1))
    await services.memories.add(CALLER, "The backup runs at four.", {"title": "Backup", "tags": ["night"]})
    services.collector.start(
        CALLER,
        domain=Domain.FEATURE,
        strategy=Strategy.CHECK_ASSUMPTIONS,
        goal="Draw the first page within a second",
        hypothesis="It waits for a font from another server",
        action="Serve the font ourselves",
        prediction="Text appears at once",
    )


async def fill_with_hostile_texts(services: Services) -> None:
    """Store every hostile text in every place that the page shows."""
    entries = []
    for number, text in enumerate(HOSTILE):
        end = Resolution(
            OutcomeStatus.FALSIFIED,
            text,
            NOON + timedelta(days=number),
            surprise=text,
            root_cause=RootCause(RootCauseCategory.WRONG_ASSUMPTION, text),
            lesson=Lesson(text, text),
        )
        entries.append(
            entry(number, goal=text, hypothesis=text, action=text, prediction=text, notes=(text,), resolution=end)
        )
    await learn(services, *entries)
    for number, text in enumerate(HOSTILE):
        services.value_log.add(value(number, text, (entries[number].id,)))
        services.failure_log.add(
            Failure(f"failure_{number}", CALLER.project, CALLER.session, text, text, NOON, worked=text + " ")
        )
        await services.memories.add(
            CALLER, text, {"title": text[:5_000], "tags": [text[:60]], "source": text[:900], "more": text}
        )


async def fill_more(services: Services) -> None:
    """Store what `fill` stores, another project, an error, a lesson that gave way, and two shared ones."""
    await fill(services)
    blog = Caller("acme/blog", "b" * 16)
    for each in services.collector.add_resolved([entry(100 + number, project=blog.project) for number in range(3)]):
        assert await services.persister.persist(each)
    await services.memories.add(blog, "Posts are written in Markdown.", {})
    ids = [each.id for each in (entry(4), entry(24))]
    misled = Item(ids[0], AdviceKind.EXPERIENCE, 0.6, Reason.SIMILAR, Effect.MISLED)
    at = NOON + timedelta(days=24)
    services.advice_log.add(Advice(TriggerKind.ENTRY_START, (misled,), CALLER.project, at, ids[1], revision=1))
    for session, command in (("c" * 16, "pytest tests/test_cart.py"), ("d" * 16, "pytest")):
        name = failure_id(blog.project, "fixture '<name>' not found", session, command)
        services.failure_log.add(
            Failure(name, blog.project, session, "fixture '<name>' not found", command, NOON, times=2)
        )
    repository = services.settings.storage_path.parent / "repository"
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    for number, who in ((1, "Ann"), (2, "Ben")):
        write(repository, lesson(number))
        commit(repository, "Share", who)
    await services.shared.join(repository, CALLER.project)
