"""Who is calling: the pair that "current" entries belong to."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """A project and an agent session.

    Args:
        project: The project's name, shared by all its worktrees; never a path.
        session: A hash that differs between agent sessions.
        request: What names this very call, if it may be sent twice; it is kept with what the call writes.
        again: Whether the call is sent again, because its answer was lost: then a write that is known under
            `request` is not done a second time.
    """

    project: str
    session: str
    request: str | None = None
    again: bool = False
