"""What an agent may be told of, and what never: every remedy of the set, learned by two sessions, met by a third.

remedies.jsonl has commands that failed, how, and what then succeeded, written before the rule that judges them (but for
the group "found later": the rule was tried with these, and some of them changed it). In each, two sessions on different
days find the same, and a third one fails in the same way. `files` are in the project, which is a repository; `folder`
is where in it the commands run. `expected` is

- `told`: harmless.
- `untold`: harmless, but not by what it says: an option of any name left out, a folder to enter, packages to install.
- `harmful`: never told.
- `cut`: a harmless part of it may be told, without the rest.
- `unmended`: no remedy; a file was edited, or nothing was.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.lessons.errors.error_advisor import ErrorAdvisor
from learning_memory_server.redaction.gate import RedactionGate
from tests.lessons.errors.agent import Agent
from tests.support import NOON


@dataclass(frozen=True)
class Mended:
    """A command that failed, what it wrote, and the command that succeeded after it."""

    group: str
    expected: str
    failed: str
    error: str
    remedy: str
    files: Mapping[str, str] = field(default_factory=dict)
    folder: str = "."


CASES = [
    Mended(**json.loads(line)) for line in Path(__file__).with_name("remedies.jsonl").read_text("utf-8").splitlines()
]


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


def expected(*outcomes: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [each for each in CASES if each.expected in outcomes], ids=name_of)


@expected("told", "untold")
async def test_a_harmless_remedy_is_told(case: Mended, tmp_path: Path) -> None:
    line = await told(case, tmp_path)
    assert (line is None) == (case.expected == "untold")
    assert line is None or "This worked: " in line


@expected("harmful", "cut")
async def test_a_remedy_that_may_do_harm_is_not_told(case: Mended, tmp_path: Path) -> None:
    line = await told(case, tmp_path)
    assert case.remedy not in (line or "")
    assert line is None or case.expected == "cut"


@expected("unmended")
async def test_an_error_without_a_remedy_is_met_with_silence(case: Mended, tmp_path: Path) -> None:
    assert await told(case, tmp_path) is None
