"""Earlier sessions teach what hooks would have recorded."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from benchmarks.secrets_made import ALNUM, drawn
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.lessons.errors.learner import Learner, unknown
from learning_memory_server.lessons.errors.watch import Ran
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.limits import FAILURES_KEPT as KEPT
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.redaction.redactor import build_redactor
from tests.lessons.errors.agent import Agent, Recorder
from tests.lessons.errors.written import MISSING

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


class Past:
    def __init__(self, learner: Learner, session: str, at: datetime = NOON, agent: str = "") -> None:
        self._learner = learner
        self._session, self._agent = session, agent
        self.at = at

    async def fails(self, command: str, error: str = MISSING) -> None:
        await self._saw(command, error, has_failed=True)

    async def succeeds(self, command: str) -> None:
        await self._saw(command, "", has_failed=False)

    async def finds(self) -> None:
        await self.fails("python -m pytest")
        await self.succeeds("python3 -m pytest")

    async def _saw(self, command: str, output: str, *, has_failed: bool) -> None:
        ran = Ran("shop", self._session, command, output, has_failed, self.at, None, self._agent)
        await self._learner.saw(ran)
        self.at += timedelta(seconds=has_failed)


@pytest.fixture
def gate() -> RedactionGate:
    return RedactionGate(build_redactor())


@pytest.fixture
def learner(gate: RedactionGate) -> Learner:
    return Learner(gate)


def all_of(learner: Learner) -> list[Failure]:
    return [each for error in learner.learned() for each in error]


async def test_it_is_what_a_hook_would_have_recorded(learner: Learner, gate: RedactionGate, tmp_path: Path) -> None:
    log = FailureLog(Journal(tmp_path).failures)
    recorder = Recorder(log, gate)
    commands = ["python -m pytest a.py", "python -m pytest b.py"]
    for number, session in enumerate(["one", "two"]):
        now = NOON + timedelta(days=number)
        past = Past(learner, session, now)
        agent = Agent(recorder, session, now=now)
        for command in commands:
            await past.fails(command)
            await agent.fails(command)
            agent.now += timedelta(seconds=1)
        await past.succeeds("python3 -m pytest a.py")
        await agent.succeeds("python3 -m pytest a.py")
    seen = {each.id: (each.command, each.worked, each.created_at, each.times) for each in log.all()}
    assert {each.id: (each.command, each.worked, each.created_at, each.times) for each in all_of(learner)} == seen
    assert len(seen) == 4
    assert [unknown(error, log) for error in learner.learned()] == [[]]


async def test_what_nothing_followed_is_kept_too(learner: Learner) -> None:
    for number in range(3):
        await Past(learner, f"s{number}", NOON + timedelta(days=number)).fails("python -m pytest")
    assert [(each.times, each.worked) for each in all_of(learner)] == [(1, None), (2, None), (3, None)]


async def test_a_command_that_fails_so_once_more_after_something_worked_has_returned(learner: Learner) -> None:
    past = Past(learner, "one")
    await past.finds()
    await past.fails("python -m pytest")
    (kept,) = all_of(learner)
    assert (kept.worked, kept.returned, kept.created_at) == ("python3 -m pytest", True, NOON)


async def test_a_copy_of_a_session_is_the_same_session(learner: Learner, tmp_path: Path) -> None:
    for session in ("first", "continued"):
        await Past(learner, session).finds()
    (kept,) = all_of(learner)
    assert kept.times == 1
    # So it is if the first of them is gone by the time the second is read.
    log = FailureLog(Journal(tmp_path).failures)
    log.add(kept)
    again = Learner(RedactionGate())
    await Past(again, "continued").finds()
    (error,) = again.learned()
    assert unknown(error, log) == []


async def test_what_is_forgotten_stays_forgotten(learner: Learner, tmp_path: Path) -> None:
    await Past(learner, "one").finds()
    (error,) = learner.learned()
    log = FailureLog(Journal(tmp_path).failures)
    assert unknown(error, log) == error
    log.add(*error)
    log.forget([error[0].id], NOON)
    assert unknown(error, log) == []


async def test_no_more_is_kept_than_counts(learner: Learner, tmp_path: Path) -> None:
    for number in range(KEPT + 5):
        await Past(learner, f"s{number}", NOON + timedelta(days=number)).finds()
    (error,) = learner.learned()
    assert [each.times for each in error] == list(range(6, KEPT + 6))
    log = FailureLog(Journal(tmp_path).failures)
    log.add(*error[-4:])
    # What is here already is among the newest; the rest is filled up.
    assert unknown(error, log) == error[:-4]


async def test_secrets_and_folders_are_left_out(learner: Learner) -> None:
    token = "gh" + "p_" + drawn(random.Random(7), ALNUM, 36)
    past = Past(learner, "one")
    await past.fails(f"TOKEN={token} python /home/ann/shop/a.py", "Exit code 1\nValueError: x")
    await past.succeeds(f"TOKEN={token} python3 /home/ann/shop/a.py")
    (kept,) = all_of(learner)
    assert token not in f"{kept}"
    assert "ann" not in f"{kept}"
    assert kept.worked == "TOKEN=[redacted: github token] python3 a.py"


async def test_an_output_that_names_no_error_is_known_by_its_exit_status_alone(learner: Learner) -> None:
    past = Past(learner, "one")
    await past.fails("python a.py", "Exit code 1")
    await past.succeeds("python3 a.py")
    (kept,) = all_of(learner)
    assert (kept.signature, kept.line) == ("python: exit status 1", "")
