"""`values`: values with the verdicts on them, from the hub if one runs, else from the journal."""

from datetime import datetime
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from learning_memory_server.cli.access.connection import Connection, running_hub
from learning_memory_server.cli.access.reading import open_settings, read_entries
from learning_memory_server.cli.command import Commands, Result
from learning_memory_server.cli.terminal import date, identity, output, show_notice, show_records
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.journal.journal import Journal
from learning_memory_server.learning.values.log import ValueLog, VerdictLog
from learning_memory_server.learning.values.standing import ordered, weigh_all
from learning_memory_server.model.limits import LISTING_MAX
from learning_memory_server.model.support import Status
from learning_memory_server.model.value import ValueOrder
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.views import value_views

_COLOURS: Final = {Status.SUPPORTED: "green", Status.CONTESTED: "red", Status.UNATTESTED: "yellow"}

commands = Commands()


@commands.command()
async def values(
    axis: Annotated[Axis | None, typer.Option("--axis", help="Only values of this axis.")] = None,
    sort: Annotated[ValueOrder, typer.Option("--sort", help="Which come first.")] = ValueOrder.SUPPORT,
    superseded: Annotated[
        bool, typer.Option("--superseded", help="Include values that a newer one superseded.")
    ] = False,
) -> Result:
    """List values, the principles learned from clusters, and the verdicts on each.

    +6 -2 says that six entries support a value, and two contradict it.
    A value is supported or contested by the entries that agents judged to speak
    for or against it, and unattested while there are none. A contested value has
    at least as many against it as for it.
    """
    settings = open_settings()
    try:
        reply = await _values_of_hub(settings, axis, sort, superseded=superseded)
    except LearningMemoryError as error:
        show_notice(f"{error.sentence} These values come from the journal.")
        reply = None
    reply = reply or _values_of_journal(settings, axis, sort, superseded=superseded)
    results = reply["results"]

    def show() -> None:
        if not results:
            output().print("No values yet." if axis is None else f"No values on axis {axis} yet.")
            return
        show_records((_facts(value), value["text"]) for value in results)
        if note := reply.get("note"):
            show_notice(note)

    return Result({"results": results, "count": len(results)}, show)


async def _values_of_hub(
    settings: Settings, axis: Axis | None, order: ValueOrder, *, superseded: bool
) -> dict[str, Any] | None:
    hub = running_hub()
    if hub is None:
        return None
    return await Connection(hub.operate, settings).call_for_all(
        "list_values",
        "results",
        axis=axis,
        sort=order,
        include_superseded=superseded,
        full=True,
        limit=LISTING_MAX,
    )


def _values_of_journal(
    settings: Settings, axis: Axis | None, order: ValueOrder, *, superseded: bool
) -> dict[str, Any]:
    """Return what the tool list_values would reply, without its notes."""
    journal = Journal(settings.journal_directory)
    log = ValueLog(journal.values)
    chosen = log.current(axis, superseded=superseded)
    standings = weigh_all(chosen, log, VerdictLog(journal.verdicts), read_entries(settings))
    return {"results": [value_views.value(standing) for standing in ordered(standings, order)]}


def _facts(value: dict[str, Any]) -> list[str | Text]:
    support = value["support"]
    return [
        identity(value["id"]),
        value["cluster_id"],
        status_of(value),
        f"+{support['supporting']} -{support['contradicting']}",
        date(datetime.fromisoformat(value["created_at"])),
    ]


def status_of(value: dict[str, Any]) -> Text:
    """Return whether a value is supported, contested, unattested or superseded."""
    if "superseded_by" in value:
        return Text("superseded", "bright_black")
    return Text(value["standing"], _COLOURS[Status(value["standing"])])
