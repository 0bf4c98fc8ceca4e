"""The failures of past sessions, as transcripts show them: the same that a hook would have recorded."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from operator import attrgetter

from learning_memory_server.journal.records import FailureLog
from learning_memory_server.lessons.errors.watch import CommandWatch, Ran
from learning_memory_server.model import limits
from learning_memory_server.model.failure import Failure
from learning_memory_server.redaction.gate import RedactionGate


class Learner:
    """Takes the commands of earlier sessions, each session's in order, and returns the failures.

    The same commands lead to the same failures, with the same ids. RAM grows by about a kilobyte for each failure,
    whatever its output. `imported` is whether the sessions were on another machine.
    """

    def __init__(self, redaction: RedactionGate, *, imported: bool = False) -> None:
        self._watch = CommandWatch(redaction, is_past=True)
        self._imported = imported
        self._failures: dict[str, Failure] = {}
        self._seen: dict[tuple[str, str, str, datetime], str] = {}

    async def saw(self, ran: Ran) -> bool:
        """Take a command, and return whether it failed; see `CommandWatch.saw`."""
        ended = await self._watch.saw(ran)
        for each in ended.worked:
            # A copy of a failure is in no list, and what worked first stays.
            known = self._failures.get(each.id)
            if known and known.worked is None:
                self._failures[each.id] = replace(known, worked=each.worked)
        if failure := ended.failure:
            # A session that was continued in another file begins with a copy of what happened in the first.
            moment = (ran.project, failure.signature, failure.command, ran.at)
            if self._seen.setdefault(moment, failure.id) == failure.id:
                self._add(replace(failure, imported=self._imported))
        return bool(ended.has_failed)

    def _add(self, failure: Failure) -> None:
        known = self._failures.setdefault(failure.id, failure)
        first = min(failure.created_at, known.created_at)
        has_returned = known.returned or (known.worked is not None and failure.created_at > known.created_at)
        self._failures[failure.id] = replace(known, created_at=first, returned=has_returned)

    @property
    def failures(self) -> list[Failure]:
        """All failures, oldest first."""
        return sorted(self._failures.values(), key=attrgetter("created_at", "id"))

    def learned(self) -> list[list[Failure]]:
        """Return the failures of each error, oldest first, at most as many as are kept."""
        errors: dict[str, list[Failure]] = defaultdict(list)
        for failure in self.failures:
            errors[failure.error].append(failure)
        return [
            [replace(each, times=number) for number, each in enumerate(known, start=1)][-limits.FAILURES_KEPT :]
            for known in errors.values()
        ]


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
