"""A failure: a command that failed with an error, and the next command of its session that worked."""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from learning_memory_server.model.advice import Item
from learning_memory_server.model.stored import Recorded

_DIGEST: Final = re.compile(r"[0-9a-f]{16}")


class During(NamedTuple):
    """The entry that was open for an agent when its command failed. In the journal it is an array."""

    entry: str
    agent: str = ""  # see `Ghap.agent`


@dataclass(frozen=True, slots=True)
class Failure(Recorded):
    """A command that failed. A later line replaces an earlier one."""

    id: str  # see `failure_id`
    project: str
    session: str  # the hash of the agent session
    signature: str  # what names the error, without what differs from time to time; see `lessons.errors.sanitize`
    command: str
    created_at: datetime
    worked: str | None = None  # the next command that worked and does more than look; in the journal it is `remedy`
    times: int = 1  # how often the error had been seen in the project, this time included
    line: str = ""  # the line that names the error; in old journals it may be a digest
    during: During | None = None
    again: bool = False  # whether it came although the agent had been shown `advice`
    folder: str = ""  # where it ran, relative to the project's top; empty there, or if it is not known
    agent: str = ""  # which of the session's agents ran the command
    context: str = ""  # the client's name of the session, where it is not that of `session`
    advice: Item | None = None  # the lesson that the agent was shown at this error
    returned: bool = False  # whether the command failed so once more in its session after `worked`

    @property
    def named_line(self) -> str:
        """The line with its names if it was kept, else the signature."""
        return self.line if self.line and not self.has_digest else self.signature

    @property
    def has_digest(self) -> bool:
        """Whether only a digest of the line was kept, as earlier versions did where no entry was open."""
        return self.during is None and _DIGEST.fullmatch(self.line) is not None

    @property
    def error(self) -> str:
        """The id of the error, which all failures of a project with this signature share."""
        return error_id(self.project, self.signature)

    @property
    def text(self) -> str:
        """What a person recognizes it by."""
        return f"{self.signature} ({self.command})"


def error_id(project: str, signature: str) -> str:
    """Return the id of an error: the same for the same project and signature, anywhere."""
    return f"failure_{_digest(project, signature, length=16)}"


def failure_id(project: str, signature: str, session: str, command: str, agent: str = "") -> str:
    """Return the id of a failure, the same for the same arguments; it begins with its error's id.

    `agent` is empty for a session's main agent.
    """
    return f"{error_id(project, signature)}_{_digest(session, command, *filter(None, [agent]), length=12)}"


def line_digest(line: str) -> str:
    """Return what earlier versions kept of a line where no entry was open."""
    return _digest(line, length=16)


def _digest(*parts: str, length: int) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:length]
