"""A session of a project, whose commands fail or succeed."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.lessons.errors.watch import CommandWatch, Ended, Ran
from learning_memory_server.redaction.gate import RedactionGate

NOW: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
MISSING: Final = "Exit code 1\n/usr/bin/python: No module named pytest"


class Recorder:
    """Records what the ends of commands show, as a hub does, without anything that is shown."""

    def __init__(self, failures: FailureLog, redaction: RedactionGate) -> None:
        self.failures, self._watch = failures, CommandWatch(redaction)

    async def saw(self, ran: Ran) -> Ended:
        ended = await self._watch.saw(ran)
        self.failures.add_worked(ended.worked, at=ran.at)
        if ended.failure:
            self.failures.record(ended.failure)
        return ended


class Agent:
    def __init__(
        self, recorder: Recorder, session: str, project: str = "shop", *, folder: str | None = None, now: datetime = NOW
    ) -> None:
        self._recorder, self.now = recorder, now
        self._project, self._session, self._folder = project, session, folder

    async def fails(self, command: str = "python -m pytest", error: str = MISSING) -> None:
        await self.ends(command, error, has_failed=True)

    async def succeeds(self, command: str, output: str = "") -> None:
        await self.ends(command, output, has_failed=False)

    async def finds(
        self, failed: str = "python -m pytest", worked: str = "python3 -m pytest", error: str = MISSING
    ) -> None:
        """Fail, and then run something that works."""
        await self.fails(failed, error)
        await self.succeeds(worked)

    async def ends(self, command: str, output: str, *, has_failed: bool | None) -> None:
        ran = Ran(self._project, self._session, command, output, has_failed, self.now, self._folder)
        await self._recorder.saw(ran)


class Shield:
    """What is known of failures in a journal, and the sessions that learn of them."""

    def __init__(self, journal: Path, redaction: RedactionGate | None = None) -> None:
        self.failures = FailureLog(Journal(journal).failures)
        self.recorder = Recorder(self.failures, redaction or RedactionGate())

    def session(self, name: str, project: str = "shop", **about: Any) -> Agent:
        return Agent(self.recorder, name, project, **about)
