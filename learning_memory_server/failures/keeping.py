"""What may be kept of a command and its output: redacted first, without folders of this machine, and not too long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from learning_memory_server.domain.limits import COMMAND_MAX
from learning_memory_server.domain.lines import shortened
from learning_memory_server.failures.signature import error_line, normalized
from learning_memory_server.failures.texts import tidied, whole_words

if TYPE_CHECKING:
    from learning_memory_server.redaction.gate import RedactionGate

_EXAMINED: Final = 5_000
"""Characters of a command that are looked at. What is kept of it is shorter, but a secret must be seen whole."""


class Kept(NamedTuple):
    """What may be kept of a command that failed.

    Args:
        command: The command.
        signature: The error's signature; None if its output names none.
    """

    command: str
    signature: str | None


class Keeping:
    """Decides what may be kept.

    Args:
        redaction: Removes secrets.
    """

    def __init__(self, redaction: RedactionGate) -> None:
        self._redaction = redaction

    async def command(self, command: str, project: str, folder: str | None = None) -> str:
        """Return a command as it may be kept.

        Args:
            command: The command.
            project: The project's name.
            folder: The project's folder, if it is known.

        Raises:
            LearningMemoryError: If it cannot be redacted.
        """
        return (await self._passed(command, project, folder))[0]

    async def failure(self, command: str, output: str, project: str, folder: str | None = None) -> Kept:
        """Return what may be kept of a command that failed.

        Args:
            command: The command.
            output: Its output.
            project: The project's name.
            folder: The project's folder, if it is known.

        Raises:
            LearningMemoryError: If it cannot be redacted.
        """
        # Redacted before it is normalized: a secret of which the numbers are gone does not look like one any more.
        kept, line = await self._passed(command, project, folder, error_line(output) or "")
        return Kept(kept, normalized(line))

    async def _passed(
        self, command: str, project: str, folder: str | None, line: str = ""
    ) -> tuple[str, str]:
        # Redacted before paths are changed: to a project named `p`, the `/p:` before a password is a folder.
        texts = [whole_words(command, _EXAMINED), line]
        command, line = (await self._redaction.pass_data({"text": texts})).data["text"]
        return shortened(tidied(command, project, folder).strip(), COMMAND_MAX), line
