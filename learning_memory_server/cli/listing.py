"""`list`: resolved entries, read from the journal without a lock."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from learning_memory_server.cli.access.reading import open_settings, read_entries
from learning_memory_server.cli.options import chosen_project, chosen_time
from learning_memory_server.cli.terminal import (
    coloured,
    counted,
    date,
    identity,
    output,
    short_project,
    show_json,
    show_records,
)
from learning_memory_server.index.entry_query import EntryQuery
from learning_memory_server.server.views import entry_views

if TYPE_CHECKING:
    from rich.text import Text

    from learning_memory_server.model.vocabulary import Domain, OutcomeStatus


def list_entries(  # noqa: PLR0913 - one for each option
    limit: int,
    *,
    domain: Domain | None,
    outcome: OutcomeStatus | None,
    since: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Print resolved entries, newest first.

    Args:
        limit: How many.
        domain: Only this kind of task.
        outcome: Only this outcome.
        since: The value of `--since`.
        project: The value of `--project`.
        as_json: Print an `EntryDocument`.

    Raises:
        InvalidInputError: If `since` is not a date.
        JournalUnavailableError: If the journal cannot be read.
    """
    settings = open_settings()
    query = EntryQuery(
        domain=domain,
        outcome=outcome,
        project=chosen_project(project, settings),
        since=chosen_time(since),
    )
    entries = read_entries(settings).list_resolved(query)
    shown = entries[:limit]
    if as_json:
        results = [entry_views.summary(entry) for entry in shown]
        show_json({"results": results, "count": len(results), "total": len(entries)})
        return
    if not entries:
        output().print("No resolved entries match." if query != EntryQuery() else "No resolved entries yet.")
        return
    show_records((entry_facts(entry_views.summary(entry)), entry.goal) for entry in shown)
    if len(entries) > limit:
        output().print(f"{limit} of {counted(len(entries), 'entry')}; --limit shows more.")


def entry_facts(entry: Mapping[str, Any]) -> list[str | Text]:
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
