"""`failures`: the errors of commands, read from the journal without a lock."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from learning_memory_server.cli.access.reading import open_settings
from learning_memory_server.cli.options import chosen_project, folders_here
from learning_memory_server.cli.terminal import (
    counted,
    date,
    identity,
    output,
    short_project,
    show_json,
    show_records,
)
from learning_memory_server.journal.failures import FailureLog
from learning_memory_server.journal.journal import Journal
from learning_memory_server.server.views.failure_views import repeated_error

if TYPE_CHECKING:
    from rich.text import Text


def list_errors(limit: int, project: str | None, *, as_json: bool) -> None:
    """Print errors, the last seen first.

    Args:
        limit: How many.
        project: The value of `--project`.
        as_json: Print an `ErrorsDocument`.

    Raises:
        JournalUnavailableError: If the journal cannot be read.
    """
    settings = open_settings()
    wanted = chosen_project(project, settings)
    found = [
        known
        for known in FailureLog(Journal(settings.journal_directory).failures).errors()
        if wanted is None or known[-1].project == wanted
    ]
    found.sort(key=lambda known: (known[-1].created_at, known[-1].id), reverse=True)
    here = folders_here(settings) if found else {}
    shown = [repeated_error(known, here.get(known[-1].project)) for known in found[:limit]]
    if as_json:
        show_json({"results": shown, "count": len(shown), "total": len(found)})
        return
    if not found:
        output().print("No failures yet." if wanted is None else "No failures in this project yet.")
        return
    show_records((_facts(error), _text(error)) for error in shown)
    if len(found) > limit:
        output().print(f"{limit} of {counted(len(found), 'error')}; --limit shows more.")


def _facts(error: dict[str, Any]) -> list[str | Text]:
    return [
        identity(error["id"]),
        counted(error["times"], "time"),
        date(datetime.fromisoformat(error["last_seen"])),
        short_project(error["project"]),
    ]


def _text(error: dict[str, Any]) -> str:
    remedy = f"; this worked: {error['remedy']}" if "remedy" in error else ""
    return f"{error['signature']}{remedy}"
