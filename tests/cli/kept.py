"""A store with something of each kind, under ids that never change."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import FailureLog, Records
from learning_memory_server.lessons.values.log import ValueLog, VerdictLog
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.failure import Failure, error_id, failure_id
from learning_memory_server.model.memory import Memory
from learning_memory_server.model.vocabulary import Stance
from tests.lessons.values.parts import value

VALUE = "value_20260103_000000_0a1b2c"
MEMORIES = ("3f2a0c11-0000-4000-8000-000000000001", "3f2b0c11-0000-4000-8000-000000000002")
SIGNATURE = "ModuleNotFoundError: No module named <name>"
ERROR = error_id("garden", SIGNATURE)
NOON = datetime(2026, 1, 3, 12, tzinfo=UTC)


@pytest.fixture
def kept(imported: Journal) -> Journal:
    """Twenty-four entries, a value, two memories and two errors."""
    keep(imported)
    return imported


def keep(journal: Journal) -> None:
    """Add a value that all but one of its members support, two memories, and two errors."""
    members = tuple(f"ghap_20260101_0000{number:02}_abcdef" for number in range(0, 24, 3))
    isolate = value(VALUE, project="garden", member_ids=members)
    evidence = replace(isolate.evidence, threshold=0.2)
    isolate = replace(isolate, text="Isolate the worker before you blame it", created_at=NOON, evidence=evidence)
    ValueLog(journal.values).add(isolate)
    stances = {**dict.fromkeys(members, Stance.SUPPORTS), members[0]: Stance.NEITHER}
    VerdictLog(journal.verdicts).record(Caller("garden", "a1"), isolate, NOON, stances)
    Records[Any](journal.memories).add(
        Memory(
            MEMORIES[0],
            "We chose SQLite over Postgres: one file, and no server.\n\nThe backup copies that file.",
            {"title": "Database", "tags": ["decision", "storage"], "source": "docs/db.md"},
            NOON,
            "garden",
            NOON,
        ),
        Memory(MEMORIES[1], "玫瑰在四月修剪 🌹 " * 12, {}, NOON, "github.com/someone/orchard", NOON),
    )
    FailureLog(journal.failures).add(
        *(_failure(number, "pytest tests/beds.py", "python3 -m pytest tests/beds.py") for number in range(3)),
        _failure(4, "make compost", None, "make: *** No rule to make target <name>. Stop."),
    )


def _failure(number: int, command: str, worked: str | None, signature: str = SIGNATURE) -> Failure:
    session, times = f"{number:016x}", number + 1 if worked else 1
    name, at = failure_id("garden", signature, session, command), NOON + timedelta(hours=number)
    return Failure(name, "garden", session, signature, command, at, worked, times=times)
