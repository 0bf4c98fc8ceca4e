"""`list`, read from the journal without a lock; and the format of lists."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich.text import Text

from learning_memory_server.cli import command, out
from learning_memory_server.errors import ClientSetupError
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.project import name_among
from learning_memory_server.server.claims import caller_of
from learning_memory_server.server.views import entry_views

View = Mapping[str, Any]
Facts = list[str | Text]

commands = command.Commands()


@commands.command("list", example="--outcome falsified --project current")
def list_(
    limit: command.LimitOption = 20,
    domain: command.DomainOption = None,
    outcome: command.OutcomeOption = None,
    since: command.SinceOption = None,
    project: command.ProjectOption = None,
) -> command.Result:
    """List what agents learned, newest first: GHAP entries, each a guess and what happened."""
    stored = command.Offline(command.open_settings())
    named, start = command.chosen_project(project, stored), command.chosen_time(since)
    query = EntryQuery(domain=domain, outcome=outcome, project=named, since=start)
    entries = stored.collector.list_resolved(query)
    is_none = not entries and query == EntryQuery()
    nothing = f"No resolved entries yet. {next_step(stored)}" if is_none else "No resolved entries match."
    if is_none and stored.failure_log.errors():
        nothing += " `learning-memory-server failures` lists errors of commands."
    notes = notes_here(entries[:limit], stored)
    shown = [entry_views.summary(entry) | notes[entry.id] for entry in entries[:limit]]
    projects = stored.collector.timeline.projects()
    lessons = {entry.id: entry.learned for entry in entries[:limit]}

    def record(entry: View) -> out.Record:
        goal, lesson = entry["goal"], lessons[entry["id"]]
        return out.Record(entry_facts(entry, projects), lesson or goal, goal if lesson else "", out.FROM)

    return listed(shown, len(entries), "entry", nothing, record)


def next_step(stored: command.Offline) -> str:
    """Return a sentence about the user's first step or, once this server is set up, about the next step of agents."""
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
        has_begun = False  # A client's file is damaged, which `start` and `doctor` report
    if has_begun:
        return "Agents fill this memory as they work."
    return "To begin, run `learning-memory-server start` in a project's folder."


def notes_here(entries: Sequence[Ghap], stored: command.Offline) -> dict[str, dict[str, str]]:
    """Return the current notes about entries, given this folder's files."""
    caller = caller_of(os.environ, stored.settings)
    stored.freshness.look(entries, caller.project, caller.folder)
    return stored.entry_notes.of(entries, caller.folder)


def listed(
    results: Sequence[View], total: int, noun: str, nothing: str, record: Callable[[View], out.Record]
) -> command.Result:
    """Print the first results, or the sentence `nothing` if there are none."""
    out.records(map(record, results))
    if not results:
        out.say(nothing)
    elif total > len(results):
        out.say(f"{len(results)} of {out.counted(total, noun)}; --limit shows more.")
    return command.Result({"results": results, "count": len(results), "total": total})


def entry_facts(entry: View, projects: Iterable[str] = ()) -> Facts:
    """Return the facts of a resolved entry from its view, including the state of its files.

    `projects` are names from which the entry's project must be distinguishable.
    """
    outcome, tier = entry["outcome_status"], entry["confidence_tier"]
    return [
        out.identity(entry["id"]),
        out.date(entry.get("resolved_at") or entry["created_at"]),
        out.coloured(outcome),
        # The tier of an abandoned entry adds no information.
        "" if tier == outcome else out.coloured(tier),
        entry.get("domain", ""),
        "afterwards" if "afterwards" in entry else "",
        name_among(entry["project"], projects),
        entry.get("freshness", ""),
        f"superseded by {entry['superseded_by']}" if "superseded_by" in entry else "",
    ]


def entry_record(experience: View) -> out.Record:
    """Format an experience as a record with its lesson."""
    learned = (experience.get("lesson") or {}).get("takeaway") or (experience.get("root_cause") or {}).get(
        "description"
    )
    # A journal edited by hand may contain a goal that is too long for a reply.
    return out.Record(entry_facts(experience), experience.get("goal", ""), learned or "")
