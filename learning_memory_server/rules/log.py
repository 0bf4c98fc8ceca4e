"""The rules in the journal, and how each fared in the sessions since."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from learning_memory_server.journal.records import Records
from learning_memory_server.model.moment import as_seen
from learning_memory_server.model.rule import Rule, RuleCount


class RuleLog(Records[Rule]):
    """The rules that a person has answered, and those that an archive brought."""

    def accepted(self, project: str) -> list[Rule]:
        """Return the rules that apply in a project, the newest first."""
        found = [each for each in self.all() if each.is_accepted]
        mine = [each for each in found if each.is_everywhere or each.project == project]
        return sorted(mine, key=lambda each: as_seen(each.changed_at), reverse=True)


@dataclass(frozen=True, slots=True)
class Fared:
    """How a rule has fared since it was accepted."""

    sessions: int = 0
    followed: int = 0
    reminded: int = 0
    broken: int = 0
    stopped: int = 0


class RuleCounts(Records[RuleCount]):
    """How rules fared, a record for each rule and session."""

    def fared(self, rules: Iterable[Rule]) -> dict[str, Fared]:
        """Return how each rule has fared, by its id."""
        counts = defaultdict[str, list[RuleCount]](list)
        for each in self.all():
            counts[each.rule].append(each)
        return {each.id: total(counts[each.id]) for each in rules}

    def about(self, rule: str) -> list[RuleCount]:
        """Return the records of a rule, oldest first."""
        return sorted((each for each in self.all() if each.rule == rule), key=lambda each: as_seen(each.created_at))


def total(counts: list[RuleCount]) -> Fared:
    """Return how a rule has fared in these sessions together."""
    return Fared(
        len(counts),
        sum(each.followed for each in counts),
        sum(each.reminded for each in counts),
        sum(each.broken for each in counts),
        sum(each.stopped for each in counts),
    )
