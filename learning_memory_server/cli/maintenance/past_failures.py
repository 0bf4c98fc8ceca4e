"""What the commands of past sessions teach: the failures that were mended, as if they had been seen then."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from learning_memory_server.journal.failures import FailureLog
from learning_memory_server.learning.failures.error_advisor import PendingFailures, Ran
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.limits import FAILURES_KEPT
from learning_memory_server.redaction.gate import RedactionGate


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
        for failure in sorted(self._failures.values(), key=_age):
            errors[failure.error].append(failure)
        numbered = (
            [replace(each, times=number) for number, each in enumerate(known, start=1)]
            for known in errors.values()
        )
        mended = ([each for each in known if each.remedy] for known in numbered)
        return [known[-FAILURES_KEPT:] for known in mended if known]


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
    return new[max(len(new) + len(known) - FAILURES_KEPT, 0) :] if known else new


def _age(failure: Failure) -> tuple[datetime, str]:
    return failure.created_at, failure.id
