"""`status`: what is stored, where, and which process is using it. Takes no lock."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.text import Text

from learning_memory_server.access.connection import running_hub
from learning_memory_server.access.describing import describe_engine, describe_hub, in_use_by
from learning_memory_server.access.reading import holder_of, open_settings, read_entries
from learning_memory_server.cli.hub import hub_facts
from learning_memory_server.domain.lines import one_line
from learning_memory_server.domain.vocabulary import OutcomeStatus, Tier
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.failures.log import FailureLog
from learning_memory_server.journal.journal import Journal
from learning_memory_server.terminal import (
    COLOURS,
    counted,
    date_and_time,
    readable_size,
    show_facts,
    show_json,
)
from learning_memory_server.values.log import ValueLog
from learning_memory_server.views import entry_views

if TYPE_CHECKING:
    from collections.abc import Iterable

    from learning_memory_server.settings import Settings


def show_status(*, as_json: bool) -> None:
    """Print counts, locations, and the state of the hub.

    Args:
        as_json: Print a `StatusDocument`.

    Raises:
        InvalidSettingsError: If a setting is malformed.
        JournalUnavailableError: If the journal cannot be read at all.
    """
    settings = open_settings()
    journal = Journal(settings.journal_directory)
    entries = read_entries(settings).list_resolved()
    open_entries = journal.open_entries()
    damage = journal.damage()
    tiers = Counter(entry.tier.value for entry in entries)
    outcomes = Counter(entry.outcome.status.value for entry in entries)
    projects = Counter(entry.project for entry in entries)
    values = len(ValueLog(journal.values).all())
    memories = len({record.id for record in journal.memories.read().records})
    failures = len(FailureLog(journal.failures).all())
    if as_json:
        show_json(
            {
                "journal": {"path": str(journal.path), "bytes": journal.size(), "damaged_lines": len(damage)},
                "index": describe_engine(settings),
                "locked_by": _facts_of_holder(settings),
                "hub": _facts_of_hub(),
                "entries": {
                    "resolved": len(entries),
                    "open": len(open_entries),
                    "by_tier": {tier.value: tiers[tier.value] for tier in Tier},
                    "by_outcome": {status.value: outcomes[status.value] for status in OutcomeStatus},
                    "by_project": dict(projects.most_common()),
                },
                "open": [entry_views.entry_key(entry) for entry in reversed(open_entries)],
                "values": values,
                "memories": memories,
                "failures": failures,
            }
        )
        return
    facts: list[tuple[str, str | Text]] = [
        ("journal", f"{journal.path} ({readable_size(journal.size())})"),
        ("index", describe_engine(settings)),
        ("in use by", _describe_holder(settings)),
        ("hub", _describe_hub()),
        ("entries", f"{len(entries):,} resolved"),
    ]
    if entries:
        facts += [
            ("  tiers", _counts((tier.value, tiers[tier.value]) for tier in Tier)),
            ("  outcomes", _counts((status.value, outcomes[status.value]) for status in OutcomeStatus)),
            ("  projects", _counts(projects.most_common())),
        ]
    facts.append(("open", counted(len(open_entries), "entry")))
    facts += [
        ("", f"{date_and_time(entry.created_at)}  {entry.id}  {one_line(entry.goal)}")
        for entry in reversed(open_entries)
    ]
    facts += [
        ("values", f"{values:,}"),
        ("memories", f"{memories:,}"),
        ("failures", counted(failures, "command")),
        (
            "damage",
            Text(
                f"{counted(len(damage), 'line')} cannot be read; run `learning-memory-server doctor` to see which",
                "red",
            )
            if damage
            else "none",
        ),
    ]
    show_facts(facts)


def _describe_holder(settings: Settings) -> str | Text:
    try:
        return in_use_by(holder_of(settings))
    except LearningMemoryError as error:
        return Text(error.message, "red")


def _facts_of_holder(settings: Settings) -> dict[str, Any] | None:
    try:
        return holder_of(settings)
    except LearningMemoryError as error:
        return {"error": error.message}


def _facts_of_hub() -> dict[str, Any] | None:
    try:
        hub = running_hub()
        return None if hub is None else hub_facts(hub)
    except LearningMemoryError as error:
        return {"error": error.message}


def _describe_hub() -> str | Text:
    try:
        hub = running_hub()
        return "none is running" if hub is None else describe_hub(hub.control("status"))
    except LearningMemoryError as error:
        return Text(error.message, "red")


def _counts(pairs: Iterable[tuple[str, int]]) -> Text:
    parts = [Text.assemble((one_line(name), COLOURS.get(name, "")), f" {count:,}") for name, count in pairs]
    return Text(", ").join(parts)
