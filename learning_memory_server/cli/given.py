"""The advice that agents got without asking, and why: all of the last session, or every time for one item."""

from typing import Any, Final

from learning_memory_server.cli import command
from learning_memory_server.model import limits
from learning_memory_server.model.advice import Advice, Item, Reason, TriggerKind
from learning_memory_server.model.lines import counted, one_line, shortened
from learning_memory_server.model.moment import as_seen

_RULES: Final = {
    TriggerKind.SESSION_START: "At its start: rules for every session, what is open, and lessons that name the branch, a changed file or the folder",
    TriggerKind.PROMPT: "At a prompt: the rule on its topic, or the lesson that is nearest to it, or names the same thing",
    TriggerKind.SUBAGENT_START: "At a subagent's start: rules for every session, and the lesson that is nearest to its task, or names the same thing",
    TriggerKind.ENTRY_START: "When it started an entry: lessons and values near its goal and hypothesis",
    TriggerKind.ENTRY_UPDATE: "When it changed its hypothesis: lessons and values near that",
    TriggerKind.ERROR: "At a command that failed: the lesson about this error, else the nearest one",
    TriggerKind.FILE: "After it read a file: a wrong belief about that",
    TriggerKind.CALL: "Before a call that breaks it: a rule",
    TriggerKind.COMMAND: "After a call that broke it: a rule",
    TriggerKind.STOP: "At its end: a rule for it, and the entry that is still open",
    TriggerKind.SUBAGENT_STOP: "At a subagent's end: the entry that is still open",
}
"""The rule by which an agent gets advice, for each trigger."""


def given_last(stored: command.Offline, project: str) -> list[dict[str, Any]]:
    """Return the advice of a project's last session, with the rule for each time."""
    lines = [each for each in stored.advice_log.everything() if each.project == project and not each.imported]
    lines.sort(key=lambda each: as_seen(each.created_at))
    # Earlier versions did not record the session.
    last = [each for each in lines if each.session and each.session == lines[-1].session] or lines[-1:]
    return [_shown(each, stored) for each in last]


def times_given(stored: command.Offline, name: str) -> str:
    """Return a sentence about how often agents got one item, when last, and why; empty if they never did."""
    times = [
        each
        for each in stored.advice_log.everything()
        if not each.imported and any(item.id == name for item in each.items)
    ]
    if not times:
        return ""
    last = max(times, key=lambda each: as_seen(each.created_at))
    return f"{counted(len(times), 'time')}, the last one {last.created_at:%Y-%m-%d}. {_rule_of(last)}"


def _rule_of(advice: Advice) -> str:
    return _RULES.get(advice.channel, advice.channel.value)


def _shown(advice: Advice, stored: command.Offline) -> dict[str, Any]:
    items = [{"id": item.id, "reason": item.reason, "text": _text_of(item, stored)} for item in advice.items]
    at, trigger = advice.created_at.isoformat(), advice.channel.value
    return {"at": at, "trigger": trigger, "rule": _rule_of(advice), "items": items}


def _text_of(item: Item, stored: command.Offline) -> str:
    """Return the text of an item that was shown, if the item still exists."""
    from learning_memory_server.advice.text import lesson_of

    shared = stored.shared.entries.get(item.id)
    found = stored.collector.look_up([item.id]).found
    if entry := shared or (found[0] if found else None):
        if item.reason in {Reason.OPEN, Reason.ELSEWHERE, Reason.UNRESOLVED} or entry.resolution is None:
            return shortened(one_line(entry.goal), limits.CONTEXT_GOAL_MAX)
        return lesson_of(entry, limits.LESSON_ALONE_MAX)
    if rule := stored.rule_log.find(item.id):
        return one_line(rule.text)
    value = stored.value_log.find(item.id)
    return one_line(value.text) if value else "It was forgotten since."
