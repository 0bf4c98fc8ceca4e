"""`context`: what a new session should know, read without a lock; `why`: what the last session was shown."""

import os
from typing import Any, Final

from learning_memory_server.advice.lessons import Lessons
from learning_memory_server.advice.names import Names
from learning_memory_server.advice.observer import place_of
from learning_memory_server.advice.room import room_of_starts
from learning_memory_server.advice.text import lesson_of
from learning_memory_server.cli import command, out
from learning_memory_server.cli.listing import next_step
from learning_memory_server.model import limits
from learning_memory_server.model.advice import Advice, Item, Reason, TriggerKind
from learning_memory_server.model.caller import folder_of
from learning_memory_server.model.lines import one_line, shortened
from learning_memory_server.model.moment import as_seen, utc_now
from learning_memory_server.model.project import short_name
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.rules.applying import Rules
from learning_memory_server.server.claims import caller_of

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
"""By what rule an agent is shown something at each trigger."""

commands = command.Commands()


@commands.command()
def why(project: command.ProjectOption = None) -> command.Result:
    """Show the advice that the last session of this project was given, and the rule for each.

    It is read from the journal, which has a line for each time.
    """
    stored = command.Offline(command.open_settings())
    named = command.chosen_project(project, stored) or command.current_project(stored.settings)
    lines = [each for each in stored.advice_log.everything() if each.project == named and not each.imported]
    lines.sort(key=lambda each: as_seen(each.created_at))
    # Earlier versions did not write which session it was.
    last = [each for each in lines if each.session and each.session == lines[-1].session] or lines[-1:]
    shown = [_shown(each, stored) for each in last]
    for each in shown:
        out.say(f"{each['rule']}. {out.date(each['at'])}", "bold")
        for item in each["items"]:
            out.say(f"{item['text']} ({item['id']})")
    if not shown:
        out.say(f"No session of {out.one_line(short_name(named))} was given advice yet.")
    return command.Result({"project": named, "shown": shown})


def _shown(advice: Advice, stored: command.Offline) -> dict[str, Any]:
    items = [{"id": item.id, "reason": item.reason, "text": _text_of(item, stored)} for item in advice.items]
    rule = _RULES.get(advice.channel, advice.channel.value)
    return {"at": advice.created_at.isoformat(), "trigger": advice.channel.value, "rule": rule, "items": items}


def _text_of(item: Item, stored: command.Offline) -> str:
    """Return what was shown of a thing, as far as it still exists."""
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


@commands.command()
async def context() -> command.Result:
    """Show what a new session of this project should know, or nothing if there is nothing.

    These are open entries, and lessons that name the branch, a changed file or
    the folder, or that helped most: at most 1,200 bytes. MCP clients read them
    as the resource `context`.
    """
    settings = command.open_settings()
    caller = caller_of(os.environ, settings)
    if left_out := command.left_out_here(settings):
        out.say(left_out)
        return command.Result({"project": caller.project, "text": left_out})
    stored = command.Offline(settings)
    lessons = Lessons(stored.collector, stored.effects, stored.freshness, answers=stored.answers, shared=stored.shared)
    names = Names(lessons)
    rules = Rules(stored.rule_log, stored.rule_counts, RedactionGate(), utc_now)
    place = place_of(names, str(folder_of(os.environ)), caller.folder)
    # No session of a client runs this, so all open entries are of others.
    text = await room_of_starts(lessons, names, stored.entry_notes, rules).context(caller, place, tool="")
    if out.is_for_people():
        out.stdout().file.write(text)
        out.stdout().file.flush()
    if not text:
        nothing = f"A new session of {out.one_line(short_name(caller.project))} gets no context"
        out.remark(f"{nothing}: no entry is open, and no lesson is about its branch or files. {next_step(stored)}")
    return command.Result({"project": caller.project, "text": text})
