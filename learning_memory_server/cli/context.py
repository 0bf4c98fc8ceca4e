"""`context`: what a new session should know, read without a lock; `why`: what the last session was told."""

import os
from typing import Final

from learning_memory_server.advice.text import UNCONFIRMED, context as context_of, helped_most
from learning_memory_server.cli import command, out
from learning_memory_server.cli.access import find_hub
from learning_memory_server.cli.listing import next_step
from learning_memory_server.hooks import event
from learning_memory_server.lessons.names import Names
from learning_memory_server.model.caller import folder_of, place_in
from learning_memory_server.model.project import short_name
from learning_memory_server.server.claims import caller_of

_RULES: Final = {
    event.SESSION_START: "At its start: what is open, and lessons that name the branch, a changed file or the folder",
    event.PROMPT: "At a prompt: the lesson that is nearest to it, or names the same thing",
    event.AGENT_START: "At a subagent's start: the lesson that is nearest to its task, or names the same thing",
    event.AFTER_FAILURE: "At a command that failed: what fixed its error, or the lesson that its author learned from it",
    event.AFTER_TOOL: "After a tool: what failed or was refused before, or a wrong belief about the file that was read",
    event.STOP: "At its end: the entry that is still open",
    event.AGENT_STOP: "At a subagent's end: the entry that is still open",
}
"""By what rule an agent is told something at an event of its client."""

commands = command.Commands()


@commands.command()
def why(project: command.ProjectOption = None) -> command.Result:
    """Show the advice that hooks gave the last session of this project, and the rule for each.

    The hub knows what it has said since it began, and writes it to no file.
    """
    stored = command.Offline(command.open_settings())
    named = command.chosen_project(project, stored) or command.current_project(stored.settings)
    hub = find_hub()
    said = hub.control("said", project=named)["said"] if hub else []
    for each in said:
        out.say(f"{_RULES.get(each['event'], each['event'])}. {out.date(each['at'])}", "bold")
        out.say(each["text"])
    if not said:
        since = "since its hub began" if hub else "that is known, because no hub runs"
        out.say(f"Hooks gave no advice in {out.one_line(short_name(named))} {since}.")
    return command.Result({"project": named, "said": said})


@commands.command()
def context() -> command.Result:
    """Show what a new session of this project should know, or nothing if there is nothing.

    These are open entries, and lessons that name the branch, a changed file or
    the folder, or that helped most: at most 1,200 bytes. MCP clients read them
    as the resource `context`.
    """
    settings = command.open_settings()
    caller = caller_of(os.environ, settings)
    stored = command.Offline(settings)
    names = Names(stored.collector, stored.answers, lambda project: stored.shared.allowed(project, stored.answers))
    names.look(caller.folder)
    validity = stored.validity
    gone = validity.successors()
    found = names.at(place_in(folder_of(os.environ)), caller)
    found += helped_most(stored.collector, stored.advice_log.effects(), caller.project, stored.answers)
    lessons = [each for each in found if each.id not in gone]
    validity.freshness.look(lessons, caller.project, caller.folder)
    # No session of a client runs this, so all open entries are of others, and there is none to record advice with.
    still_open = stored.collector.still_open.others(caller, elsewhere=False)
    told = context_of(still_open, lessons, freshness=lambda entry: validity.words(entry, caller.folder), tool="")
    text = told.text if caller.is_told or not told.text else UNCONFIRMED
    if out.is_for_people():
        out.stdout().file.write(text)
        out.stdout().file.flush()
    if not text:
        nothing = f"A new session of {out.one_line(short_name(caller.project))} gets no context"
        out.remark(f"{nothing}: no entry is open, and no lesson is about its branch or files. {next_step(stored)}")
    return command.Result({"project": caller.project, "text": text})
