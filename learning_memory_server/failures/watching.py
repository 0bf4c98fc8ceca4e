"""Watching the commands of sessions: which failed with which error, and which failures a later command mended."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from learning_memory_server.domain import limits
from learning_memory_server.domain.failure import Failure, failure_id
from learning_memory_server.failures.commands import parse
from learning_memory_server.failures.following import Following
from learning_memory_server.failures.keeping import Keeping
from learning_memory_server.identity import session_hash

if TYPE_CHECKING:
    from datetime import datetime

    from learning_memory_server.redaction.gate import RedactionGate

_SESSION: Final = re.compile(r"[0-9a-f]{16}")
"""What the hash of a session looks like."""


class Mended(NamedTuple):
    """What a command that succeeded has mended.

    Args:
        ids: The ids of the failures, oldest first; whoever watches may have recorded none of them.
        remedy: The command, as it may be kept.
    """

    ids: tuple[str, ...] = ()
    remedy: str = ""


class Watching:
    """Takes the commands of sessions, each session's in order. It records nothing.

    Args:
        redaction: Removes secrets from everything that may be kept.
    """

    def __init__(self, redaction: RedactionGate) -> None:
        self._keeping = Keeping(redaction)
        self._following = Following[str]()

    async def failed(  # noqa: PLR0913 - the parts of a failure
        self,
        *,
        project: str,
        session: str,
        command: str,
        error: str,
        at: datetime,
        folder: str | None = None,
        agent: str = "",
    ) -> Failure | None:
        """Take a command that failed, and return the failure; None if its output names no error.

        Args:
            project: The project's name.
            session: The session: its hash, or an id of which the hash is kept.
            command: The command.
            error: Its output. Nothing but the error's signature is kept of it.
            at: When it failed.
            folder: The project's folder, to which paths are made relative.
            agent: Which of the session's agents ran it: each has its own next five commands.

        Raises:
            LearningMemoryError: If it cannot be redacted.
        """
        session = _hashed(session)
        kept, signature = await self._keeping.failure(command, error, project, folder)
        failure = None
        if signature and kept and len(project) <= limits.PROJECT_MAX:
            name = failure_id(project, signature, session, kept)
            failure = Failure(name, project, session, signature, kept, at)
        self._following.failed((project, session, agent), failure.id if failure else None, parse(kept))
        return failure

    async def succeeded(
        self, *, project: str, session: str, command: str, folder: str | None = None, agent: str = ""
    ) -> Mended:
        """Take a command that succeeded, and return what it has mended; see `failed`."""
        about = (project, _hashed(session), agent)
        if not self._following.is_waiting(about):
            return Mended()
        kept = await self._keeping.command(command, project, folder)
        return Mended(tuple(dict.fromkeys(self._following.succeeded(about, parse(kept)))), kept)


def _hashed(session: str) -> str:
    return session if _SESSION.fullmatch(session) else session_hash(session)
