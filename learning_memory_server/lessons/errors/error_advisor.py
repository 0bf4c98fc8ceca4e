"""Records the errors of commands as a client's hooks show them, and returns what lessons are looked for by."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, Protocol

import structlog

from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.lessons.errors.watch import CommandWatch, Ran
from learning_memory_server.model.advice import AdviceKind, Item, Reason
from learning_memory_server.model.entry import Ghap
from learning_memory_server.redaction.gate import RedactionGate

log = structlog.get_logger()


class TiedLesson(Protocol):
    """The lesson about an error; see `advice.ties.Tied`."""

    @property
    def entry(self) -> Ghap: ...  # noqa: D102

    @property
    def others(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def is_known(self) -> bool: ...  # noqa: D102

    @property
    def is_again(self) -> bool: ...  # noqa: D102


class Known(NamedTuple):
    """The findings at the end of a command."""

    question: str = ""  # what lessons are looked for by, which may hold secrets
    tied: TiedLesson | None = None  # the lesson about the very error, if the agent may be shown it
    tools: frozenset[str] = frozenset()  # the terms of which a lesson must have one, if it is in doubt that it failed


class ErrorAdvisor:
    """Records failing commands.

    Nothing is raised: callers run next to an agent's work, and can repair neither a full disk nor a damaged
    journal. What could not be recorded is not answered either.
    """

    def __init__(self, failures: FailureLog, redaction: RedactionGate) -> None:
        self._failures, self._watch = failures, CommandWatch(redaction)

    async def saw(
        self, ran: Ran, find_tied: Callable[[str, str], TiedLesson | None] = lambda _line, _command: None
    ) -> Known:
        """Record a command that failed, or that worked after the last failures of its agent.

        `find_tied` returns the lesson to show about a line.
        """
        try:
            ended = await self._watch.saw(ran)
            self._failures.add_worked(ended.worked, at=ran.at)
            tied = find_tied(ended.line, ran.command) if ended.line else None
            if failure := ended.failure:
                if tied and (tied.is_again or not tied.is_known):
                    item = Item(tied.entry.id, AdviceKind.EXPERIENCE, reason=Reason.ERROR)
                    failure = replace(failure, advice=item, again=tied.is_again)
                self._failures.record(failure)
        except LearningMemoryError as problem:
            log.warning("failure.skipped", reason=type(problem).__name__)
            return Known()
        if tied:
            return Known(tied=None if tied.is_known else tied)
        return Known(ended.question, tools=ended.tools)
