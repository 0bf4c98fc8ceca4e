"""`calibration`: compare stated confidence with outcomes, from the journal and without a lock."""

from typing import Any, Final

from learning_memory_server.cli import out
from learning_memory_server.cli.command import Commands, Offline, ProjectOption, Result, chosen_project, open_settings
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.server.views import calibration_views

_BIN: Final = (
    *("{from:.0%} to {to:.0%}", "{count:,}", "{confidence:.0%}", "{share:.0%}"),
    "{interval[0]:.0%} to {interval[1]:.0%}",
)
"""The cells of a row."""

commands = Commands()


@commands.command(example="--project current")
def calibration(project: ProjectOption = None) -> Result:
    """Say whether agents are as sure as they may be, and how many hypotheses held.

    The verdict compares the last stated confidence with the share that held:
    agents are overconfident if it is above the 95 % interval of that share.

    The Brier score is the mean squared difference between confidence and
    outcome (1 confirmed, 0 falsified; abandoned entries do not count): 0 is
    perfect, and always saying 0.5 gets 0.25. The first and the last
    confidence stated for an entry are scored apart. Entries that were
    written afterwards predicted nothing, and do not count.
    """
    stored = Offline(open_settings())
    project = chosen_project(project, stored)
    entries = stored.collector.list_resolved(EntryQuery(project=project))
    document = calibration_views.calibration(entries)
    _show(document)
    return Result(document)


def _show(document: dict[str, Any]) -> None:
    overall = document["overall"]
    if not overall["total"]:
        out.say(
            "No entry was confirmed or falsified yet. Once agents have resolved some, this says how often they were right, "
            "and whether they knew."
        )
        _say_apart(document["afterwards"])
        return
    out.say(document["verdict"], "bold")
    held = f"{overall['held']:,} of {out.counted(overall['total'], 'judged entry')} ({overall['share']:.0%}{_interval(overall)})"
    out.facts(
        [("held", held), ("first stated", _stated(document["first"])), ("last stated", _stated(document["last"]))]
    )
    _say_apart(document["afterwards"])
    if not document["bins"]:
        return
    # In a terminal, tables have blank lines around them.
    if not out.stdout().is_terminal:
        out.say()
    headers = ["last stated", "entries", "mean", "held", "95 % interval"]
    out.table(headers, [[cell.format(**part) for cell in _BIN] for part in document["bins"]], numbers=headers[1:-1])


def _say_apart(count: int) -> None:
    """Print the number of entries that do not count."""
    if count:
        out.say(f"Not counted: {out.counted(count, 'entry')} written afterwards, when the outcome was known.", "dim")


def _stated(score: dict[str, Any] | None) -> str:
    if not score:
        return "no confidence yet"
    return (
        f"{score['confidence']:.0%} on average, and {score['share']:.0%} held "
        f"({out.counted(score['count'], 'entry')}{_interval(score)}); Brier score {score['brier']:.3f}"
    )


def _interval(part: dict[str, Any]) -> str:
    low, high = part["interval"]
    return f"; 95 % interval {low:.0%} to {high:.0%}"
