"""The texts about rules for agents and persons: the rule's sentence, its date, and the decision on the call."""

from collections.abc import Sequence
from datetime import datetime

from learning_memory_server.advice.candidates import Decision, Permission
from learning_memory_server.model import limits
from learning_memory_server.model.lines import counted, one_line
from learning_memory_server.model.rule import OriginKind, Rule, short_id
from learning_memory_server.rules.session import Meeting, Ruling

TITLE = "Rules of your user:"
OFF = "learning-memory-server rules off"
ALL = "learning-memory-server rules"


def decision_of(meeting: Meeting, now: datetime) -> Decision | None:
    """Return the decision on a call, with its reason; None if the call runs."""
    if meeting.ruling is Ruling.RUN:
        return None
    if meeting.ruling is Ruling.ASK:
        their = "this rule" if len(meeting.rules) == 1 else "these rules"
        sentence = named(meeting.rules, now, "Your rule")
        return Decision(Permission.ASK, f"{sentence} This call breaks {their}. Run it this once?")
    end = (
        "Nobody can be asked now, so go on without it."
        if meeting.ruling is Ruling.STOP
        else "Change the call and go on."
    )
    return Decision(
        Permission.DENY,
        f"{named(meeting.rules, now)} This call breaks {_it(meeting.rules)}, so nothing of it was run. {end}",
    )


def beside(meeting: Meeting, now: datetime) -> str:
    """Return the text for an agent whose user was asked about a call: the client does not show it the reason."""
    if meeting.ruling is not Ruling.ASK:
        return ""
    return (
        f"{named(meeting.rules, now)} Your user was asked before this call was run; the answer is for this call alone."
    )


def person_of(meeting: Meeting) -> str:
    """Return the notice for the person at the first call of a session that did not run because of a rule."""
    if not meeting.is_first or not meeting.rules:
        return ""
    shown = meeting.rules[: limits.RULES_AT_ONCE]
    rules = ", ".join(f'"{one_line(each.text)}" ({short_id(each.id)})' for each in shown)
    return f"The agent was reminded of {rules}. No reminders in the sessions that are open: {OFF}"


def after(rules: Sequence[Rule], now: datetime) -> str:
    """Return the text for an agent after a call that ran and broke rules."""
    return f"{named(rules, now)} The last call broke {_it(rules)}." if rules else ""


def at_end(rules: Sequence[Rule], now: datetime) -> str:
    """Return the text for an agent that ends its work without having followed rules about the end of work."""
    if not rules:
        return ""
    is_seen = all(each.pattern for each in rules)
    return f"{named(rules, now)} {'This has not been done since the last edit.' if is_seen else 'Is it done?'}"


def left_out(number: int) -> str:
    """Return the notice for the person about rules that did not fit at a start."""
    if not number:
        return ""
    return f"{counted(number, 'more rule')} for every session {'was' if number == 1 else 'were'} not shown: {ALL}"


def line_of(rule: Rule, now: datetime) -> str:
    """Return a rule as a list item."""
    return f"{one_line(rule.text)} ({_source(rule, now)})"


def named(rules: Sequence[Rule], now: datetime, noun: str = "Rule of your user") -> str:
    """Return rules with their origins."""
    if len(rules) > 1:
        shown = sorted(rules, key=lambda each: not each.is_enforced)[: limits.RULES_AT_ONCE]
        several = "; ".join(f'"{one_line(each.text)}" ({_source(each, now)})' for each in shown)
        more = f"; and {len(rules) - len(shown)} more" if len(rules) > len(shown) else ""
        return f"{noun.replace('ule', 'ules', 1)}: {several}{more}."
    (rule,) = rules
    text = one_line(rule.text)
    end = "" if text[-1:] in ".!?" else "."
    if rule.origin.kind is OriginKind.FILE and rule.origin.name:
        return f'{noun}, from {one_line(rule.origin.name)} (accepted {_day(rule.created_at, now)}): "{text}"{end}'
    return f'{noun} ({_source(rule, now)}): "{text}"{end}'


def _source(rule: Rule, now: datetime) -> str:
    """Return the origin of a rule: the date of the person's words, or the file and the date of acceptance."""
    if rule.origin.kind is OriginKind.FILE and rule.origin.name:
        return f"from {one_line(rule.origin.name)}, accepted {_day(rule.created_at, now)}"
    return _day(rule.origin.at or rule.created_at, now)


def _day(moment: datetime, now: datetime) -> str:
    return f"{moment.day} {moment:%b}" if moment.year == now.year else f"{moment.day} {moment:%b %Y}"


def _it(rules: Sequence[Rule]) -> str:
    return "it" if len(rules) == 1 else "them"
