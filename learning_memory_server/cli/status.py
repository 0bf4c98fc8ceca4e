"""`status`: what is stored, where, and which process is using it. Takes no lock, and changes nothing on a server."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from learning_memory_server.cli.access.connection import running_hub
from learning_memory_server.cli.access.describing import describe_engine, describe_hub, in_use_by
from learning_memory_server.cli.access.reading import holder_of, open_settings, read_entries
from learning_memory_server.cli.hub import hub_facts
from learning_memory_server.cli.terminal import (
    COLOURS,
    counted,
    date_and_time,
    readable_size,
    show_facts,
    show_json,
)
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.journal.failures import FailureLog
from learning_memory_server.journal.journal import Journal
from learning_memory_server.learning.values.log import ValueLog
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.vocabulary import OutcomeStatus, Tier
from learning_memory_server.server.views import entry_views

if TYPE_CHECKING:
    from learning_memory_server.model.entry import Ghap
    from learning_memory_server.server.settings import Settings


@dataclass(frozen=True, slots=True)
class _Stored:
    """What the journal has: entries that were resolved and that are open, lines that cannot be read, and counts."""

    journal: Journal
    resolved: Sequence[Ghap]
    open: Sequence[Ghap]
    damaged: int
    values: int
    memories: int
    failures: int

    def by_tier(self) -> dict[str, int]:
        found = Counter(entry.tier.value for entry in self.resolved)
        return {tier.value: found[tier.value] for tier in Tier}

    def by_outcome(self) -> dict[str, int]:
        found = Counter(entry.outcome.status.value for entry in self.resolved)
        return {status.value: found[status.value] for status in OutcomeStatus}

    def by_project(self) -> dict[str, int]:
        return dict(Counter(entry.project for entry in self.resolved).most_common())


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
    stored = _Stored(
        journal,
        read_entries(settings).list_resolved(),
        journal.open_entries(),
        len(journal.damage()),
        len(ValueLog(journal.values).all()),
        len({record.id for record in journal.memories.read().records}),
        len(FailureLog(journal.failures).all()),
    )
    if as_json:
        show_json(_document(settings, stored))
    else:
        show_facts(_facts(settings, stored))


def _document(settings: Settings, stored: _Stored) -> dict[str, Any]:
    journal = stored.journal
    return {
        "journal": {"path": str(journal.path), "bytes": journal.size(), "damaged_lines": stored.damaged},
        "index": describe_engine(settings),
        "server": _server(settings),
        "locked_by": _facts_of_holder(settings),
        "hub": _facts_of_hub(),
        "entries": {
            "resolved": len(stored.resolved),
            "open": len(stored.open),
            "by_tier": stored.by_tier(),
            "by_outcome": stored.by_outcome(),
            "by_project": stored.by_project(),
        },
        "open": [entry_views.entry_key(entry) for entry in reversed(stored.open)],
        "values": stored.values,
        "memories": stored.memories,
        "failures": stored.failures,
    }


def _facts(settings: Settings, stored: _Stored) -> list[tuple[str, str | Text]]:
    facts: list[tuple[str, str | Text]] = [
        ("journal", f"{stored.journal.path} ({readable_size(stored.journal.size())})"),
        ("index", describe_engine(settings)),
        *([("server", _describe_server(server))] if (server := _server(settings)) else []),
        ("in use by", _describe_holder(settings)),
        ("hub", _describe_hub()),
        ("entries", f"{len(stored.resolved):,} resolved"),
    ]
    if stored.resolved:
        facts += [
            ("  tiers", _counts(stored.by_tier())),
            ("  outcomes", _counts(stored.by_outcome())),
            ("  projects", _counts(stored.by_project())),
        ]
    facts.append(("open", counted(len(stored.open), "entry")))
    facts += [
        ("", f"{date_and_time(entry.created_at)}  {entry.id}  {one_line(entry.goal)}")
        for entry in reversed(stored.open)
    ]
    lines = counted(stored.damaged, "line")
    damage = Text(f"{lines} cannot be read; run `learning-memory-server doctor` to see which", "red")
    return [
        *facts,
        ("values", f"{stored.values:,}"),
        ("memories", f"{stored.memories:,}"),
        ("failures", counted(stored.failures, "command")),
        ("damage", damage if stored.damaged else "none"),
    ]


def _server(settings: Settings) -> dict[str, Any] | None:
    """Return what a Qdrant server is, or why that is not known; None for the embedded engine."""
    if settings.qdrant_url is None:
        return None
    from learning_memory_server.server.composition.backends import server_version  # noqa: PLC0415 - a second to import

    try:
        return asyncio.run(server_version(settings, settings.qdrant_url))
    except LearningMemoryError as error:
        return {"error": error.message}


def _describe_server(server: Mapping[str, Any]) -> str | Text:
    if "error" in server:
        return Text(server["error"], "red")
    from learning_memory_server.index.engines.qdrant_requests import product  # noqa: PLC0415 - only with a server

    return product(server["version"])


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


def _counts(counts: Mapping[str, int]) -> Text:
    parts = [
        Text.assemble((one_line(name), COLOURS.get(name, "")), f" {count:,}")
        for name, count in counts.items()
    ]
    return Text(", ").join(parts)
