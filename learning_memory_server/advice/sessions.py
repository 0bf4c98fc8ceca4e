"""The state of running sessions, one object for each."""

from asyncio import Task
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from learning_memory_server.advice.asking.signs import Signs
from learning_memory_server.advice.candidates import Shown
from learning_memory_server.lessons.errors.watch import CommandWatch
from learning_memory_server.model.caller import Caller
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.rules.pause import RulePause
from learning_memory_server.rules.session import RuleSession
from learning_memory_server.system.recent import Recent

_TASKS: Final = 16  # The latest tasks of subagents, kept until the subagents start


_CALLS: Final = 32  # Calls whose answers are kept: a hook that is installed twice reports each call twice


@dataclass(slots=True)
class SessionState:
    """The state of one session, identified by the client's name for it."""

    context: str  # a hash of the client's name for the session
    watch: CommandWatch  # tracks the commands that failed last
    # When the context of the main agent was last cleared, since this server started. The log does not have it: a start
    # without advice has no line there. After a restart of the server, advice from before a compaction is not repeated,
    # and a rule is shown once more: in both cases the safe choice.
    context_since: datetime | None = None
    started_at: datetime | None = None  # when its start was answered
    is_begun: bool = False  # whether it has had a prompt
    loaded: set[str] = field(default_factory=set)  # ids of the lessons and rules that the client loads itself
    answers: Recent[str, Task[tuple[Shown, bool]]] = field(default_factory=lambda: Recent(_CALLS))  # by kind and key
    tasks: list[tuple[str, str]] = field(default_factory=list)  # of subagents about to start, after the kind of agent
    signs: Signs = field(default_factory=Signs)
    rules: RuleSession = field(default_factory=RuleSession)
    rules_off_until: datetime | None = None

    def __post_init__(self) -> None:
        self.rules.session = self.context

    def add_task(self, kind_of_agent: str, task: str) -> None:
        """Store the task of a subagent: the event of its start does not contain the task."""
        self.tasks[:] = [*self.tasks[1 - _TASKS :], (kind_of_agent, task)]

    def take_task(self, kind_of_agent: str) -> str:
        """Remove and return the task of a subagent that starts; empty if none is stored."""
        mine = next((each for each in self.tasks if each[0] == kind_of_agent), None)
        if mine is None:
            return ""
        self.tasks.remove(mine)
        return mine[1]


class Sessions:
    """The states of the latest sessions. `dropped` is called with each one that is evicted."""

    def __init__(
        self, redaction: RedactionGate, pause: RulePause, dropped: Callable[[SessionState], None] = lambda _state: None
    ) -> None:
        self._redaction = redaction
        self._pause = pause
        self._dropped = dropped
        self._states: Recent[str, SessionState] = Recent(dropped=dropped)
        self._contexts: Recent[str, str] = Recent()

    def hear(self, caller: Caller, context: str) -> SessionState:
        """Return the state of a session.

        `context` is the client's name for the session, which changes after `/clear`. Tool calls do not contain it.
        """
        if context:
            self._contexts[caller.session] = context
        name = self._contexts.get(caller.session, caller.session)
        return self._states.of(name, lambda: self._new(name))

    def _new(self, name: str) -> SessionState:
        return SessionState(name, CommandWatch(self._redaction), rules_off_until=self._pause.until(name))

    def rules_off(self, until: datetime | None) -> None:
        """Pause the rules and their counts until a time; with None, in the running sessions until they end.

        A time in the past ends the pause.
        """
        self._pause.begin(until, [state.context for state in self._states.values()])
        for state in self._states.values():
            state.rules_off_until = self._pause.until(state.context)

    def end(self, state: SessionState) -> None:
        """Drop the state of a session that has ended."""
        self._pause.end(state.context)
        self._drop(state)

    def _drop(self, state: SessionState) -> None:
        self._states.pop(state.context, None)
        self._dropped(state)

    def close(self) -> None:
        """Drop the states of all sessions."""
        for state in [*self._states.values()]:
            self._drop(state)
