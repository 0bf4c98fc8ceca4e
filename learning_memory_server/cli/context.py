"""`context`: information for a new session, read without a lock; and `why`, which `status` has replaced."""

import os

from learning_memory_server.advice.lessons import Lessons
from learning_memory_server.advice.names import Names
from learning_memory_server.advice.observer import place_of
from learning_memory_server.advice.room import room_of_starts
from learning_memory_server.cli import command, out
from learning_memory_server.cli.given import given_last
from learning_memory_server.cli.listing import next_step
from learning_memory_server.cli.rules.status import paused_words
from learning_memory_server.model.caller import folder_of
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.project import short_name
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.rules.applying import Rules
from learning_memory_server.rules.pause import PAUSE, RulePause, is_over
from learning_memory_server.server.claims import caller_of

commands = command.Commands()


@commands.command()
def why(project: command.ProjectOption = None) -> command.Result:
    """Show the advice that the last session of this project was given, and the rule for each.

    It is read from the journal, which has a line for each time.
    """
    stored = command.Offline(command.open_settings())
    named = command.chosen_project(project, stored) or command.current_project(stored.settings)
    shown = given_last(stored, named)
    for each in shown:
        out.say(f"{each['rule']}. {out.date(each['at'])}", "bold")
        for item in each["items"]:
            out.say(f"{item['text']} ({item['id']})")
    if not shown:
        out.say(f"No session of {out.one_line(short_name(named))} was given advice yet.")
    return command.Result({"project": named, "shown": shown})


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
    has_rules = is_over(RulePause(settings.storage_path / PAUSE).until(session=""), utc_now())
    room = room_of_starts(lessons, names, stored.entry_notes, rules)
    text = await room.context(caller, place, has_rules=has_rules)
    if out.is_for_people():
        out.stdout().file.write(text)
        out.stdout().file.flush()
    if paused := paused_words(settings, utc_now()):
        out.remark(paused)
    if not text:
        nothing = f"A new session of {out.one_line(short_name(caller.project))} gets no context"
        out.remark(f"{nothing}: no entry is open, and no lesson is about its branch or files. {next_step(stored)}")
    return command.Result({"project": caller.project, "text": text})
