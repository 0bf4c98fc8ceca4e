"""Who is calling: the pair that "current" entries belong to."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """A project and an agent session.

    Args:
        project: The project's name, shared by all its worktrees; never a path.
        session: A hash that differs between agent sessions.
    """

    project: str
    session: str
