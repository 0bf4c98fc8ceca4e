"""`list` and `values`: tables straight from the journal, beside a server or without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from learning_memory_server.cli.access import chosen_project, chosen_time, open_settings, read_entries
from learning_memory_server.cli.terminal import coloured, counted, day, output, show_table
from learning_memory_server.journal.journal import Journal
from learning_memory_server.observation.query import EntryQuery
from learning_memory_server.values.log import ValueLog
from learning_memory_server.values.standing import ordered, weigh_all
from learning_memory_server.values.witnesses import WitnessLog

if TYPE_CHECKING:
    from learning_memory_server.domain.value import ValueOrder
    from learning_memory_server.domain.vocabulary import Axis, Domain, OutcomeStatus
    from learning_memory_server.values.standing import Standing


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


def list_values(axis: Axis | None, order: ValueOrder, *, superseded: bool) -> None:
    """Print values with what speaks for and against them.

    Only what the server has judged already is counted; it judges whenever somebody asks it for values.
    """
    settings = open_settings()
    journal = Journal(settings.journal_directory)
    log = ValueLog(journal.values)
    chosen = log.standing(axis, superseded=superseded)
    if not chosen:
        output().print("No values yet." if axis is None else f"No values on axis {axis} yet.")
        return
    witnesses = WitnessLog(journal.evidence).of_values()
    shown = ordered(weigh_all(chosen, log, witnesses, read_entries(settings)), order)
    show_table(
        ["created", "cluster", "experiences", "strength", "for", "against", "standing", "value"],
        [
            [
                day(standing.value.created_at),
                str(standing.value.cluster_id),
                len(standing.value.evidence.member_ids),
                f"{standing.support.strength:.2f}",
                standing.support.supporting,
                standing.support.contradicting,
                _mark(standing),
                standing.value.text,
            ]
            for standing in shown
        ],
        numbers=["experiences", "strength", "for", "against"],
    )


def _mark(standing: Standing) -> Text:
    """Return what a reader should know before trusting a value."""
    if standing.superseded_by:
        return Text("superseded", "bright_black")
    return Text("contested", "red") if standing.support.is_contested else Text("stands")
