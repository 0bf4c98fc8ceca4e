"""Who is calling: the pair that "current" entries belong to."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """A project and an agent session.

    Args:
        project: The project's name, shared by all its worktrees; never a path.
        session: A hash that differs between agent sessions.
        request: What names this very call, if it may be sent twice: a write that is known under it is not
            done again.
    """

    project: str
    session: str
    request: str | None = None
