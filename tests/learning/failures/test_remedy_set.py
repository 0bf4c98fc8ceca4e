"""What an agent may be told of, and what never: every remedy of the set, learned by two sessions, met by a third."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from learning_memory_server.journal.failures import FailureLog
from learning_memory_server.journal.journal import Journal
from learning_memory_server.learning.failures.error_advisor import ErrorAdvisor
from learning_memory_server.redaction.gate import RedactionGate
from tests.learning.failures.agent import Agent
from tests.learning.failures.remedy_set import CUT, GOOD, HARMFUL, UNMENDED, UNTOLD, Mended

if TYPE_CHECKING:
    from pathlib import Path

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


async def told(case: Mended, place: Path, *, sessions: int = 2, days: int = 1) -> str | None:
    """Return what a session is told after others have found a remedy, each on another day."""
    root = place / "project"
    for name, text in {".git/HEAD": "", **case.files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    folder = root / case.folder
    folder.mkdir(parents=True, exist_ok=True)
    now = NOON
    log = FailureLog(Journal(place / "journal").failures)
    error_advisor = ErrorAdvisor(log, RedactionGate())
    error = f"Exit code 1\n{case.error}"

    def agent(session: str) -> Agent:
        return Agent(error_advisor, session, "project", folder=str(folder), now=now)

    for number in range(sessions):
        session = agent(f"session {number}")
        await session.fails(case.failed, error)
        await session.succeeds(case.remedy)
        now += timedelta(days=days)
    return await agent("another").fails(case.failed, error)


def name_of(case: Mended) -> str:
    return f"{case.failed} -> {case.remedy}"[:70]


@pytest.mark.parametrize("case", GOOD, ids=name_of)
async def test_a_harmless_remedy_is_told(case: Mended, tmp_path: Path) -> None:
    line = await told(case, tmp_path)
    assert (line is None) == (case.failed in UNTOLD)
    assert line is None or "This worked: " in line


@pytest.mark.parametrize("case", HARMFUL, ids=name_of)
async def test_a_remedy_that_may_do_harm_is_not_told(case: Mended, tmp_path: Path) -> None:
    line = await told(case, tmp_path)
    assert case.remedy not in (line or "")
    assert line is None or case.remedy in CUT


@pytest.mark.parametrize("case", UNMENDED, ids=name_of)
async def test_an_error_without_a_remedy_is_met_with_silence(case: Mended, tmp_path: Path) -> None:
    assert await told(case, tmp_path) is None
