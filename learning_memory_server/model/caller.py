"""The caller: the agent that "current" entries belong to."""

from dataclasses import dataclass
from typing import Final

MAIN_AGENT: Final = "main"
"""The agent of a session that its user talks to. The others have a hash."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A project, an agent session and, where the client tells, the agent."""

    project: str  # the project's name, shared by all its worktrees; never a path
    session: str  # a hash that differs between agent sessions
    # `MAIN_AGENT`, or a hash of a subagent's id; None if it is not known which agent calls.
    agent: str | None = None
    # The name of this call, if it may be sent twice; stored with what the call writes.
    request: str | None = None
    # Whether the call is repeated because its answer was lost. A write already stored under `request` is then not
    # repeated.
    again: bool = False
    is_told: bool = True  # whether it may be shown unasked what the project knows
    # Where its session was started, an absolute path that is never kept; empty if that is not known.
    folder: str = ""
