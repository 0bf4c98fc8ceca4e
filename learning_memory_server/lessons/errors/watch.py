"""Watches the commands of sessions: which failed, with which error, and which command worked next."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePath
from typing import Final

from learning_memory_server.index.ranking.terms import terms
from learning_memory_server.lessons.errors.outcomes import silent_signature, statuses_in, tests_passed
from learning_memory_server.lessons.errors.sanitize import SanitizedFailure, last_line, sanitized, shows_error
from learning_memory_server.model import limits
from learning_memory_server.model.caller import session_hash
from learning_memory_server.model.failure import During, Failure, failure_id
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.shell.naming import looks, program
from learning_memory_server.shell.steps import read_steps
from learning_memory_server.system.recent import Recent

WITHIN: Final = 5  # How many commands after one that failed are looked at for the next one that works
_OPEN_MAX: Final = 20  # Failures of an agent that wait for a command that works: the last ones
_CALLS_MAX: Final = 200  # Characters of what a command calls by which lessons are looked for
_SESSION: Final = re.compile(r"[0-9a-f]{16}")  # What the hash of a session looks like


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ended."""

    project: str
    session: str  # the session: its hash, or an id that will be hashed
    command: str
    output: str  # what it wrote. Nothing is kept of it but the line that names the error.
    has_failed: bool | None  # whether it failed; None if nobody says so: see `with_known_end`
    at: datetime
    folder: str | None = None  # the working directory, to which paths are made relative
    agent: str = ""  # which of the session's agents ran it: the next command is one of the same agent
    top: str = ""  # the project's folder, if it is known
    entry: str = ""  # the id of the entry that was open for that agent, if that is known

    @property
    def is_in_doubt(self) -> bool:
        """Whether a program that it ran may have failed although its own status says nothing of that."""
        command = read_steps(self.command)
        unsaid = command.unsaid if self.has_failed is False else 1
        return not self.has_failed and not command.only_reads and unsaid > len(statuses_in(self.command, self.output))

    def with_known_end(self) -> Ran:
        """Return it with its end, if the output shows it where the status is another program's or not known."""
        command, printed = read_steps(self.command), statuses_in(self.command, self.output)
        is_failure = not set(printed) <= {"0"}
        if self.has_failed or not (is_failure or command.is_hidden or self.has_failed is None):
            return self
        if printed:
            return replace(self, has_failed=is_failure)
        # A test that passes may print an error on purpose.
        if not command.only_reads and shows_error(self.output) and not tests_passed(self.command, self.output):
            return replace(self, has_failed=True)
        return self

    @property
    def calls(self) -> list[tuple[str, ...]]:
        """What it calls, without what only looks, if anything does more."""
        steps = [step for step in read_steps(self.command).steps if step.folder is None]
        doing = [step for step in steps if not looks(step.call)]
        return [step.call for step in doing or steps if step.call]


@dataclass(frozen=True, slots=True)
class Ended:
    """What the end of a command shows."""

    failure: Failure | None = None  # to be recorded; None if the command did not fail, or nothing names its error
    worked: tuple[Failure, ...] = ()  # earlier failures of this session that this is the next working command after
    line: str = ""  # the line that names the error, without numbers: ties are looked for by it
    question: str = ""  # what lessons are looked for by: what the command calls, and the line
    tools: frozenset[str] = frozenset()  # the terms of which a lesson must have one, if it is in doubt that it failed
    has_failed: bool | None = None


@dataclass(eq=False, slots=True)
class _Open:
    """A failure after which no command has worked yet."""

    failure: Failure
    age: int = 0  # how many commands ended since


class CommandWatch:
    """Takes the commands of each session in order, and holds the last failures of each agent in RAM.

    `is_past` is whether nobody asks what a command is about, because its session is over: that takes half of the time.
    """

    def __init__(self, redaction: RedactionGate, *, is_past: bool = False) -> None:
        self._redaction = redaction
        self._is_past = is_past
        self._open: Recent[tuple[str, str, str], list[_Open]] = Recent()

    async def saw(self, ran: Ran) -> Ended:
        """Take a command, and return what its end shows; nothing is written."""
        ran = ran.with_known_end()
        session = ran.session if _SESSION.fullmatch(ran.session) else session_hash(ran.session)
        about = (ran.project, session, ran.agent)
        may_have_failed = bool(ran.has_failed) or (not self._is_past and ran.is_in_doubt)
        if not (may_have_failed or about in self._open):
            return Ended(has_failed=ran.has_failed)
        only_looks = read_steps(ran.command).only_looks
        if self._is_past and only_looks and not ran.has_failed:
            self._grow_old(about)
            return Ended(has_failed=ran.has_failed)
        output = ran.output if may_have_failed else ""
        text = await sanitized(
            self._redaction,
            ran.command,
            ran.project,
            folder=ran.folder,
            output=output,
            top=ran.top,
            any_line=bool(ran.entry),
        )
        # Nothing awaits while the failures are taken out, so that no other command of the agent misses them.
        waiting = self._open.pop(about, [])
        for each in waiting:
            each.age += 1
        failure, worked = None, tuple[Failure, ...]()
        if ran.has_failed:
            failure = _failure(ran, session, text)
        elif ran.has_failed is False and not only_looks:
            command = text.command[: limits.COMMAND_MAX]
            worked = tuple(replace(each.failure, worked=command) for each in waiting)
            waiting = []
        if failure:
            waiting = [*(each for each in waiting if each.failure.id != failure.id), _Open(failure)]
        if waiting := [each for each in waiting if each.age < WITHIN][-_OPEN_MAX:]:
            self._open[about] = waiting
        if self._is_past or not may_have_failed:
            return Ended(failure, worked, has_failed=ran.has_failed)
        return Ended(
            failure,
            worked,
            text.line,
            question=_question(ran, text.said),
            tools=_tools(ran.calls) if ran.is_in_doubt else frozenset(),
            has_failed=ran.has_failed,
        )

    def _grow_old(self, about: tuple[str, str, str]) -> None:
        """Count a command that says nothing of the failures before it."""
        waiting = self._open.pop(about, [])
        for each in waiting:
            each.age += 1
        if waiting := [each for each in waiting if each.age < WITHIN]:
            self._open[about] = waiting


def _failure(ran: Ran, session: str, text: SanitizedFailure) -> Failure | None:
    """Return the failure of a command, None if nothing names its error."""
    signature = text.signature or silent_signature(text.command, ran.output)
    if not signature or not text.command or len(ran.project) > limits.PROJECT_MAX:
        return None
    return Failure(
        failure_id(ran.project, signature, session, text.command, ran.agent),
        ran.project,
        session,
        signature=signature,
        command=text.command,
        created_at=ran.at,
        line=text.real_line if text.signature else "",
        during=During(ran.entry, ran.agent) if ran.entry else None,
        folder=text.folder,
        agent=ran.agent,
    )


def _question(ran: Ran, line: str) -> str:
    """Return what a command calls, and the line that names its error, else the last line of its output."""
    called = " ".join(map(" ".join, ran.calls))[:_CALLS_MAX]
    return f"{called}\n{line or last_line(ran.output, set(map(program, ran.calls)))}"


def _tools(calls: Sequence[tuple[str, ...]]) -> frozenset[str]:
    """Return the terms that name the programs of a command, and the scripts that they run."""
    words = (word for call in calls for word in call[:2])
    return frozenset(name[-1] for word in words if (name := terms(PurePath(word).stem)))
