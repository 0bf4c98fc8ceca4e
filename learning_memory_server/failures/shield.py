"""Answers a failing command with what mended its error before, and keeps in the journal what mends it now."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.domain.lines import one_line
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.failures.commands import parse
from learning_memory_server.failures.remedies import KEPT, Case, choose
from learning_memory_server.failures.watching import Watching

if TYPE_CHECKING:
    from collections.abc import Sequence

    from learning_memory_server.domain.failure import Failure
    from learning_memory_server.domain.moment import Clock
    from learning_memory_server.failures.log import FailureLog
    from learning_memory_server.redaction.gate import RedactionGate

_DIGITS: Final = 3
"""Decimal places of a share of evidence that is kept."""

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
        self._watching = Watching(redaction)
        self._clock = clock

    async def failed(
        self, *, project: str, session: str, command: str, error: str, folder: str | None = None
    ) -> str | None:
        """Record a command that failed, and return one line about what mended its error before.

        Args:
            project: The project's name.
            session: The agent session; see `Watching.failed`.
            command: The command.
            error: Its output.
            folder: The project's folder.

        Returns:
            The line; None if nothing is known, remedies disagree, or it could not be recorded.
        """
        try:
            failure = await self._watching.failed(
                project=project,
                session=session,
                command=command,
                error=error,
                at=self._clock(),
                folder=folder,
            )
            return self._recorded(failure) if failure else None
        except LearningMemoryError as problem:
            log.warning("failure.skipped", reason=type(problem).__name__)
            return None

    async def succeeded(self, *, project: str, session: str, command: str, folder: str | None = None) -> None:
        """Record that a command succeeded, if it mends one of the last failures of its session; see `failed`."""
        try:
            mended = await self._watching.succeeded(
                project=project, session=session, command=command, folder=folder
            )
            # Looked up when it is written: it may have been forgotten, or rewritten without a secret, meanwhile.
            found = [
                each
                for name in mended.ids
                if (each := self._failures.find(name)) and each.remedy != mended.remedy
            ]
            if found:
                self._failures.add(*(replace(each, remedy=mended.remedy) for each in found), at=self._clock())
        except LearningMemoryError as problem:
            log.warning("failure.skipped", reason=type(problem).__name__)

    def _recorded(self, failure: Failure) -> str | None:
        """Record a failure, and return the line about what mended its error before."""
        # Nothing here awaits, so what is known cannot change before it is written.
        known = self._failures.of(failure.project, failure.signature)
        shown, support = mended_by(failure.command, known) or (None, None)
        shown_id = shown.id if shown else None
        before = self._failures.find(failure.id)
        if before is None:
            if not self._failures.is_forgotten(failure.id):
                self._failures.add(replace(failure, shown=shown_id, support=support, times=1 + seen(known)))
                self._failures.make_room(failure.project, failure.signature, failure.created_at)
        elif shown_id and before.shown != shown_id:
            self._failures.add(replace(before, shown=shown_id, support=support), at=failure.created_at)
        return None if shown is None else line_about(known, shown)


def mended_by(command: str, known: Sequence[Failure]) -> tuple[Failure, float] | None:
    """Return the failure whose remedy to show for a command, and the remedy's support; None for silence.

    Args:
        command: The command, as it is kept.
        known: What is known of the error, oldest first.
    """
    recent = known[-KEPT:]
    chosen = choose(parse(command), [_case_of(each) for each in recent])
    if chosen is None:
        return None
    return next(each for each in recent if each.id == chosen.case.id), round(chosen.support, _DIGITS)


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
