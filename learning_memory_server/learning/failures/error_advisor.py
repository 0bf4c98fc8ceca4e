"""Answers a failing command with what mended its error before, and keeps in the journal what mends it now."""

from __future__ import annotations

import re
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from typing import Final, NamedTuple

import structlog

from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.journal.failures import FailureLog
from learning_memory_server.learning.failures.outcomes import is_check
from learning_memory_server.learning.failures.parse import parse
from learning_memory_server.learning.failures.remedies import line_about, lock_of, mended, remedy_for, seen
from learning_memory_server.learning.failures.sanitize import error_line, kept, shows_error, tidied
from learning_memory_server.model import limits
from learning_memory_server.model.failure import Failure, failure_id
from learning_memory_server.model.identity import session_hash
from learning_memory_server.redaction.base import MARKER
from learning_memory_server.redaction.gate import RedactionGate

WITHIN: Final = 5
"""How many commands after one that failed can mend it, and after each that fails with the same error."""
_AGAIN: Final = 2
"""In how many other sessions a command has failed in vain before an agent is told."""
_SESSIONS: Final = 200
"""How many sessions are followed at once: those that ran a command last."""
_SESSION: Final = re.compile(r"[0-9a-f]{16}")
"""What the hash of a session looks like."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ended."""

    project: str
    session: str  # the session: its hash, or an id that will be hashed
    command: str
    output: str  # what it wrote. Nothing is kept of it but the error's signature and what the error names.
    has_failed: bool | None  # whether it failed; None if the client does not say
    at: datetime
    folder: str | None = None  # the working directory, to which paths are made relative
    agent: str = ""  # which of the session's agents ran it: each has its own next five commands

    def with_known_end(self) -> Ran:
        """Return it with what can be known of its end where its status is that of a filter, or is not said.

        A printed status is believed, and so is the error of a program that does not only read. What a client does not
        say, and nothing else tells, remains unknown.
        """
        command = parse(self.command)
        if self.has_failed or not (command.is_hidden or self.has_failed is None):
            return self
        printed = re.findall(command.printed, self.output, re.MULTILINE) if command.printed else []
        if printed:
            return replace(self, has_failed=printed[-1] != "0")
        if not command.only_reads and shows_error(self.output):
            return replace(self, has_failed=True)
        return self


class Mended(NamedTuple):
    """What a command that succeeded has mended."""

    ids: tuple[str, ...] = ()
    """The ids of the failures, oldest first; none of them may have been recorded."""
    remedy: str = ""  # the command, as it may be kept


@dataclass(eq=False, slots=True)
class _Pending:
    """A failure, for how many more commands it can be mended, and what was installed since."""

    failure: Failure
    left: int = field(default=WITHIN)
    installed: str = ""


class PendingFailures:
    """Takes the commands of sessions, each session's in order, and keeps the failures that can still be mended.

    It records nothing.
    """

    def __init__(self, redaction: RedactionGate) -> None:
        self._redaction = redaction
        self._sessions: OrderedDict[tuple[str, str, str], list[_Pending]] = OrderedDict()

    async def saw(self, ran: Ran) -> Failure | Mended:
        """Take a command, and return the failure that it is, or what it has mended."""
        ran = ran.with_known_end()
        session = ran.session if _SESSION.fullmatch(ran.session) else session_hash(ran.session)
        about = (ran.project, session, ran.agent)
        if not ran.has_failed and about not in self._sessions:
            return Mended()
        output = ran.output if ran.has_failed else ""
        text = await kept(self._redaction, ran.command, ran.project, ran.folder, output)
        pending = self._sessions.pop(about, [])
        for each in pending:
            each.left -= 1
        result: Failure | Mended = Mended()
        if ran.has_failed:
            if text.signature and text.command and len(ran.project) <= limits.PROJECT_MAX:
                name = failure_id(ran.project, text.signature, session, text.command)
                result = Failure(
                    name, ran.project, session, text.signature, text.command, ran.at, named=text.named
                )
                pending = _with_failure(pending, result)
        elif ran.has_failed is False:
            found, result = _mended_by(pending, text.command)
            pending = [each for each in pending if each not in found]
        if left := [each for each in pending if each.left > 0]:
            self._sessions[about] = left
            if len(self._sessions) > _SESSIONS:
                self._sessions.popitem(last=False)
        return result


def _with_failure(pending: list[_Pending], failure: Failure) -> list[_Pending]:
    """Add a failure. Others wait on while the same program fails in the same way: that is one search for a remedy."""
    programs = parse(failure.command).programs
    for each in pending:
        is_same = each.failure.signature == failure.signature
        if is_same and programs & parse(each.failure.command).programs:
            each.left = WITHIN
    return [*(each for each in pending if each.failure.id != failure.id), _Pending(failure)]


def _mended_by(pending: list[_Pending], command: str) -> tuple[list[_Pending], Mended]:
    """Return the failures that a command has mended, with their remedy; an install before it is a part of that."""
    if lock_of(command):
        for each in pending:
            each.installed = command
    found = [each for each in pending if mended(each.failure.command, command) is not None]
    installed = next((each.installed for each in found if each.failure.command == command), "")
    remedy = f"{installed} && {command}" if installed and installed != command else command
    ids = tuple(dict.fromkeys(each.failure.id for each in found))
    return found, Mended(ids, remedy[: limits.COMMAND_MAX])


class Known(NamedTuple):
    """What is known at the end of a command."""

    remedy: str = ""  # a line about what mended its error before, if remedies are known and agree
    fact: str = ""  # else a line about the sessions in which it failed in vain
    error: str = (
        ""  # the line of its output that names its error, if there is no remedy. It may hold secrets.
    )


class ErrorAdvisor:
    """What is known of the errors of commands.

    Nothing is raised: callers run next to an agent's work, and can repair neither a full disk nor a damaged
    journal. What could not be recorded is not answered either.
    """

    def __init__(self, failures: FailureLog, redaction: RedactionGate) -> None:
        self._failures = failures
        self._pending = PendingFailures(redaction)

    async def saw(self, ran: Ran) -> Known:
        """Record a command that failed, or that mends one of the last failures of its session."""
        try:
            result = await self._pending.saw(ran)
            if isinstance(result, Failure):
                known = self._recorded(result, ran.folder)
                return known if known.remedy else known._replace(error=error_line(ran.output) or "")
            # Looked up when it is written: it may have been forgotten, or rewritten without a secret, meanwhile.
            found = [
                each
                for name in result.ids
                if (each := self._failures.find(name)) and each.remedy != result.remedy
            ]
            if found:
                self._failures.add(*(replace(each, remedy=result.remedy) for each in found), at=ran.at)
            if ran.with_known_end().has_failed is False:
                self._worked(ran)
        except LearningMemoryError as problem:
            log.warning("failure.skipped", reason=type(problem).__name__)
        return Known()

    def _worked(self, ran: Ran) -> None:
        """Note of earlier failures of a command that it works now."""
        command = tidied(ran.command, ran.project, ran.folder).strip()
        if in_vain := self._failed_in_vain(ran.project, command):
            self._failures.add(*(replace(each, remedy=command) for each in in_vain), at=ran.at)

    def _failed_in_vain(self, project: str, command: str) -> list[Failure]:
        """Return the failures of a command with errors that nothing has ever mended.

        Where something has, that it works elsewhere says nothing against the remedy: it may be the folder.
        """
        return [
            each
            for each in self._failures.with_command(project, command)
            if not any(other.remedy for other in self._failures.of(project, each.signature))
        ]

    def _in_vain(self, failure: Failure) -> str:
        """Return the line that a command never worked here; nothing if it did, or is meant to fail at times."""
        sessions = {
            each.session
            for each in self._failed_in_vain(failure.project, failure.command)
            if each.signature == failure.signature and not each.imported
        }
        if (
            len(sessions) < _AGAIN
            or failure.session in sessions
            or is_check(failure.command)
            or not parse(failure.command).is_certain
            # Of these it is not known whether they worked.
            or MARKER.search(failure.command)
            or len(failure.command) == limits.COMMAND_MAX
        ):
            return ""
        return f"This command failed in {len(sessions) + 1} sessions of this project, and never worked here."

    def _recorded(self, failure: Failure, folder: str | None) -> Known:
        """Record a failure, and return what is known of it."""
        # Nothing here awaits, so what is known cannot change before it is written.
        known = self._failures.of(failure.project, failure.signature)
        remedy = remedy_for(
            failure.command, known, named=failure.named, session=failure.session, folder=folder
        )
        fact = "" if remedy else self._in_vain(failure)
        shown, support = (remedy.failure.id, remedy.support) if remedy else (None, None)
        before = self._failures.find(failure.id)
        if before is None or before.imported:
            if not self._failures.is_forgotten(failure.id):
                self._failures.add(replace(failure, shown=shown, support=support, times=1 + seen(known)))
                self._failures.make_room(failure.project, failure.signature, failure.created_at)
        elif shown and before.shown != shown:
            self._failures.add(replace(before, shown=shown, support=support), at=failure.created_at)
        return Known(line_about(known, failure.command, remedy) if remedy else "", fact)


class Learner:
    """Takes the commands of earlier sessions, each session's in order, and returns what is to be kept of them.

    The same commands lead to the same failures, with the same ids. They are those that a hook would have recorded,
    without those that nothing mended: these have nothing to show. RAM grows by about a kilobyte for each failure,
    whatever its output. `imported` is whether the sessions were on another machine.
    """

    def __init__(self, redaction: RedactionGate, *, imported: bool = False) -> None:
        self._pending = PendingFailures(redaction)
        self._imported = imported
        self._failures: dict[str, Failure] = {}
        self._seen: dict[tuple[str, str, str, datetime], str] = {}

    async def saw(self, ran: Ran) -> None:
        """Take a command; see `PendingFailures.saw`."""
        result = await self._pending.saw(ran)
        if isinstance(result, Failure):
            # A session that was continued in another file begins with a copy of what happened in the first.
            moment = (ran.project, result.signature, result.command, ran.at)
            if self._seen.setdefault(moment, result.id) == result.id:
                known = self._failures.setdefault(result.id, replace(result, imported=self._imported))
                if ran.at < known.created_at:
                    self._failures[result.id] = replace(known, created_at=ran.at)
            return
        for name in result.ids:
            # Not the copy of a failure.
            if known_one := self._failures.get(name):
                self._failures[name] = replace(known_one, remedy=result.remedy)

    def learned(self) -> list[list[Failure]]:
        """Return the failures of each error that were mended, oldest first, and not more of them than are kept."""
        errors: dict[str, list[Failure]] = defaultdict(list)
        for failure in sorted(self._failures.values(), key=attrgetter("created_at", "id")):
            errors[failure.error].append(failure)
        numbered = (
            [replace(each, times=number) for number, each in enumerate(known, start=1)]
            for known in errors.values()
        )
        mended = ([each for each in known if each.remedy] for known in numbered)
        return [known[-limits.FAILURES_KEPT :] for known in mended if known]


def unknown(learned: Iterable[Failure], here: FailureLog) -> list[Failure]:
    """Return the failures of one error that are neither kept nor forgotten here, nor would be forgotten for newer ones.

    What was only imported so far is not known, if a session of this machine has seen it.
    """
    learned = list(learned)
    known = here.of(learned[0].project, learned[0].signature) if learned else []
    known = [each for each in known if each.imported <= learned[0].imported]
    ids = {each.id for each in known}
    # A hook may have seen the same in the session of which this one is a copy.
    moments = {(each.command, each.created_at) for each in known}
    new = [
        each
        for each in learned
        if each.id not in ids
        and not here.is_forgotten(each.id)
        and (each.command, each.created_at) not in moments
    ]
    return new[max(len(new) + len(known) - limits.FAILURES_KEPT, 0) :] if known else new
