"""The advice log: one line of the journal for each trigger with advice.

At an error, the record of the failure contains the advice: one event, one write.
"""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from learning_memory_server.journal.log import Log
from learning_memory_server.journal.records import FailureLog, Records
from learning_memory_server.model.advice import Advice, Item, TriggerKind
from learning_memory_server.model.caller import MAIN_AGENT
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.moment import as_seen


class AdviceLog(Records[Advice]):
    """The advice that agents were shown, by session and by item."""

    def __init__(self, log: Log, failures: FailureLog) -> None:
        super().__init__(log)
        self.failures = failures
        self._by_context: defaultdict[str, list[Advice]] | None = None
        self._times: Counter[str] = Counter()

    def everything(self) -> Iterator[Advice]:
        """Yield all advice, including the advice at errors."""
        yield from (each for each in self.all() if not each.others.get("withheld"))  # Written by earlier versions
        yield from (advice for each in self.failures.all() if (advice := at_error(each)))

    def record(self, advice: Advice) -> None:
        """Record the advice of a trigger."""
        self.add(advice)
        if self._by_context is not None:
            self._index(advice)

    def record_failure(self, failure: Failure, shown: Sequence[Item], context: str) -> None:
        """Record a failure with its advice, and whether the error came again after advice."""
        same = self.failures.of(failure.project, failure.signature)
        mine = (each for each in same if (each.session, each.agent) == (failure.session, failure.agent))
        came_again = any(each.advice for each in mine)
        context = "" if context == failure.session else context
        failure = replace(failure, advice=next(iter(shown), None), again=came_again, context=context)
        self.failures.record(failure)
        if self._by_context is not None and (advice := at_error(failure)):
            self._index(advice)

    def shown_to(self, context: str, agent: str, since: datetime | None = None) -> list[Item]:
        """Return the items that an agent was shown in a session, or since its context was cleared."""
        lines = self._indexed().get(context, ())
        mine = (each for each in lines if (each.agent or MAIN_AGENT) == agent)
        return [item for each in mine if since is None or as_seen(each.created_at) >= since for item in each.items]

    def times_shown(self, name: str) -> int:
        """Return the number of times that a lesson was shown on this machine."""
        self._indexed()
        return self._times[name]

    def about(self, ids: Container[str]) -> list[str]:
        """Return the ids of the lines about these entries, or with these entries or values as items."""
        return [each.id for each in self.all() if each.ghap_id in ids or any(item.id in ids for item in each.items)]

    def import_new(self, given: Iterable[Advice], forgotten: Container[str]) -> list[Advice]:
        """Import and return the new lines, except those about or with something that was deleted here."""
        return self.add_new(
            each
            for each in given
            if each.ghap_id not in forgotten and not any(item.id in forgotten for item in each.items)
        )

    def _replaced(self) -> None:
        self._by_context = None

    def _indexed(self) -> defaultdict[str, list[Advice]]:
        if self._by_context is None:
            self._by_context, self._times = defaultdict(list), Counter()
            for each in self.everything():
                self._index(each)
        return self._by_context

    def _index(self, advice: Advice) -> None:
        assert self._by_context is not None
        if not advice.imported:
            self._by_context[advice.context or advice.session].append(advice)
            self._times.update(item.id for item in advice.items if item.shown == (item.id, "lesson"))


def at_error(failure: Failure) -> Advice | None:
    """Return the advice at a failure as a log line, None if there was none."""
    if failure.advice is None:
        return None
    return Advice(
        channel=TriggerKind.ERROR,
        items=(failure.advice,),
        project=failure.project,
        created_at=failure.created_at,
        ghap_id=failure.during.entry if failure.during else "",
        session=failure.session,
        context=failure.context,
        agent=failure.agent,
        key=failure.id,
        imported=failure.imported,
    )


def without_advice(failure: Failure, ids: Container[str]) -> Failure | None:
    """Return a failure without its advice if `ids` contains the advice, None otherwise."""
    is_of_them = failure.advice is not None and failure.advice.id in ids
    return replace(failure, advice=None) if is_of_them else None
