"""A person's answers to suggestions, sentences that contradict each other, and the limits of a rule."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from learning_memory_server.cli import out
from learning_memory_server.cli.access import open_connection
from learning_memory_server.cli.rules.keeping import formed, keep, retired, show_agreed
from learning_memory_server.model.rule import Rule, RuleState, Suggestion, When
from learning_memory_server.rules.past.past import Past
from learning_memory_server.rules.past.report import Line, Offered, PastReport
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.views import rule_views

_ALSO: Final = 3  # Maximum number of other sources listed for the same sentence


@dataclass(slots=True)
class SuggestionAnswers:
    """A person's answers to suggestions, in order, to be written together."""

    report: PastReport
    now: datetime
    rules: list[Rule] = field(default_factory=list)
    _answered: dict[str, Rule] = field(default_factory=dict)

    def accept(self, offered: Offered, *, text: str = "", drops_words: bool = False) -> None:
        """Make a rule from a suggestion, with the original sentence or as edited by the person.

        With `drops_words`, the rule keeps neither the person's words nor the call that was refused.
        """
        each, past = offered.suggestion, offered.past or Past()
        made = each.answered(RuleState.ACCEPTED, self.now)
        made = replace(made, broken_before=past.broken, matched_before=past.matched)
        if offered.is_only_shown:
            made = replace(made, when=When.SESSION, pattern=None)
        if text and text != each.text:
            # The original words are the person's own, or from a file.
            made = formed(replace(made, text=text, words=each.words or each.text, when=When.SESSION, pattern=None))
            made = made if made.pattern == each.pattern else replace(made, broken_before=0, matched_before=0)
        if drops_words:
            made = replace(made, words="", origin=made.origin.without_call)
        self._say(each, made)

    def decline(self, each: Suggestion) -> None:
        """Decline a suggestion, from all of its sources."""
        self._say(each, each.answered(RuleState.DECLINED, self.now))

    def postpone(self, each: Suggestion) -> None:
        """Postpone a suggestion."""
        self._say(each, each.answered(RuleState.POSTPONED, self.now))

    def settled(self) -> list[Rule]:
        """Return the rules to write. Of two contradicting sentences, the one accepted later wins."""
        written = {each.id: each for each in self.rules}
        for pair in self.report.conflicts:
            for one, other in (pair, pair[::-1]):
                accepted = self._answered.get(one.id)
                if accepted is None or accepted.state is not RuleState.ACCEPTED or accepted.id not in written:
                    continue
                if isinstance(other, Rule):
                    written[other.id] = retired(other, self.now)
                    written[accepted.id] = replace(written[accepted.id], replaces=other.id)
                elif (known := self._answered.get(other.id)) is None:
                    declined = other.answered(RuleState.DECLINED, self.now)
                    written[declined.id] = declined
                elif known.state is RuleState.ACCEPTED and self.rules.index(known) < self.rules.index(accepted):
                    written[known.id] = replace(known, state=RuleState.DECLINED)
        return list(written.values())

    async def write(self, settings: Settings, command: str) -> None:
        """Write the answers, and print when agents see the accepted rules."""
        rules = self.settled()
        if not rules:
            return
        async with open_connection(settings, command) as connection:
            await keep(connection, rules)
        for each in rules:
            if each.state is RuleState.RETIRED:
                out.say(f"Retired, because a newer rule contradicts it: {each.text}")
        if accepted := [each for each in rules if each.state is RuleState.ACCEPTED]:
            out.say(f"{out.counted(len(accepted), 'rule')} kept; `learning-memory-server rules` lists them.")
            show_agreed(accepted)

    def _say(self, each: Suggestion, rule: Rule) -> None:
        if before := self._answered.get(each.id):
            self.rules.remove(before)
        self._answered[each.id] = rule
        self.rules.append(rule)


def offered_of(lines: Iterable[Line]) -> dict[int, Offered]:
    """Return the suggestions that can be accepted in a report, by line number."""
    return {number: each.offered for number, each in enumerate(lines, 1) if each.offered}


def show_limits(offered: dict[int, Offered], report: PastReport) -> None:
    """Print the limits of the offered rules, and which sentences contradict each other."""
    usual = [number for number, each in offered.items() if each.is_only_shown]
    unseen = [
        number
        for number, each in offered.items()
        if each.suggestion.pattern is None and each.suggestion.when in {When.SESSION, When.CALL, When.FILE}
    ]
    for numbers, why in (
        (usual, "more than 1 in 20 calls would break it"),
        (unseen, "no call can be recognized as a breach"),
    ):
        if numbers:
            out.say(f"Shown at each session's start only, because {why}: {_listed(numbers)}.", "yellow")
    known = {each.suggestion.id: number for number, each in offered.items()}
    for one, other in report.conflicts:
        if one.id in known and other.id in known:
            out.say(f"{known[one.id]} and {known[other.id]} contradict each other: the last yes counts.", "yellow")
        for new, old in ((one, other), (other, one)):
            if new.id in known and isinstance(old, Rule):
                name = rule_views.short_id(old.id)
                out.say(f'{known[new.id]} contradicts your rule {name}, "{old.text}": a yes retires that.', "yellow")


def from_words(each: Suggestion) -> str:
    """Return the origin of a suggestion, with its date, and other sources of the same sentence."""
    also = [f"{rule_views.whose(other)}{f' ({out.date(other.at)})' if other.at else ''}" for other in each.others]
    more = f" and {len(also) - _ALSO:,} more" if len(also) > _ALSO else ""
    day = f", {out.date(each.origin.at)}" if each.origin.at else ""
    others = f"; also in {', '.join(also[:_ALSO])}{more}" if also else ""
    return f"{rule_views.whose(each.origin)}{day}{others}"


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
