"""`values`: values with the verdicts on them, read from the journal without a lock."""

from datetime import datetime
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from learning_memory_server.cli.access.reading import open_settings, read_entries
from learning_memory_server.cli.command import Commands, Result
from learning_memory_server.cli.terminal import date, identity, output, show_records
from learning_memory_server.journal.journal import Journal
from learning_memory_server.learning.values.log import ValueLog, VerdictLog, ordered, weigh_all
from learning_memory_server.model.support import Status
from learning_memory_server.model.value import ValueOrder
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.server.views import value_views

_COLOURS: Final = {Status.SUPPORTED: "green", Status.CONTESTED: "red", Status.UNATTESTED: "yellow"}

commands = Commands()


@commands.command()
def values(
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
    journal = Journal(settings.journal_directory)
    log = ValueLog(journal.values)
    chosen = log.current(axis, superseded=superseded)
    standings = weigh_all(chosen, log, VerdictLog(journal.verdicts), read_entries(settings))
    results = [value_views.value(standing) for standing in ordered(standings, sort)]
    show_records((_facts(value), value["text"]) for value in results)
    if not results:
        output().print("No values yet." if axis is None else f"No values on axis {axis} yet.")
    return Result({"results": results, "count": len(results)})


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
