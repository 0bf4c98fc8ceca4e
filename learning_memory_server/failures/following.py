"""Which of a session's failures a command that succeeds has mended."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from learning_memory_server.failures.commands import are_similar
from learning_memory_server.failures.remedies import WITHIN

if TYPE_CHECKING:
    from collections.abc import Hashable

    from learning_memory_server.failures.commands import Command

_SESSIONS: Final = 200
"""How many sessions are followed at once: those that ran a command last."""

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class _Waiting(Generic[T]):
    """A failure, and for how many more commands of its session it can be mended."""

    failure: T
    command: Command
    left: int = field(default=WITHIN)


class Following(Generic[T]):
    """The failures of the last five commands of each session."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[Hashable, list[_Waiting[T]]] = OrderedDict()

    def failed(self, session: Hashable, failure: T | None, command: Command) -> None:
        """Take a command that failed.

        Args:
            session: Its session.
            failure: What `succeeded` returns once it is mended; None if it need not be mended.
            command: The command.
        """
        waiting = self._next(session)
        if failure is not None:
            waiting.append(_Waiting(failure, command))
        self._keep(session, waiting)

    def succeeded(self, session: Hashable, command: Command) -> list[T]:
        """Take a command that succeeded, and return what it mended, oldest first."""
        waiting = self._next(session)
        mended = [each for each in waiting if are_similar(each.command, command)]
        self._keep(session, [each for each in waiting if each not in mended])
        return [each.failure for each in mended]

    def is_waiting(self, session: Hashable) -> bool:
        """Return whether a command of the session could mend anything."""
        return session in self._sessions

    def _next(self, session: Hashable) -> list[_Waiting[T]]:
        waiting = self._sessions.pop(session, [])
        for each in waiting:
            each.left -= 1
        return [each for each in waiting if each.left >= 0]

    def _keep(self, session: Hashable, waiting: list[_Waiting[T]]) -> None:
        waiting = [each for each in waiting if each.left > 0]
        if waiting:
            self._sessions[session] = waiting
            if len(self._sessions) > _SESSIONS:
                self._sessions.popitem(last=False)
