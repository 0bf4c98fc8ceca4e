"""The caller: the agent that "current" entries belong to."""

from dataclasses import dataclass
from typing import Final

MAIN_AGENT: Final = "main"
"""The agent of a session that its user talks to. The others have a hash."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A project, an agent session and, where the client tells, the agent.

    Args:
        project: The project's name, shared by all its worktrees; never a path.
        session: A hash that differs between agent sessions.
        agent: `MAIN_AGENT`, or a hash of a subagent's id; None if it is not known which agent calls.
        request: The name of this call, if it may be sent twice; stored with what the call writes.
        again: Whether the call is repeated because its answer was lost. A write already stored under `request` is then
            not repeated.
        is_told: Whether it may be shown unasked what the project knows.
        folder: Where its session was started, an absolute path that is never kept; empty if that is not known.
    """

    project: str
    session: str
    agent: str | None = None
    request: str | None = None
    again: bool = False
    is_told: bool = True
    folder: str = ""
