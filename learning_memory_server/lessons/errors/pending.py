"""The commands of sessions: failures, and the commands that fixed them soon after."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final, NamedTuple

from learning_memory_server.lessons.errors.outcomes import silent_signature
from learning_memory_server.lessons.errors.parse import parse
from learning_memory_server.lessons.errors.remedies import mended
from learning_memory_server.lessons.errors.sanitize import sanitized, shows_error
from learning_memory_server.model import limits
from learning_memory_server.model.caller import session_hash
from learning_memory_server.model.failure import During, Failure, failure_id, line_digest
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.system.recent import Recent

WITHIN: Final = 5  # How many commands after one that failed can mend it, and after each that fails with the same error
_INSTALL: Final = re.compile(
    r"npm (?:ci|install|i)|(?:yarn|pnpm|bundle|poetry) install|yarn|uv sync"
    r"|(?:python[\d.]* -m )?pip[\d.]* install -r [\w-]+\.txt"
)
"""How package managers install what a project names."""
_SESSION: Final = re.compile(r"[0-9a-f]{16}")  # What the hash of a session looks like


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ended."""

    project: str
    session: str  # the session: its hash, or an id that will be hashed
    command: str
    output: str  # what it wrote. Nothing is kept of it but the error's signature and what the error names.
    has_failed: bool | None  # whether it failed; None if nobody says so: see `with_known_end`
    at: datetime
    folder: str | None = None  # the working directory, to which paths are made relative
    agent: str = ""  # which of the session's agents ran it: each has its own next five commands
    entry: str = ""  # the id of the entry that was open for that agent, if that is known

    @property
    def is_in_doubt(self) -> bool:
        """Whether a program that it ran may have failed although its own status says nothing of that."""
        command = parse(self.command)
        unsaid = command.unsaid if self.has_failed is False else 1
        return not self.has_failed and not command.only_reads and unsaid > len(self._printed())

    def with_known_end(self) -> Ran:
        """Return it with its end, if the output shows it where the status is another program's or not known."""
        command, printed = parse(self.command), self._printed()
        is_failure = not set(printed) <= {"0"}
        if self.has_failed or not (is_failure or command.is_hidden or self.has_failed is None):
            return self
        if printed:
            return replace(self, has_failed=is_failure)
        if not command.only_reads and shows_error(self.output):
            return replace(self, has_failed=True)
        return self

    def _printed(self) -> list[str]:
        """Return the exit statuses that its output says; one that stands alone counts if nothing follows."""
        command, found = parse(self.command), list[str]()
        for text in command.printed:
            statuses = re.findall(rf"^{re.escape(text)}(\d{{1,3}})\b", self.output, re.MULTILINE)
            found += statuses if text.strip() else statuses[-1:] if command.is_hidden else []
        return found


class Seen(NamedTuple):
    """The results of a command: its failure, and the failures that it fixed, by id with their remedy."""

    failure: Failure | None = None
    mended: Mapping[str, str] = MappingProxyType({})
    line: str = ""  # what names the error with its names, else the last line, also where only the latter is known
    said: str = ""  # see `SanitizedFailure`


@dataclass(eq=False, slots=True)
class _Pending:
    """A failure, and what was run and installed since."""

    failure: Failure
    age: int = 0  # how many commands ended since
    installed: str = ""


class PendingFailures:
    """Takes the commands of sessions in order, and keeps the failures that can still be fixed, in RAM."""

    def __init__(self, redaction: RedactionGate) -> None:
        self._redaction = redaction
        self._sessions: Recent[tuple[str, str, str], list[_Pending]] = Recent()

    async def saw(self, ran: Ran) -> Seen:
        """Take a command, and return what it has shown."""
        session = ran.session if _SESSION.fullmatch(ran.session) else session_hash(ran.session)
        about = (ran.project, session, ran.agent)
        may_fail = ran.has_failed or ran.is_in_doubt
        if not (may_fail or about in self._sessions):
            return Seen()
        output, is_met = ran.output if may_fail else "", bool(ran.entry)
        text = await sanitized(self._redaction, ran.command, ran.project, ran.folder, output, any_line=is_met)
        # Nothing awaits while the session is taken out, so that no other command finds it without this one.
        pending = self._sessions.pop(about, [])
        for each in pending:
            each.age += 1
        failure, remedies = None, dict[str, str]()
        signature = text.signature or (ran.has_failed and silent_signature(text.command, ran.output)) or ""
        if ran.has_failed and signature and text.command and len(ran.project) <= limits.PROJECT_MAX:
            name = failure_id(ran.project, signature, session, text.command)
            line = text.line if is_met else line_digest(text.line)
            failure = Failure(
                *(name, ran.project, session, signature, text.command, ran.at),
                named=text.named,
                line="" if text.line == (text.signature or "") else line,
                during=During(ran.entry, ran.agent) if ran.entry else None,
                folder=text.folder,
            )
            # What mends it is not looked for: without its error, nothing says that it is the same one.
            pending = _with_failure(pending, failure) if text.signature else pending
        elif ran.has_failed is False:
            remedies = _remedies(pending, text.command)
        if pending := [each for each in pending if each.age < WITHIN and each.failure.id not in remedies]:
            self._sessions[about] = pending
        return Seen(failure, remedies, text.line, text.said)


def _with_failure(pending: list[_Pending], failure: Failure) -> list[_Pending]:
    """Add a failure. Others wait on while the same program fails in the same way: that is one search for a remedy."""
    programs = parse(failure.command).programs
    for each in pending:
        if each.failure.signature == failure.signature and programs & parse(each.failure.command).programs:
            each.age = 0
    return [*(each for each in pending if each.failure.id != failure.id), _Pending(failure)]


def _remedies(pending: list[_Pending], command: str) -> dict[str, str]:
    """Return the ids of the failures that a command has fixed, with their remedy: with an earlier install."""
    found = [each for each in pending if mended(each.failure.command, command) is not None]
    if _INSTALL.fullmatch(command):
        for each in pending:
            each.installed = command
    installed = next((each.installed for each in found if each.failure.command == command), "")
    remedy = f"{installed} && {command}" if installed and installed != command else command
    return dict.fromkeys((each.failure.id for each in found), remedy[: limits.COMMAND_MAX])
