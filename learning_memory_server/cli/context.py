"""`context`: what a new session of this project should know, read from the journal without a lock."""

import os

from learning_memory_server.cli import out
from learning_memory_server.cli.command import Commands, Result, Stored, open_settings
from learning_memory_server.cli.listing import next_step
from learning_memory_server.learning.advice.text import UNCONFIRMED, latest, words_about
from learning_memory_server.learning.advice.text import context as context_of
from learning_memory_server.learning.advice.validity import Validity
from learning_memory_server.learning.values.log import ordered
from learning_memory_server.model.caller import folder_of, place_in
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.value import ValueOrder
from learning_memory_server.server.claims import caller_of

commands = Commands()


@commands.command()
def context() -> Result:
    """Show what a new session of this project should know, or nothing if there is nothing.

    These are open entries, values in force and the latest lessons, in at most
    800 bytes, which MCP clients read as the resource `context`.
    """
    settings = open_settings()
    caller = caller_of(os.environ, settings)
    stored = Stored(settings)
    standings = stored.standings(stored.values.current(None, caller.project))
    # No session of a client runs this, so all open entries are of others, and there is none to record advice with.
    still_open = stored.entries.list_orphans(caller)
    lessons = latest(stored.entries, caller.project, stored.answers)
    lessons += stored.shared.allowed(caller.project, stored.answers)
    validity = Validity(stored.advice, stored.entries)
    validity.freshness.look(lessons, caller.project, caller.folder)
    found = context_of(
        still_open,
        ordered(standings, ValueOrder.SUPPORT),
        lessons,
        validity.successors(),
        about=words_about(place_in(folder_of(os.environ)), still_open),
        freshness=lambda entry: validity.words(entry, caller.folder),
    )
    # People have a command instead of the tool.
    text = found.text.replace(" (get_active_ghap)", "")
    text = text if caller.is_told or not text else UNCONFIRMED
    if out.is_for_people():
        out.stdout().file.write(text)
        out.stdout().file.flush()
    if not text:
        out.remark(f"Nothing is known of {one_line(caller.project)} yet. {next_step(stored)}")
    return Result({"project": caller.project, "text": text})
