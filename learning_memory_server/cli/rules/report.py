"""The report about past sessions: print its lines, and ask for the lines that become rules."""

import re
from datetime import date
from pathlib import Path
from typing import Any, Final

import typer
from rich.text import Text

from learning_memory_server.cli import out
from learning_memory_server.cli.rules.answers import SuggestionAnswers, offered_of, show_limits
from learning_memory_server.model.moment import utc_now
from learning_memory_server.rules.past.report import Line, LineKind, PastReport
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.views.failure_views import figures

_QUESTION: Final = "Remind agents of which lines? (numbers, Enter for none)"
_SKIPPED: Final = 5  # Files that were not read, by name
_LABEL: Final = 14  # Columns of a label, of which longer ones have more


def show_report(report: PastReport, place: Path, what: str = "project") -> None:
    """Print the numbered lines of a report; `place` is the folder of the transcripts, `what` their scope."""
    show_skipped(report)
    if not report.sessions:
        out.say(f"No past session of this {what} was found in {out.one_line(str(place))}: nothing to report.")
        if report.suggestions:
            out.say("Rules that stand in your files are offered by: learning-memory-server review")
        return
    ran = f"{out.counted(report.commands, 'command')}, of which {report.failed:,} failed."
    days = f" {_days(report.first, report.last)}." if report.first and report.last else ""
    out.say(f"In {out.counted(report.sessions, 'session')} your agents ran {ran}{days}", "bold")
    width = max(map(len, (each.label for each in report.lines)), default=0)
    for number, each in enumerate(report.lines, 1):
        lead = Text.assemble((f"{number:>2}  ", "bold"), (f"{out.one_line(each.label):<{min(width, _LABEL)}}  ", "red"))
        out.hanging(lead, Text(out.one_line(each.text)))
    if any(each.kind is LineKind.RULE and is_undated(each) for each in report.lines):
        out.say(
            "Git does not know when some of these rules were written down. They are counted over all sessions.", "dim"
        )
    if not report.lines:
        out.say("No rule of yours was broken, and no command failed in the same way in two sessions.")


def show_skipped(report: PastReport) -> None:
    """Print one line about the rule files that were not read, with reasons."""
    if report.skipped:
        more = f" and {len(report.skipped) - _SKIPPED:,} more" if len(report.skipped) > _SKIPPED else ""
        out.say(f"Not read: {', '.join(map(out.one_line, report.skipped[:_SKIPPED]))}{more}.", "yellow")


def is_undated(line: Line) -> bool:
    """Whether a line is about a rule from a file without a date in git."""
    return line.offered is not None and line.offered.suggestion.origin.at is None


async def ask_about(report: PastReport, settings: Settings, *, may_ask: bool = True) -> None:
    """Ask a person which lines become rules, and store them; without a person, print how to do it."""
    offered = offered_of(report.lines)
    if not offered:
        return
    if not (may_ask and out.is_a_person()):
        out.say("To have agents reminded, you choose lines in a terminal: learning-memory-server report")
        return
    show_limits(offered, report)
    if others := [f"{number}" for number in range(1, len(report.lines) + 1) if number not in offered]:
        verb = "is" if len(others) == 1 else "are"
        out.say(f"{', '.join(others)} {verb} only for you to know: a yes would change nothing.", "dim")
    answers = SuggestionAnswers(report, utc_now())
    for number in _chosen(set(offered), len(report.lines)):
        answers.accept(offered[number])
    await answers.write(settings, "report")


def document_of(report: PastReport) -> dict[str, Any]:
    """Return a `PastAccount`."""
    found = [{**figures(each.figures), "text": each.text} for each in report.lines if each.figures]
    lines = [
        {
            "label": each.label,
            "text": each.text,
            "kind": each.kind.value,
            "broken": each.past.broken,
            "followed": each.past.followed,
            "can_be_accepted": each.offered is not None,
        }
        for each in report.lines
    ]
    return {"figures": found, "refused": report.refused, "lines": lines}


def _chosen(numbers: set[int], most: int) -> list[int]:
    """Return the line numbers that a person types, in order. Repeats the question after invalid input."""
    while True:
        said = typer.prompt(_QUESTION, default="", show_default=False, err=True)
        words = [word for word in re.split(r"[\s,]+", said.strip()) if word]
        typed = [int(word) if word.isdecimal() else 0 for word in words]
        wrong = [word for word, number in zip(words, typed, strict=True) if number not in numbers]
        if not wrong:
            return list(dict.fromkeys(typed))
        for word in wrong:
            is_line = word.isdecimal() and 0 < int(word) <= most
            why = "is only for you to know: a yes would change nothing" if is_line else "is no number of a line"
            out.notice(f"{word} {why}.")


def _days(first: date, last: date) -> str:
    end = f"{last.day} {last:%b %Y}"
    begin = f"{first.day} {first:%b}{'' if first.year == last.year else f' {first.year}'} to "
    return end if first == last else f"{begin}{end}"
