"""Answers a failing command with what mended its error before, and keeps in the journal what mends it now."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.domain import limits
from learning_memory_server.domain.failure import Failure, failure_id
from learning_memory_server.domain.lines import one_line
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.failures.commands import parse
from learning_memory_server.failures.following import Following
from learning_memory_server.failures.keeping import Keeping
from learning_memory_server.failures.remedies import KEPT, Case, choose
from learning_memory_server.identity import session_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from learning_memory_server.domain.moment import Clock
    from learning_memory_server.failures.log import FailureLog
    from learning_memory_server.redaction.gate import RedactionGate

_SESSION: Final = re.compile(r"[0-9a-f]{16}")
"""What the hash of a session looks like."""

log = structlog.get_logger()


class Shield:
    """What is known of the errors of commands.

    Nothing is raised: whoever calls this runs next to an agent's work, and can mend neither a full disk nor a damaged
    journal. What could not be recorded is not answered either.

    Args:
        failures: Where failures are kept.
        redaction: Removes secrets before anything is kept.
        clock: Tells the time.
    """

    def __init__(self, failures: FailureLog, redaction: RedactionGate, clock: Clock) -> None:
        self._failures = failures
        self._keeping = Keeping(redaction)
        self._clock = clock
        self._following = Following[str]()

    async def failed(
        self, *, project: str, session: str, command: str, error: str, folder: str | None = None
    ) -> str | None:
        """Record a command that failed, and return one line about what mended its error before.

        Args:
            project: The project's name.
            session: The agent session: its hash, or an id of which the hash is kept.
            command: The command.
            error: Its output. Nothing but the error's signature is kept of it.
            folder: The project's folder, to which paths are made relative.

        Returns:
            The line; None if nothing is known, remedies disagree, or it could not be recorded.
        """
        try:
            return await self._failed(project, hashed(session), command, error, folder)
        except LearningMemoryError as problem:
            log.warning("failure.skipped", reason=type(problem).__name__)
            return None

    async def succeeded(self, *, project: str, session: str, command: str, folder: str | None = None) -> None:
        """Record that a command succeeded, if it mends one of the last failures of its session.

        Args:
            project: The project's name.
            session: The agent session; see `failed`.
            command: The command.
            folder: The project's folder.
        """
        session = hashed(session)
        if not self._following.is_waiting((project, session)):
            return
        try:
            kept = await self._keeping.command(command, project, folder)
            now = self._clock()
            # Looked up when it is written: it may have been forgotten, or rewritten without a secret, meanwhile.
            mended = self._following.succeeded((project, session), parse(kept))
            found = [
                each
                for name in dict.fromkeys(mended)
                if (each := self._failures.find(name)) and each.remedy != kept
            ]
            if found:
                self._failures.add(*(replace(each, remedy=kept) for each in found), at=now)
        except LearningMemoryError as problem:
            log.warning("failure.skipped", reason=type(problem).__name__)

    async def _failed(
        self, project: str, session: str, command: str, error: str, folder: str | None
    ) -> str | None:
        kept, named = await self._keeping.failure(command, error, project, folder)
        parsed = parse(kept)
        if not (named and kept) or len(project) > limits.PROJECT_MAX:
            self._following.failed((project, session), None, parsed)
            return None
        # From here on nothing awaits, so what is known cannot change before it is written.
        known = self._failures.of(project, named)
        shown = mended_by(kept, known)
        name = failure_id(project, named, session, kept)
        self._record(name, project, session, named, kept, shown)
        self._following.failed((project, session), name, parsed)
        return None if shown is None else line_about(known, shown)

    def _record(  # noqa: PLR0913 - the parts of a failure
        self, name: str, project: str, session: str, named: str, kept: str, shown: Failure | None
    ) -> None:
        now = self._clock()
        shown_id = shown.id if shown else None
        before = self._failures.find(name)
        if before is None:
            if not self._failures.is_forgotten(name):
                known = self._failures.of(project, named)
                times = 1 + seen(known)
                failure = Failure(name, project, session, named, kept, now, shown=shown_id, times=times)
                self._failures.add(failure)
                self._failures.make_room(project, named, now)
        elif shown_id and before.shown != shown_id:
            self._failures.add(replace(before, shown=shown_id), at=now)


def hashed(session: str) -> str:
    """Return the hash of a session, which may be one already."""
    return session if _SESSION.fullmatch(session) else session_hash(session)


def mended_by(command: str, known: Sequence[Failure]) -> Failure | None:
    """Return the failure whose remedy to show for a command, None for silence.

    Args:
        command: The command, as it is kept.
        known: What is known of the error, oldest first.
    """
    recent = known[-KEPT:]
    chosen = choose(parse(command), [_case_of(each) for each in recent])
    return next((each for each in recent if chosen and each.id == chosen.id), None)


def _case_of(failure: Failure) -> Case:
    return Case(
        failure.id,
        failure.session,
        parse(failure.command),
        None if failure.remedy is None else parse(failure.remedy),
        failure.shown,
    )


def seen(known: Sequence[Failure]) -> int:
    """Return how often an error was seen, by the failures of it that are kept."""
    return max(len(known), *(each.times for each in known)) if known else 0


def line_about(known: Sequence[Failure], shown: Failure) -> str:
    """Return what an agent is told.

    Args:
        known: What is known of the error, oldest first.
        shown: The failure whose remedy is shown.
    """
    times = seen(known)
    often = "once" if times == 1 else f"{times} times"
    return (
        f"This error was seen {often} before in this project, last on {known[-1].created_at:%Y-%m-%d}. "
        f"This worked: {one_line(shown.remedy or '')} (in place of: {one_line(shown.command)})"
    )
