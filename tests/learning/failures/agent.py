"""A session of a project, whose commands fail or succeed."""

from datetime import UTC, datetime
from typing import Final

from learning_memory_server.learning.failures.error_advisor import ErrorAdvisor, Ran

NOW: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
MISSING: Final = "Exit code 1\n/usr/bin/python: No module named pytest"


class Agent:
    """A session of a project, whose commands fail or succeed."""

    def __init__(
        self,
        error_advisor: ErrorAdvisor,
        session: str,
        project: str = "shop",
        *,
        folder: str | None = None,
        now: datetime = NOW,
    ) -> None:
        self._error_advisor, self.now, self.fact = error_advisor, now, ""
        self._project, self._session, self._folder = project, session, folder

    async def fails(self, command: str, error: str = MISSING) -> str | None:
        return await self.ends(command, error, has_failed=True)

    async def succeeds(self, command: str, output: str = "") -> str | None:
        return await self.ends(command, output, has_failed=False)

    async def mends(self, failed: str, remedy: str) -> None:
        await self.fails(failed)
        await self.succeeds(remedy)

    async def ends(self, command: str, output: str, *, has_failed: bool | None) -> str | None:
        ran = Ran(self._project, self._session, command, output, has_failed, self.now, self._folder)
        known = await self._error_advisor.saw(ran)
        self.fact = known.fact
        return known.remedy or None
