"""`failures`: errors of commands, and the commands that worked next."""

from learning_memory_server.cli import command, out
from learning_memory_server.cli.listing import Facts, View, listed
from learning_memory_server.lessons.errors.figures import plain_command
from learning_memory_server.model.moment import as_seen
from learning_memory_server.model.project import short_name
from learning_memory_server.server.views.failure_views import repeated_error

commands = command.Commands()


@commands.command(example="--project current")
def failures(limit: command.LimitOption = 20, project: command.ProjectOption = None) -> command.Result:
    """List errors of commands, the last seen first, and what worked next.

    Failures of a project with the same line of output are one error; names,
    paths and numbers do not count. Shows the command that worked next most
    often, in how many sessions it did, and after how many the error stayed
    away. Agents see no figures. `forget` takes the id of an error.
    """
    stored = command.Offline(command.open_settings())
    wanted = command.chosen_project(project, stored)
    found = stored.failure_log.errors(wanted)
    found.sort(key=lambda known: (as_seen(known[-1].created_at), known[-1].id), reverse=True)
    shown = [repeated_error(known) for known in found[:limit]]
    where = "" if wanted is None else " in this project"
    nothing = f"No failures{where} yet. `learning-memory-server learn-from` finds those of Claude Code's past sessions."
    return listed(shown, len(found), "error", nothing, error_with_id)


def error_record(error: View) -> out.Record:
    """Format an error as a record."""
    facts: Facts = [
        out.counted(error["times"], "time"),
        out.counted(error["sessions"], "session"),
        out.date(error["last_seen"]),
        short_name(error["project"]),
    ]
    return out.Record(facts, f"`{error['command']}`: {error['line']}", worked_next(error))


def worked_next(error: View) -> str:
    """Return a sentence about the command that worked next after an error; empty if there is none."""
    if "followed" not in error:
        return ""
    share = f"in {error['followed_in']} of {out.counted(error['sessions'], 'session')}"
    is_same = plain_command(error["followed"]) == plain_command(error["command"])
    what = "the same command then worked" if is_same else f"`{error['followed']}` worked next"
    return f"{what} {share}; the error stayed away in {error['stayed_away']}"


def error_with_id(error: View) -> out.Record:
    """Format a stored error as a record with its id."""
    record = error_record(error)
    return record._replace(facts=[out.identity(error["id"]), *record.facts])
