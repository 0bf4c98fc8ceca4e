"""`list` and `values`: tables straight from the journal, beside a server or without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from learning_memory_server.cli.access import chosen_project, chosen_time, open_settings, read_entries
from learning_memory_server.cli.terminal import coloured, counted, day, output, show_table
from learning_memory_server.journal.journal import Journal
from learning_memory_server.observation.collector import EntryQuery
from learning_memory_server.values.store import ValueLog

if TYPE_CHECKING:
    from learning_memory_server.domain.vocabulary import Axis, Domain, OutcomeStatus


def list_entries(
    limit: int,
    *,
    domain: Domain | None,
    outcome: OutcomeStatus | None,
    since: str | None,
    project: str | None,
) -> None:
    """Print resolved entries, newest first."""
    settings = open_settings()
    query = EntryQuery(
        domain=domain,
        outcome=outcome,
        project=chosen_project(project, settings),
        since=chosen_time(since),
    )
    entries = read_entries(settings).list_resolved(query)
    if not entries:
        output().print("No resolved entries match." if query != EntryQuery() else "No resolved entries yet.")
        return
    show_table(
        ["resolved", "id", "domain", "outcome", "tier", "goal"],
        [
            [
                day(entry.outcome.resolved_at),
                entry.id,
                entry.domain.value,
                coloured(entry.outcome.status.value),
                coloured(entry.tier.value),
                entry.goal,
            ]
            for entry in entries[:limit]
        ],
    )
    if len(entries) > limit:
        output().print(f"{limit} of {counted(len(entries), 'entry')}; --limit shows more.")


def list_values(axis: Axis | None) -> None:
    """Print values, those of the largest clusters first, then the newest."""
    settings = open_settings()
    chosen = ValueLog(Journal(settings.journal_directory).values).listed(axis)
    if not chosen:
        output().print("No values yet." if axis is None else f"No values on axis {axis} yet.")
        return
    show_table(
        ["created", "cluster", "experiences", "similarity", "value"],
        [
            [
                day(value.created_at),
                str(value.cluster_id),
                len(value.evidence.member_ids),
                f"{value.evidence.similarity:.2f}",
                value.text,
            ]
            for value in chosen
        ],
        numbers=["experiences", "similarity"],
    )
