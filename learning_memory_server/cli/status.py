"""`status`: what is kept, where, and who is using it. Reading only."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from rich.text import Text

from learning_memory_server.cli.access import holder_of, open_settings, read_entries
from learning_memory_server.cli.connection import running_hub
from learning_memory_server.cli.terminal import (
    COLOURS,
    counted,
    day,
    megabytes,
    one_line,
    show_facts,
)
from learning_memory_server.domain.vocabulary import OutcomeStatus, Tier
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.journal.files import disk_use
from learning_memory_server.journal.journal import Journal
from learning_memory_server.values.log import ValueLog

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from learning_memory_server.server.config import Settings

_MINUTE: Final = 60


def show_status() -> None:
    """Print what there is.

    Raises:
        LearningMemoryError: If the settings are wrong, or the journal cannot be read at all.
    """
    settings = open_settings()
    journal = Journal(settings.journal_directory)
    entries = read_entries(settings).list_resolved()
    open_entries = journal.open_entries()
    damage = journal.damage()
    tiers = Counter(entry.tier.value for entry in entries)
    outcomes = Counter(entry.outcome.status.value for entry in entries)
    projects = Counter(entry.project for entry in entries)
    facts: list[tuple[str, str | Text]] = [
        ("journal", f"{journal.path} ({megabytes(journal.size())})"),
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
        ("", f"{day(entry.created_at)}  {entry.id}  {one_line(entry.goal)}")
        for entry in reversed(open_entries)
    ]
    facts += [
        ("values", f"{len(ValueLog(journal.values).all()):,}"),
        ("memories", f"{len({record.id for record in journal.memories.read().records}):,}"),
        (
            "damage",
            Text(
                f"{counted(len(damage), 'line')} cannot be read; `learning-memory-server doctor` shows which",
                "red",
            )
            if damage
            else "none",
        ),
    ]
    show_facts(facts)


def describe_engine(settings: Settings) -> str:
    """Say which engine keeps the index, where, and how large it is."""
    if settings.qdrant_url is not None:
        # A URL may carry a password before its host.
        address = urlsplit(settings.qdrant_url)
        return f"Qdrant at {address.scheme}://{address.netloc.rpartition('@')[2]}"
    folder = settings.index_directory
    return f"embedded Qdrant in {folder} ({megabytes(disk_use(folder))})"


def in_use_by(who: Mapping[str, object] | None) -> str:
    """Say which process holds the data, if one does; see `holder_of`."""
    if who is None:
        return "nobody"
    return f"{who.get('purpose', 'another process')}, process {who.get('pid', 'unknown')}"


def in_the_way(who: Mapping[str, object]) -> str:
    """Say what it means for sessions that a process holds the data that is no hub."""
    return f"No hub runs, and no session can start until {in_use_by(who)}, has ended: it holds the data, and is no hub."


def describe_hub(status: dict[str, Any]) -> str:
    """Say in a line what a hub is and does."""
    return (
        f"process {status['pid']}, version {status['version']}, "
        f"up {describe_seconds(status['uptime_seconds'])}, {counted(status['sessions'], 'session')}, "
        f"model {describe_model(status)}, {describe_pending(status)} pending"
    )


def describe_pending(status: dict[str, Any]) -> str:
    """Say how much a hub has still to index, if it knows."""
    return "an unknown number of points" if status["pending"] is None else counted(status["pending"], "point")


def describe_model(status: dict[str, Any]) -> str:
    """Say where a hub's model is in its life, and what computes its vectors."""
    return f"{status['model']} ({status['runtime']})" if status["runtime"] else str(status["model"])


def describe_seconds(seconds: float) -> str:
    """Return a duration as people read it, such as `2:05:09`."""
    return f"{seconds:.0f} s" if seconds < _MINUTE else str(timedelta(seconds=round(seconds)))


def _describe_holder(settings: Settings) -> str | Text:
    try:
        return in_use_by(holder_of(settings))
    except LearningMemoryError as error:
        return Text(error.message, "red")


def _describe_hub() -> str | Text:
    try:
        hub = running_hub()
        return "none runs" if hub is None else describe_hub(hub.control("status"))
    except LearningMemoryError as error:
        return Text(error.message, "red")


def _counts(pairs: Iterable[tuple[str, int]]) -> Text:
    parts = [Text.assemble((one_line(name), COLOURS.get(name, "")), f" {count:,}") for name, count in pairs]
    return Text(", ").join(parts)
