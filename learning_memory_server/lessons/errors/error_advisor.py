"""Answers a failing command with what mended its error before, and keeps in the journal what mends it now.

One mistake may show as many errors: with the wrong interpreter, each script fails in its own way. So the mistakes that
agents repeated are failures put together by the edit that mended them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import structlog

from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.index.ranking.terms import terms
from learning_memory_server.journal.answers import Answers
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.lessons.errors.cures import approved, cure_id, without_never
from learning_memory_server.lessons.errors.outcomes import is_check
from learning_memory_server.lessons.errors.parse import looks, parse, program
from learning_memory_server.lessons.errors.pending import PendingFailures, Ran
from learning_memory_server.lessons.errors.remedies import Remedy, line_about, remedy_for, seen
from learning_memory_server.lessons.errors.sanitize import last_line, tidied
from learning_memory_server.model import limits
from learning_memory_server.model.failure import Failure
from learning_memory_server.redaction.base import MARKER
from learning_memory_server.redaction.gate import RedactionGate

if TYPE_CHECKING:
    from learning_memory_server.advice.ties import Tied

_AGAIN: Final = 2  # On how many days a command has failed in vain, in other sessions, before an agent is told
_CALLS_MAX: Final = 200  # Characters of what a command calls by which lessons are looked for

log = structlog.get_logger()


class Known(NamedTuple):
    """The findings at the end of a command."""

    remedy: str = ""  # a line about what mended its error before, if remedies are known and agree
    fact: str = ""  # else a line about the sessions in which it failed in vain
    question: str = ""  # what else lessons are looked for by, which may hold secrets
    tied: Tied | None = None  # the lesson about the very error, if it may be told
    tools: frozenset[str] = frozenset()  # the terms of which a lesson must have one, if it is in doubt that it failed


def _calls(ran: Ran) -> list[tuple[str, ...]]:
    """Return what a command calls, without what only looks, if anything does more."""
    steps = [step for step in parse(ran.command).steps if step.folder is None]
    doing = [step for step in steps if not looks(step)]
    return [step.call for step in doing or steps if step.call]


def _question(ran: Ran, said: str) -> str:
    """Return what a command calls, and the line that names its error, else its last one."""
    calls = _calls(ran)
    called = " ".join(map(" ".join, calls))[:_CALLS_MAX]
    return f"{called}\n{said or last_line(ran.output, set(map(program, calls)))}"


def _tools(ran: Ran) -> frozenset[str]:
    """Return the terms that name the programs of a command, and the scripts that they run."""
    words = (word for call in _calls(ran) for word in call[:2])
    return frozenset(name[-1] for word in words if (name := terms(PurePath(word).stem)))


class ErrorAdvisor:
    """What is known of the errors of commands.

    Nothing is raised: callers run next to an agent's work, and can repair neither a full disk nor a damaged
    journal. What could not be recorded is not answered either.
    """

    def __init__(self, failures: FailureLog, redaction: RedactionGate, answers: Answers | None = None) -> None:
        self._failures, self._answers = failures, answers
        self._pending = PendingFailures(redaction)

    async def saw(
        self,
        ran: Ran,
        may_tell: Callable[[], bool] = lambda: True,
        find_tied: Callable[[str, str], Tied | None] = lambda _line, _command: None,
    ) -> Known:
        """Record a command that failed, or that mends one of the last failures of its session.

        `may_tell` is asked only if there is something to tell; what may not be told does not count as shown.
        `find_tied` returns the lesson to tell about a line.
        """
        known = Known()
        try:
            result = await self._pending.saw(ran)
            # Looked up when it is written: it may have been forgotten, or rewritten without a secret, meanwhile.
            found = [
                replace(each, remedy=remedy)
                for name, remedy in result.mended.items()
                if (each := self._failures.find(name)) and each.remedy != remedy
            ]
            if found:
                self._failures.add(*found, at=ran.at)
            may_fail = ran.has_failed or ran.is_in_doubt
            tied = find_tied(result.line, ran.command) if may_fail and result.line else None
            if result.failure:
                known = self._recorded(result.failure, ran.folder, may_tell, tied)
            elif ran.has_failed is False:
                self._worked(ran)
        except LearningMemoryError as problem:
            log.warning("failure.skipped", reason=type(problem).__name__)
            return Known()
        if tied:
            return known._replace(tied=None if tied.is_known else tied)
        if known.remedy or not may_fail:
            return known
        return known._replace(
            question=_question(ran, result.said), tools=_tools(ran) if ran.is_in_doubt else frozenset()
        )

    def _worked(self, ran: Ran) -> None:
        """Note of earlier failures of a command that it works now."""
        command = tidied(ran.command, ran.project, ran.folder).strip()
        if in_vain := self._failed_in_vain(ran.project, command):
            self._failures.add(*(replace(each, remedy=command) for each in in_vain), at=ran.at)

    def _failed_in_vain(self, project: str, command: str) -> list[Failure]:
        """Return the failures of a command with errors that nothing has ever mended.

        Where something has, that it works elsewhere says nothing against the remedy: it may be the folder.
        """
        found = [each for each in self._failures.of_project(project) if each.command == command]
        in_vain = {
            signature
            for signature in {each.signature for each in found}
            if not any(other.remedy for other in self._failures.of(project, signature))
        }
        return [each for each in found if each.signature in in_vain]

    def _in_vain(self, failure: Failure) -> str:
        """Return the line that a command never worked here; nothing if it did, or is meant to fail at times."""
        found = [
            each
            for each in self._failed_in_vain(failure.project, failure.command)
            if each.signature == failure.signature and not each.imported
        ]
        # Sessions of one day count once: they may be one search.
        days = {each.created_at.date() for each in found if each.session != failure.session}
        if (
            len(days) < _AGAIN
            or failure.session in {each.session for each in found}
            or is_check(failure.command)
            or not parse(failure.command).is_certain
            # Of these it is not known whether they worked.
            or MARKER.search(failure.command)
            or len(failure.command) == limits.COMMAND_MAX
        ):
            return ""
        sessions = len(days | {failure.created_at.date()})
        return f"This command failed in {sessions} sessions of this project, and never worked here."

    def _remedy(self, failure: Failure, known: Sequence[Failure], folder: str | None) -> Remedy | None:
        """Return what the rule allows, else what a person has approved; nothing that a person never wants told."""
        answers = self._answers
        if answers and any(answers.is_never(cure_id(each)) for each in known):
            known = without_never(known, answers.is_never)
        remedy = remedy_for(failure.command, known, named=failure.named, session=failure.session, folder=folder)
        return remedy or (approved(failure.command, known, folder, answers.files_of_yes) if answers else None)

    def _is_answered(self, failure: Failure) -> bool:
        return bool(failure.remedy and self._answers and self._answers.said(cure_id(failure)))

    def _recorded(self, failure: Failure, folder: str | None, may_tell: Callable[[], bool], tied: Tied | None) -> Known:
        """Record a failure, and return what is known of it."""
        # Nothing here awaits, so what is known cannot change before it is written.
        before = self._failures.find(failure.id)
        known = self._failures.of(failure.project, failure.signature)
        remedy = self._remedy(failure, known, folder)
        fact = "" if remedy else self._in_vain(failure)
        if (remedy or fact) and not may_tell():
            remedy, fact = None, ""
        new: dict[str, Any] = {"shown": remedy.failure.id, "support": remedy.support} if remedy else {}
        if tied and (tied.is_again or not tied.is_known):
            new |= {"lesson": tied.entry.id, "again": tied.is_again}
        if failure.during:
            new |= {"during": failure.during, "line": failure.line}
        if before is None or before.imported:
            if failure.id not in self._failures.forgotten_ids():
                self._failures.add(replace(failure, **new, times=1 + seen(known)))
                about = failure.project, failure.signature, failure.created_at
                self._failures.make_room(*about, self._is_answered)
        elif (changed := replace(before, **new)) != before:
            self._failures.add(changed, at=failure.created_at)
        return Known(line_about(known, remedy) if remedy else "", fact)


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
        for name, remedy in result.mended.items():
            # Not the copy of a failure.
            if known := self._failures.get(name):
                self._failures[name] = replace(known, remedy=remedy)
        if failure := result.failure:
            # A session that was continued in another file begins with a copy of what happened in the first.
            moment = (ran.project, failure.signature, failure.command, ran.at)
            if self._seen.setdefault(moment, failure.id) == failure.id:
                known = self._failures.setdefault(failure.id, replace(failure, imported=self._imported))
                self._failures[failure.id] = replace(known, created_at=min(ran.at, known.created_at))

    def learned(self) -> list[list[Failure]]:
        """Return the fixed failures of each error, oldest first, at most as many as are kept."""
        errors: dict[str, list[Failure]] = defaultdict(list)
        for failure in sorted(self._failures.values(), key=attrgetter("created_at", "id")):
            errors[failure.error].append(failure)
        numbered = (
            [replace(each, times=number) for number, each in enumerate(known, start=1)] for known in errors.values()
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
        if each.id not in ids and each.id not in here.forgotten_ids() and (each.command, each.created_at) not in moments
    ]
    return new[max(len(new) + len(known) - limits.FAILURES_KEPT, 0) :] if known else new
