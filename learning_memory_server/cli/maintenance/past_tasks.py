"""What a past session was about, as a memory."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from learning_memory_server.learning.failures.sanitize import tidied, whole_words
from learning_memory_server.model.identity import session_hash
from learning_memory_server.model.memory import Memory

if TYPE_CHECKING:
    from learning_memory_server.learning.failures.transcripts import Task
    from learning_memory_server.redaction.gate import RedactionGate

SOURCE: Final = "Claude Code session"
_NAMESPACE: Final = uuid.UUID("5d3f0c1e-6a4b-4b69-8a37-0f6f0e9e7c52")
_LONGEST: Final = 2_000
"""Characters of the prompt and of the ending that are kept. Most are shorter; pasted logs are not."""
_UNFINISHED: Final = timedelta(hours=1)
"""A session that wrote something within this time may go on."""


def is_over(task: Task, now: datetime) -> bool:
    """Return whether a session has written nothing for so long that its ending is one."""
    return now - task.at >= _UNFINISHED


async def memory_of(task: Task, project: str, redaction: RedactionGate, now: datetime) -> Memory:
    """Return a memory of a task and its ending, with the same id whenever it is made.

    Args:
        task: The task.
        project: The project.
        redaction: Removes secrets.
        now: When it is learned.

    Raises:
        InvalidSettingsError: If a user's pattern of secrets takes too long.
    """
    texts = [tidied(_shortened(text), project, task.folder or None) for text in (task.prompt, task.ending)]
    prompt, ending = (await redaction.pass_data({"text": texts})).data["text"]
    return Memory(
        id=str(uuid.uuid5(_NAMESPACE, f"{project} {session_hash(task.session)}")),
        text=f"Task: {prompt}\n\nHow it ended: {ending}",
        metadata={"source": SOURCE, "tags": ["task"], "timestamp": task.at.isoformat()},
        date=task.at,
        project=project,
        created_at=now,
    )


def _shortened(text: str) -> str:
    return (
        text if len(text) <= _LONGEST else f"{whole_words(text, _LONGEST).rstrip()} \N{HORIZONTAL ELLIPSIS}"
    )
