"""`list`, and what commands that list things have in common."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.text import Text

from learning_memory_server.cli.access.reading import open_settings, read_entries
from learning_memory_server.cli.command import Commands, Result
from learning_memory_server.cli.options import (
    DomainOption,
    LimitOption,
    OutcomeOption,
    ProjectOption,
    SinceOption,
    chosen_project,
    chosen_time,
)
from learning_memory_server.cli.terminal import (
    coloured,
    counted,
    date,
    identity,
    output,
    short_project,
    show_records,
)
from learning_memory_server.index.entry_query import EntryQuery
from learning_memory_server.server.views import entry_views

View = Mapping[str, Any]
Facts = list[str | Text]
Record = tuple[Facts, str]

commands = Commands()


@commands.command("list")
def list_(
    limit: LimitOption = 20,
    domain: DomainOption = None,
    outcome: OutcomeOption = None,
    since: SinceOption = None,
    project: ProjectOption = None,
) -> Result:
    """List resolved GHAP entries, newest first."""
    settings = open_settings()
    query = EntryQuery(
        domain=domain,
        outcome=outcome,
        project=chosen_project(project, settings),
        since=chosen_time(since),
    )
    entries = read_entries(settings).list_resolved(query)
    nothing = "No resolved entries match." if query != EntryQuery() else "No resolved entries yet."
    shown = [entry_views.summary(entry) for entry in entries[:limit]]
    return listed(shown, len(entries), "entry", nothing, lambda entry: (entry_facts(entry), entry["goal"]))


def listed(
    results: Sequence[View], total: int, noun: str, nothing: str, record: Callable[[View], Record]
) -> Result:
    """Return the first of all results, with the sentence that is shown if there is nothing."""

    def show() -> None:
        if not results:
            output().print(nothing)
            return
        show_records(map(record, results))
        if total > len(results):
            output().print(f"{len(results)} of {counted(total, noun)}; --limit shows more.")

    return Result({"results": results, "count": len(results), "total": total}, show)


def entry_facts(entry: View) -> Facts:
    """Return the facts of a resolved entry, from a view of it: id, day, outcome, tier, domain and project."""
    outcome, tier = entry["outcome_status"], entry["confidence_tier"]
    moment = datetime.fromisoformat(entry.get("resolved_at") or entry["created_at"])
    return [
        identity(entry["id"]),
        date(moment),
        coloured(outcome),
        # An abandoned entry's tier says nothing more.
        "" if tier == outcome else coloured(tier),
        entry["domain"],
        short_project(entry["project"]),
    ]
