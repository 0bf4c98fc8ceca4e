"""The caller: the pair that "current" entries belong to."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """A project and an agent session.

    Args:
        project: The project's name, shared by all its worktrees; never a path.
        session: A hash that differs between agent sessions.
        request: The name of this call, if it may be sent twice; stored with what the call writes.
        again: Whether the call is repeated because its answer was lost. A write already stored under `request` is then
            not repeated.
    """

    project: str
    session: str
    request: str | None = None
    again: bool = False
