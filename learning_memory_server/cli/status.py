"""`status`: what is stored, where, and which process is using it. Takes no lock, and changes nothing on a server."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any

from rich.text import Text

from learning_memory_server.cli.access.reading import (
    describe_engine,
    describe_hub,
    holder_of,
    in_use_by,
    open_settings,
    read_entries,
)
from learning_memory_server.cli.command import Commands, Result
from learning_memory_server.cli.hub import hub_facts, hub_status
from learning_memory_server.cli.terminal import COLOURS, counted, date_and_time, readable_size, show_facts
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.journal.failures import FailureLog
from learning_memory_server.journal.journal import Journal
from learning_memory_server.learning.values.log import ValueLog
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.vocabulary import OutcomeStatus, Tier
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.views import entry_views

commands = Commands()


@commands.command()
def status() -> Result:
    """Show what is stored, where, and which process is using it."""
    settings = open_settings()
    journal = Journal(settings.journal_directory)
    resolved = read_entries(settings).list_resolved()
    still_open = journal.open_entries()[::-1]
    server, holder, hub = (
        _found(ask) for ask in (lambda: _server(settings), lambda: holder_of(settings), hub_status)
    )
    document: dict[str, Any] = {
        "journal": {
            "path": str(journal.path),
            "bytes": journal.size(),
            "damaged_lines": len(journal.damage()),
        },
        "index": describe_engine(settings),
        "server": server,
        "locked_by": holder,
        "hub": hub_facts(hub) if hub else None,
        "entries": {
            "resolved": len(resolved),
            "open": len(still_open),
            "by_tier": _by(Tier, (entry.tier for entry in resolved)),
            "by_outcome": _by(OutcomeStatus, (entry.outcome.status for entry in resolved)),
            "by_project": dict(Counter(entry.project for entry in resolved).most_common()),
        },
        "open": [entry_views.entry_key(entry) for entry in still_open],
        "values": len(ValueLog(journal.values).all()),
        "memories": len({record.id for record in journal.memories.read().records}),
        "failures": len(FailureLog(journal.failures).all()),
    }
    show_facts(_facts(document, still_open, hub))
    return Result(document)


def _facts(
    document: dict[str, Any], still_open: Iterable[Ghap], hub: dict[str, Any] | None
) -> list[tuple[str, str | Text]]:
    journal, entries = document["journal"], document["entries"]
    damage = Text(
        f"{counted(journal['damaged_lines'], 'line')} cannot be read; run `learning-memory-server doctor` to see which",
        "red",
    )
    return [
        ("journal", f"{journal['path']} ({readable_size(journal['bytes'])})"),
        ("index", document["index"]),
        *([("server", _described(server, _product))] if (server := document["server"]) else []),
        ("in use by", _described(document["locked_by"], in_use_by)),
        ("hub", _described(hub, describe_hub) if hub else "none is running"),
        ("entries", f"{entries['resolved']:,} resolved"),
        *(
            (f"  {name}s", _counts(entries[f"by_{name}"]))
            for name in ("tier", "outcome", "project")
            if entries["resolved"]
        ),
        ("open", counted(entries["open"], "entry")),
        *(
            ("", f"{date_and_time(entry.created_at)}  {entry.id}  {one_line(entry.goal)}")
            for entry in still_open
        ),
        ("values", f"{document['values']:,}"),
        ("memories", f"{document['memories']:,}"),
        ("failures", counted(document["failures"], "command")),
        ("damage", damage if journal["damaged_lines"] else "none"),
    ]


def _found(ask: Callable[[], Mapping[str, Any] | None]) -> Any:  # noqa: ANN401 - whatever it returns
    try:
        return ask()
    except LearningMemoryError as error:
        return {"error": error.message}


def _described(found: Any, describe: Callable[[Any], str]) -> str | Text:  # noqa: ANN401 - as above
    return Text(found["error"], "red") if found and "error" in found else describe(found)


def _by(kinds: type[StrEnum], found: Iterable[StrEnum]) -> dict[str, int]:
    counts = Counter(found)
    return {kind.value: counts[kind] for kind in kinds}


def _server(settings: Settings) -> dict[str, Any] | None:
    """Return what a Qdrant server is; None for the embedded engine."""
    if settings.qdrant_url is None:
        return None
    from learning_memory_server.server.composition.backends import server_version  # noqa: PLC0415 - a second to import

    return asyncio.run(server_version(settings, settings.qdrant_url))


def _product(server: Mapping[str, Any]) -> str:
    from learning_memory_server.index.engines.qdrant_requests import product  # noqa: PLC0415 - only with a server

    return product(server["version"])


def _counts(counts: Mapping[str, int]) -> Text:
    parts = [
        Text.assemble((one_line(name), COLOURS.get(name, "")), f" {count:,}")
        for name, count in counts.items()
    ]
    return Text(", ").join(parts)
