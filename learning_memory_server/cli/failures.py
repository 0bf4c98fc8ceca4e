"""`failures`: the errors of commands, read from the journal without a lock."""

from datetime import datetime

from learning_memory_server.cli.access.reading import open_settings
from learning_memory_server.cli.command import Commands, Result
from learning_memory_server.cli.listing import Facts, Record, View, listed
from learning_memory_server.cli.options import LimitOption, ProjectOption, chosen_project, folders_here
from learning_memory_server.cli.terminal import counted, date, identity, short_project
from learning_memory_server.journal.failures import FailureLog
from learning_memory_server.journal.journal import Journal
from learning_memory_server.server.views.failure_views import repeated_error

commands = Commands()


@commands.command()
def failures(limit: LimitOption = 20, project: ProjectOption = None) -> Result:
    """List errors of commands, the last seen first, and what mended them.

    An error is what failing commands of a project have in common: the line that
    names it, without names, paths and numbers. What worked is a similar command
    that succeeded soon after. It is left out while remedies disagree, or if it
    was shown and did not help. `forget` takes the id of an error.
    """
    settings = open_settings()
    wanted = chosen_project(project, settings)
    found = [
        known
        for known in FailureLog(Journal(settings.journal_directory).failures).errors()
        if wanted is None or known[-1].project == wanted
    ]
    found.sort(key=lambda known: (known[-1].created_at, known[-1].id), reverse=True)
    here = folders_here(settings) if found else {}
    shown = [repeated_error(known, here.get(known[-1].project)) for known in found[:limit]]
    nothing = "No failures yet." if wanted is None else "No failures in this project yet."
    return listed(shown, len(found), "error", nothing, _record)


def _record(error: View) -> Record:
    facts: Facts = [
        identity(error["id"]),
        counted(error["times"], "time"),
        date(datetime.fromisoformat(error["last_seen"])),
        short_project(error["project"]),
    ]
    remedy = f"; this worked: {error['remedy']}" if "remedy" in error else ""
    return facts, f"{error['signature']}{remedy}"
