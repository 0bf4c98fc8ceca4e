"""A failure: a command that failed with an error, and the command that fixed it."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from learning_memory_server.model.stored import Recorded


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
    signature: str  # what names the error, without what differs from time to time; see `failures.signature`
    command: str
    created_at: datetime
    remedy: str | None = None  # the similar or same command that succeeded soon after, if any
    shown: str | None = None  # the id of the failure whose remedy was shown; None if none was
    times: int = 1  # how often the error had been seen in the project, this time included
    support: float | None = None  # the share of evidence, 0 to 1, for the shown remedy
    named: tuple[str, ...] = ()  # names in the error, with a `?` before those that it does not know
    line: str = ""  # the line of the signature if an entry was open, else a digest; empty without one
    during: During | None = None
    lesson: str | None = None  # the id of the lesson about the error that the agent was told
    again: bool = False  # whether it came although the agent had been told that
    folder: str = ""  # where it ran, relative to the project's top; empty there, or if it is not known

    @property
    def said(self) -> str:
        """The line with its names, as far as it is known."""
        return self.line if self.line and self.during else self.signature

    def had(self, line: str) -> bool:
        """Return whether this was its line, with these names."""
        return line_digest(line) == (self.line or line_digest(self.signature)) or line == self.said

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


def failure_id(project: str, signature: str, session: str, command: str) -> str:
    """Return the id of a failure, the same for the same four; it begins with its error's id."""
    return f"{error_id(project, signature)}_{_digest(session, command, length=12)}"


def line_digest(line: str) -> str:
    """Return what is kept of a line with names where no entry was open."""
    return _digest(line, length=16)


def _digest(*parts: str, length: int) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:length]
