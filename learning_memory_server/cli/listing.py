"""`list` and `values`: tables that need no lock, beside a server or without one."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.text import Text

from learning_memory_server.cli.access import chosen_project, chosen_time, open_settings, read_entries
from learning_memory_server.cli.connection import connection_to_hub
from learning_memory_server.cli.terminal import coloured, counted, day, output, show_notice, show_table
from learning_memory_server.domain.limits import LISTING_MAX
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.journal.journal import Journal
from learning_memory_server.observation.query import EntryQuery
from learning_memory_server.server.tools import value_views
from learning_memory_server.values.log import ValueLog
from learning_memory_server.values.standing import ordered, weigh_all
from learning_memory_server.values.witness_log import WitnessLog

if TYPE_CHECKING:
    from learning_memory_server.domain.value import ValueOrder
    from learning_memory_server.domain.vocabulary import Axis, Domain, OutcomeStatus
    from learning_memory_server.server.config import Settings


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


async def list_values(axis: Axis | None, order: ValueOrder, *, superseded: bool) -> None:
    """Print values with what speaks for and against them, as the hub that runs says, else as the journal does.

    A hub judges the experiences that it can when it is asked; the journal knows what was judged before.
    """
    settings = open_settings()
    try:
        reply = await _values_of_hub(settings, axis, order, superseded=superseded)
    except LearningMemoryError as error:
        show_notice(f"{error.sentence} These figures are those of the journal.")
        reply = None
    reply = reply or _values_of_journal(settings, axis, order, superseded=superseded)
    if not reply["results"]:
        output().print("No values yet." if axis is None else f"No values on axis {axis} yet.")
        return
    show_table(
        ["created", "cluster", "experiences", "strength", "for", "against", "standing", "value"],
        [
            [
                day(datetime.fromisoformat(value["created_at"])),
                value["cluster_id"],
                value["cluster_size"],
                f"{value['support']['strength']:.2f}",
                value["support"]["supporting"],
                value["support"]["contradicting"],
                _mark(value),
                value["text"],
            ]
            for value in reply["results"]
        ],
        numbers=["experiences", "strength", "for", "against"],
    )
    if unjudged := reply.get("unjudged"):
        verb, pronoun = ("is", "it") if unjudged == 1 else ("are", "they")
        output().print(
            f"{counted(unjudged, 'experience')} {verb} not judged yet: {pronoun} will count once a hub whose model is "
            "ready is asked for values."
        )


async def _values_of_hub(
    settings: Settings, axis: Axis | None, order: ValueOrder, *, superseded: bool
) -> dict[str, Any] | None:
    connection = connection_to_hub(settings)
    if connection is None:
        return None
    return await connection.call_for_all(
        "list_values", "results", axis=axis, sort=order, include_superseded=superseded, limit=LISTING_MAX
    )


def _values_of_journal(
    settings: Settings, axis: Axis | None, order: ValueOrder, *, superseded: bool
) -> dict[str, Any]:
    """Return what the tool would reply, without its notes; nothing is judged."""
    journal = Journal(settings.journal_directory)
    log, witnesses, entries = ValueLog(journal.values), WitnessLog(journal.evidence), read_entries(settings)
    chosen = log.standing(axis, superseded=superseded)
    standings = ordered(weigh_all(chosen, log, witnesses.of_values(), entries), order)
    return {
        "results": [value_views.value(standing) for standing in standings],
        "unjudged": witnesses.count_unjudged(chosen, log.all(), entries),
    }


def _mark(value: dict[str, Any]) -> Text:
    """Return what a reader should know before trusting a value."""
    if "superseded_by" in value:
        return Text("superseded", "bright_black")
    return Text("contested", "red") if value["support"]["contested"] else Text("stands")
