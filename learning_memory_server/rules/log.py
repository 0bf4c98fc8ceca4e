"""The rules in the journal, and their counts in later sessions."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from datetime import datetime

from learning_memory_server.journal.log import Log
from learning_memory_server.journal.records import Records
from learning_memory_server.model.moment import as_seen
from learning_memory_server.model.rule import Rule, RuleCount


class RuleLog(Records[Rule]):
    """The rules that a person has answered, and the imported ones."""

    def accepted(self, project: str) -> list[Rule]:
        """Return the rules that apply in a project, newest first."""
        found = [each for each in self.all() if each.is_accepted and each.applies_in(project)]
        return sorted(found, key=lambda each: as_seen(each.changed_at), reverse=True)


@dataclass(frozen=True, slots=True)
class Fared:
    """The counts of a rule since it was accepted."""

    sessions: int = 0
    followed: int = 0
    reminded: int = 0
    broken: int = 0
    stopped: int = 0

    def plus(self, count: RuleCount, times: int = 1) -> "Fared":
        """Return the sum with a session's counts, multiplied by `times`: -1 subtracts them."""
        more = (1, count.followed, count.reminded, count.broken, count.stopped)
        return Fared(*(mine + times * each for mine, each in zip(astuple(self), more, strict=True)))


class RuleCounts(Records[RuleCount]):
    """Rule counts, one record for each rule and session. Sums are cached, since there may be years of records."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._sums: dict[str, Fared] | None = None  # by rule
        self._ids: dict[str, dict[str, None]] = {}  # the record ids of a rule, oldest first

    def fared(self, rules: Iterable[Rule]) -> dict[str, Fared]:
        """Return the counts of each rule, by its id."""
        sums = self._summed()
        return {each.id: sums.get(each.id, Fared()) for each in rules}

    def about(self, rule: str) -> list[RuleCount]:
        """Return the records of a rule, oldest first."""
        self._summed()
        found = filter(None, map(self.find, self._ids.get(rule, ())))
        return sorted(found, key=lambda each: as_seen(each.created_at))

    def add(self, *things: RuleCount, at: datetime | None = None) -> None:
        """Append records to the log, all or none; see `Records`."""
        latest = {each.id: each for each in things}
        before = [known for name in latest if (known := self.find(name))]
        super().add(*things, at=at)
        if self._sums is not None:
            for known in before:
                self._sums[known.rule] = self._sums[known.rule].plus(known, -1)
            self._sum(latest.values())

    def _replaced(self) -> None:
        self._sums = None

    def _summed(self) -> dict[str, Fared]:
        if self._sums is None:
            self._sums, self._ids = {}, {}
            self._sum(self.all())
        return self._sums

    def _sum(self, counts: Iterable[RuleCount]) -> None:
        assert self._sums is not None
        for each in counts:
            self._sums[each.rule] = self._sums.get(each.rule, Fared()).plus(each)
            self._ids.setdefault(each.rule, {})[each.id] = None


def total(counts: Iterable[RuleCount]) -> Fared:
    """Return the total counts of a rule in these sessions."""
    found = Fared()
    for each in counts:
        found = found.plus(each)
    return found
