"""`list`, `failures` and `values`, read from the journal without a lock; `resolve`; and how things are listed."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from learning_memory_server.cli import command, out
from learning_memory_server.cli.access import open_connection
from learning_memory_server.errors import ClientSetupError
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.lessons.values.log import ordered
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.moment import as_seen
from learning_memory_server.model.project import short_name
from learning_memory_server.model.value import Status, ValueOrder
from learning_memory_server.model.vocabulary import Axis, OutcomeStatus, RootCauseCategory
from learning_memory_server.server.claims import caller_of
from learning_memory_server.server.views import entry_views, value_views
from learning_memory_server.server.views.failure_views import repeated_error

View = Mapping[str, Any]
Facts = list[str | Text]

_CLOSED: Final = "Closed by a person."

commands = command.Commands()


@commands.command("list", example="--outcome falsified --project current")
def list_(
    limit: command.LimitOption = 20,
    domain: command.DomainOption = None,
    outcome: command.OutcomeOption = None,
    since: command.SinceOption = None,
    project: command.ProjectOption = None,
) -> command.Result:
    """List resolved GHAP entries, newest first."""
    stored = command.Offline(command.open_settings())
    named, start = command.chosen_project(project, stored), command.chosen_time(since)
    query = EntryQuery(domain=domain, outcome=outcome, project=named, since=start)
    entries = stored.collector.list_resolved(query)
    is_none = not entries and query == EntryQuery()
    nothing = f"No resolved entries yet. {next_step(stored)}" if is_none else "No resolved entries match."
    notes = notes_here(entries[:limit], stored)
    shown = [entry_views.summary(entry) | notes[entry.id] for entry in entries[:limit]]
    lessons = {entry.id: entry.learned for entry in entries[:limit]}

    def record(entry: View) -> out.Record:
        goal, lesson = entry["goal"], lessons[entry["id"]]
        return out.Record(entry_facts(entry), lesson or goal, goal if lesson else "", out.FROM)

    return listed(shown, len(entries), "entry", nothing, record)


def next_step(stored: command.Offline) -> str:
    """Say how to begin; where something is stored, or a client has this server, that agents do the rest."""
    from learning_memory_server.cli.clients import claude_code
    from learning_memory_server.cli.clients.catalog import CLIENTS, this_machine
    from learning_memory_server.cli.clients.change import find_entry

    machine = this_machine()
    try:
        has_begun = (
            bool(stored.projects.all())
            or claude_code.find_installed(machine) is not None
            or any(find_entry(client, machine) is not None for client in CLIENTS.values())
        )
    except ClientSetupError:
        has_begun = False  # A client's file is damaged, which `start` and `doctor` say
    if has_begun:
        return "Agents fill this memory as they work."
    return "To begin, run `learning-memory-server start` in a project's folder."


def notes_here(entries: Sequence[Ghap], stored: command.Offline) -> dict[str, dict[str, str]]:
    """Return the notes about entries that this folder's files justify now."""
    caller = caller_of(os.environ, stored.settings)
    stored.freshness.look(entries, caller.project, caller.folder)
    return stored.entry_notes.of(entries, caller.folder)


@commands.command(example='ghap_20260301_120000_ffffff abandoned "Nobody needs it any more."')
async def resolve(
    name: Annotated[str, typer.Argument(metavar="ID", help="An open entry; `status` lists them.")],
    outcome: Annotated[OutcomeStatus, typer.Argument(metavar="OUTCOME", help="How it ended.")],
    result: Annotated[list[str] | None, typer.Argument(metavar="[RESULT]", help="What happened.")] = None,
    surprise: Annotated[str | None, typer.Option(help="What contradicted the prediction.")] = None,
    category: Annotated[RootCauseCategory | None, typer.Option(help="The kind of root cause.")] = None,
    cause: Annotated[str | None, typer.Option(help="Why the hypothesis was wrong.")] = None,
    takeaway: Annotated[str | None, typer.Option(help="A rule for next time.")] = None,
) -> None:
    """Close an entry that its agent left open, as `resolve_ghap` does for agents.

    A falsified one needs --surprise, --category and --cause.
    """
    given: dict[str, object] = {
        "status": outcome.value,
        "result": " ".join(result or ()) or _CLOSED,
        "surprise": surprise,
    }
    about = {"category": category, "description": cause}
    given |= {"root_cause": {name: part for name, part in about.items() if part}} if category or cause else {}
    given |= {"lesson": {"takeaway": takeaway}} if takeaway else {}
    async with open_connection(command.open_settings(), "resolve") as connection:
        reply = await connection.call("resolve_ghap", ghap_id=name, **given)
    out.say(f"{reply['id']} is {reply['status']}.")


@commands.command(example="ghap_20260301_120000_ffffff")
async def split(
    name: Annotated[str, typer.Argument(metavar="ID", help="An entry; `show` says what it is the same as.")],
) -> None:
    """Take back what an agent said: that an entry is the same as an earlier one.

    Both stay, each for itself.
    """
    async with open_connection(command.open_settings(), "split") as connection:
        reply = await connection.run("split", name=name)
    out.say(f"{reply['id']} stands for itself. Its agent had called it the same as {reply['same_as']}.")


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


def listed(
    results: Sequence[View], total: int, noun: str, nothing: str, record: Callable[[View], out.Record]
) -> command.Result:
    """Show the first of all results, or the sentence that says that there is nothing."""
    out.records(map(record, results))
    if not results:
        out.say(nothing)
    elif total > len(results):
        out.say(f"{len(results)} of {out.counted(total, noun)}; --limit shows more.")
    return command.Result({"results": results, "count": len(results), "total": total})


def entry_facts(entry: View) -> Facts:
    """Return the facts of a resolved entry, from a view of it, down to what became of its files."""
    outcome, tier = entry["outcome_status"], entry["confidence_tier"]
    return [
        out.identity(entry["id"]),
        out.date(entry.get("resolved_at") or entry["created_at"]),
        out.coloured(outcome),
        # An abandoned entry's tier says nothing more.
        "" if tier == outcome else out.coloured(tier),
        entry.get("domain", ""),
        "afterwards" if "afterwards" in entry else "",
        short_name(entry["project"]),
        entry.get("freshness", ""),
        f"superseded by {entry['superseded_by']}" if "superseded_by" in entry else "",
    ]


def entry_record(experience: View) -> out.Record:
    """Return the record of an experience, with its lesson."""
    learned = (experience.get("lesson") or {}).get("takeaway") or (experience.get("root_cause") or {}).get(
        "description"
    )
    # A journal that somebody made by hand may have a goal that fits into no reply.
    return out.Record(entry_facts(experience), experience.get("goal", ""), learned or "")


def error_record(error: View) -> out.Record:
    """Return the record of an error."""
    facts: Facts = [
        out.counted(error["times"], "time"),
        out.counted(error["sessions"], "session"),
        out.date(error["last_seen"]),
        short_name(error["project"]),
    ]
    return out.Record(facts, f"`{error['command']}`: {error['line']}", worked_next(error))


def worked_next(error: View) -> str:
    """Say which command worked next after an error; nothing if none did."""
    if "followed" not in error:
        return ""
    share = f"in {error['followed_in']}/{error['sessions']} sessions"
    return f"`{error['followed']}` worked next {share}; the error stayed away in {error['stayed_away']}"


def error_with_id(error: View) -> out.Record:
    """Return the record of an error that is kept."""
    record = error_record(error)
    return record._replace(facts=[out.identity(error["id"]), *record.facts])


_COLOURS: Final = {Status.SUPPORTED: "green", Status.CONTESTED: "red", Status.UNATTESTED: "yellow"}


@commands.command(example="--sort newest")
def values(
    axis: Annotated[Axis | None, typer.Option("--axis", help="Only values of this axis.")] = None,
    sort: Annotated[ValueOrder, typer.Option("--sort", help="Which come first.")] = ValueOrder.SUPPORT,
    superseded: Annotated[
        bool, typer.Option("--superseded", help="Include values that a newer one superseded.")
    ] = False,
) -> command.Result:
    """List values, the principles learned from clusters, and the verdicts on each.

    +6 -2 says that six entries support a value, and two contradict it.
    Agents judge values by entries. A contested value has at least as many
    entries against it as for it. An unattested one has none.
    """
    stored = command.Offline(command.open_settings())
    standings = stored.standings(stored.value_log.current(axis, superseded=superseded))
    results = [value_views.value(standing) for standing in ordered(standings, sort)]
    out.records(map(value_record, results))
    if not results:
        where = "" if axis is None else f" on axis {axis}"
        out.say(
            f"No values{where} yet. Agents draw them from clusters, in a retrospective; `clusters full` shows what keeps "
            "recurring."
        )
    return command.Result({"results": results, "count": len(results)})


def value_record(value: View) -> out.Record:
    """Return the record of a value."""
    support = value["support"]
    facts: Facts = [
        out.identity(value["id"]),
        value["cluster_id"],
        status_of(value),
        f"+{support['supporting']} -{support['contradicting']}",
        out.date(value["created_at"]),
    ]
    return out.Record(facts, value["text"])


def status_of(value: View) -> Text:
    """Return whether a value is supported, contested, unattested or superseded."""
    if "superseded_by" in value:
        return Text("superseded", "bright_black")
    return Text(value["standing"], _COLOURS[Status(value["standing"])])
