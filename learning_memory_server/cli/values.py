"""`values`: the principles that agents derived from clusters."""

from typing import Annotated, Final

import typer
from rich.text import Text

from learning_memory_server.cli import command, out
from learning_memory_server.cli.listing import Facts, View
from learning_memory_server.lessons.values.log import ordered
from learning_memory_server.model.value import Status, ValueOrder
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.server.views import value_views

commands = command.Commands()

_COLOURS: Final = {Status.SUPPORTED: "green", Status.CONTESTED: "red", Status.UNATTESTED: "yellow"}


@commands.command(example="--sort newest")
def values(
    axis: Annotated[Axis | None, typer.Option("--axis", help="Only values of this axis.")] = None,
    sort: Annotated[ValueOrder, typer.Option("--sort", help="Which come first.")] = ValueOrder.SUPPORT,
    superseded: Annotated[
        bool, typer.Option("--superseded", help="Include values that a newer one superseded.")
    ] = False,
) -> command.Result:
    """List values, the principles learned from clusters, and the verdicts on each.

    +6 -2 says that six entries support a value, and two contradict it.
    Agents judge values by entries. A contested value has at least as many
    entries against it as for it. An unattested one has none.
    """
    stored = command.Offline(command.open_settings())
    standings = stored.standings(stored.value_log.current(axis, superseded=superseded))
    results = [value_views.value(standing) for standing in ordered(standings, sort)]
    out.records(map(value_record, results))
    if not results:
        where = "" if axis is None else f" on axis {axis}"
        out.say(
            f"No values{where} yet. Agents draw them from clusters, in a retrospective; `clusters full` shows what keeps "
            "recurring."
        )
    return command.Result({"results": results, "count": len(results)})


def value_record(value: View) -> out.Record:
    """Format a value as a record."""
    support = value["support"]
    facts: Facts = [
        out.identity(value["id"]),
        value["cluster_id"],
        status_of(value),
        f"+{support['supporting']} -{support['contradicting']}",
        out.date(value["created_at"]),
    ]
    return out.Record(facts, value["text"])


def status_of(value: View) -> Text:
    """Return the status of a value: supported, contested, unattested or superseded."""
    if "superseded_by" in value:
        return Text("superseded", "bright_black")
    return Text(value["standing"], _COLOURS[Status(value["standing"])])
