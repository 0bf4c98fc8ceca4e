"""A failure: a command that failed with an error, and the next command of the session that worked."""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from learning_memory_server.model.advice import Item
from learning_memory_server.model.stored import Recorded

_DIGEST: Final = re.compile(r"[0-9a-f]{16}")


class During(NamedTuple):
    """The open entry of the agent whose command failed. Stored as an array in the journal."""

    entry: str
    agent: str = ""  # see `Ghap.agent`


@dataclass(frozen=True, slots=True)
class Failure(Recorded):
    """A command that failed. A later line with the same id replaces an earlier one."""

    id: str  # see `failure_id`
    project: str
    session: str  # the hash of the agent session
    signature: str  # the error without variable parts; see `lessons.errors.sanitize`
    command: str
    created_at: datetime
    worked: str | None = None  # the next command that worked and does more than read; in the journal it is `remedy`
    times: int = 1  # how often the error had occurred in the project, including this time
    line: str = ""  # the line that names the error; a digest in old journals
    during: During | None = None
    again: bool = False  # whether it occurred although the agent had been shown `advice`
    folder: str = ""  # its folder relative to the project's top; empty for the top, or if unknown
    agent: str = ""  # the agent that ran the command
    context: str = ""  # a hash of the client's name for the session, if different from `session`
    advice: Item | None = None  # the lesson that the agent was shown at this error
    returned: bool = False  # whether the command failed with it again in the same session after `worked`

    @property
    def named_line(self) -> str:
        """The line with its names if it was stored, otherwise the signature."""
        return self.line if self.line and not self.has_digest else self.signature

    @property
    def has_digest(self) -> bool:
        """Whether only a digest of the line was stored, as in earlier versions if no entry was open."""
        return self.during is None and _DIGEST.fullmatch(self.line) is not None

    @property
    def error(self) -> str:
        """The id of the error, shared by all failures of a project with this signature."""
        return error_id(self.project, self.signature)

    @property
    def text(self) -> str:
        """A description for a person."""
        return f"{self.signature} ({self.command})"


def error_id(project: str, signature: str) -> str:
    """Return the id of an error, which depends only on project and signature."""
    return f"failure_{_digest(project, signature, length=16)}"


def failure_id(project: str, signature: str, session: str, command: str, agent: str = "") -> str:
    """Return the id of a failure, which depends only on the arguments and begins with its error's id.

    `agent` is empty for a session's main agent.
    """
    return f"{error_id(project, signature)}_{_digest(session, command, *filter(None, [agent]), length=12)}"


def line_digest(line: str) -> str:
    """Return the digest that earlier versions stored for a line if no entry was open."""
    return _digest(line, length=16)


def _digest(*parts: str, length: int) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:length]
