"""`calibration`: how well stated confidence fits what happened, read from the journal without a lock."""

from collections.abc import Sequence
from typing import Any, Final

from learning_memory_server.cli import out
from learning_memory_server.cli.command import Commands, Offline, ProjectOption, Result, chosen_project, open_settings
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.lessons.calibration import ENOUGH
from learning_memory_server.server.views import calibration_views

_INTERVAL: Final = "{interval[0]:.2f} to {interval[1]:.2f}"
_BIN: Final = ("{from:.1f} to {to:.1f}", "{count:,}", "{confidence:.2f}", "{share:.2f}", _INTERVAL)
_RATE: Final = ("{name}", "{held:,}", "{total:,}", "{share:.2f}", _INTERVAL)
"""The cells of a row."""

commands = Commands()


@commands.command(example="--project current")
def calibration(project: ProjectOption = None) -> Result:
    """Show how many hypotheses held, and how well the stated confidence fits that.

    The Brier score is the mean squared difference between confidence and
    outcome (1 confirmed, 0 falsified; abandoned entries do not count): 0 is
    perfect, and always saying 0.5 gets 0.25. The first and the last
    confidence stated for an entry are scored apart.
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
        return
    out.say(_verdict(overall, document["last"]), "bold")
    out.facts(
        [
            (
                "held",
                f"{overall['held']:,} of {out.counted(overall['total'], 'judged entry')} ({overall['share']:.0%})",
            ),
            ("first stated", _stated(document["first"])),
            ("last stated", _stated(document["last"])),
        ]
    )
    if document["last"]["count"]:
        _show_table(["confidence", "entries", "mean", "held", "95 % interval"], _BIN, document["last"]["bins"])
    for group in ("domain", "strategy", "project"):
        _show_table([group, "held", "of", "share", "95 % interval"], _RATE, document[f"by_{group}"])


def _show_table(headers: Sequence[str], cells: Sequence[str], parts: Sequence[dict[str, Any]]) -> None:
    # In a terminal, tables have blank lines around them.
    if not out.stdout().is_terminal:
        out.say()
    out.table(headers, [[cell.format(**part) for cell in cells] for part in parts], numbers=headers[1:-1])


def _stated(score: dict[str, Any]) -> str:
    if not score["count"]:
        return "no confidence yet"
    entries = out.counted(score["count"], "entry")
    return f"{score['confidence']:.2f} on average, and {score['share']:.2f} held ({entries}); Brier score {score['brier']:.3f}"


def _verdict(overall: dict[str, Any], stated: dict[str, Any]) -> str:
    """Return what calibration comes to, in a sentence."""
    if not stated["count"]:
        return f"{overall['share']:.0%} of what agents guess comes true. No entry states a confidence."
    points = round(100 * stated["confidence"]) - round(100 * stated["share"])
    judgement = f"{abs(points)} points too {'sure' if points > 0 else 'unsure'}" if points else "just right"
    few = f" Based on {out.counted(stated['count'], 'entry')}: too few to rely on." if stated["count"] < ENOUGH else ""
    return f"Agents say {stated['confidence']:.0%}, {stated['share']:.0%} come true: {judgement}.{few}"
