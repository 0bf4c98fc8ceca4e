"""A store that was filled before redaction: secrets in records of every kind, and a search for their bytes."""

import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.secrets_made import ALNUM, drawn
from learning_memory_server.journal.kinds import VALUE
from learning_memory_server.model.entry import Lesson
from learning_memory_server.model.failure import Failure, failure_id
from learning_memory_server.model.vocabulary import OutcomeStatus
from learning_memory_server.server.composition.services import Services
from tests.journal.archive.making import value_record
from tests.services import opened
from tests.support import ALICE, BOB, start
from tests.traces import files_with

_CHANCE: Final = random.Random(31)
TOKEN: Final = "gh" + "p_" + drawn(_CHANCE, ALNUM, 36)
PASSWORD: Final = drawn(_CHANCE, ALNUM, 14)
MARK: Final = "[redacted: github token]"


async def sow(storage: Path, **changes: Any) -> dict[str, str]:
    """Store secrets as a server without redaction does, index them, and return the ids of what has them."""
    async with opened(storage, redaction=False, **changes) as services:
        ids = await _filled(services)
        await services.writer.complete()
    return ids


async def _filled(services: Services) -> dict[str, str]:
    collector = services.collector
    for number in range(3):
        start(collector, ALICE, goal=f"Water the garden {number}")
        collector.resolve(ALICE, status=OutcomeStatus.CONFIRMED, result="It grows.")
    start(collector, ALICE, hypothesis=f"{TOKEN} expired, and so did {TOKEN[:-1]}Z")
    collector.update(ALICE, action=f"Log in with password={PASSWORD}", note=f"It was {TOKEN}.")
    resolved = collector.resolve(
        ALICE,
        status=OutcomeStatus.CONFIRMED,
        result=f"curl -H 'Authorization: token {TOKEN}' works",
        lesson=Lesson("Reading the log", f"Keep {TOKEN} elsewhere"),
    )
    start(collector, ALICE, prediction=f"{TOKEN} works")
    abandoned = collector.resolve(ALICE, status=OutcomeStatus.ABANDONED, result="Another task came.")
    still_open = start(collector, BOB, goal=f"Replace {TOKEN}")
    value = replace(VALUE.decode(value_record(1).data), text=f"Never commit {TOKEN}")
    services.value_log.add(value)
    text = "".join(f"# Part {n}\n\n{'The deploy runs on the old machine. ' * 30}\n\n" for n in range(5))
    memory = await services.memories.add(
        ALICE,
        f"{text}\nThe token is {TOKEN}.\n\n{text}",
        {"tags": ["deploy", TOKEN], "source": f"wiki/{TOKEN}", "db": {"password": PASSWORD}, TOKEN: "a key"},
    )
    assert memory.chunks > 5
    clean = await services.memories.add(ALICE, "The build machine has two cores.", {"tags": ["ci"]})
    command = f"curl -H 'Authorization: token {TOKEN}' https://garden.example"
    # Hooks keep none of these today: a journal may have them from an earlier version, or with another pattern.
    signature = f"curl: (<n>) error: <n> for {TOKEN}"
    failure = Failure(
        failure_id(ALICE.project, signature, ALICE.session, command),
        ALICE.project,
        ALICE.session,
        signature,
        command,
        datetime.now(UTC),
        worked=f"{command} --retry 3",
    )
    services.failure_log.add(failure)
    return {
        "entry": resolved.id,
        "abandoned": abandoned.id,
        "open": still_open.id,
        "value": value.id,
        "memory": memory.memory.id,
        "failure": failure.id,
        "clean": clean.memory.id,
    }


def traces(folder: Path, *secrets: str) -> list[str]:
    """Return the files under a folder that have one of the secrets, compressed or not."""
    return files_with(folder, *(secrets or (TOKEN, PASSWORD)))
