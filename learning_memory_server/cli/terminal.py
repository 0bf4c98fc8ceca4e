"""What is shown: colours and frames in a terminal; in a pipe, plain lines that are neither wrapped nor cut."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from learning_memory_server.errors import LearningMemoryError
    from learning_memory_server.server.operations.report import Report

    Cell = str | Text | int

COLOURS: Final = {
    "confirmed": "green",
    "falsified": "red",
    "abandoned": "bright_black",
    "gold": "yellow",
    "silver": "white",
    "bronze": "dark_orange3",
}
SHOWN: Final = 20
"""How much of a long list is shown."""
_UNWRAPPED: Final = 100_000
_MIB: Final = 1024 * 1024


def output() -> Console:
    """Return the console of standard output."""
    return _console(stderr=False)


def errors() -> Console:
    """Return the console of standard error: progress, notices and failures, so that output stays clean."""
    return _console(stderr=True)


def show_failure(error: LearningMemoryError) -> None:
    """Say what was wrong and what to do, on standard error."""
    errors().print(
        Text.assemble(
            ("error: ", "bold red"), (error.message, "red"), f"\n{error.hint}" if error.hint else ""
        )
    )


def show_notice(sentence: str) -> None:
    """Say something by the way, in one line on standard error."""
    errors().print(Text(sentence, "yellow"))


def show_table(
    headers: Sequence[str], rows: Sequence[Sequence[Cell]], *, numbers: Sequence[str] = ()
) -> None:
    """Print rows, the last column being the one that gives way to a narrow terminal.

    Args:
        headers: A title for each column.
        rows: Cells; texts are brought onto one line.
        numbers: The titles of the columns that are aligned to the right.
    """
    console = output()
    table = Table(
        box=box.SIMPLE_HEAD if console.is_terminal else None,
        pad_edge=False,
        header_style="bold",
        padding=(0, 1),
    )
    for header in headers:
        last = header is headers[-1]
        table.add_column(
            header,
            justify="right" if header in numbers else "left",
            no_wrap=not last,
            # Terminals wrap what is long; a pipe gets one line a row.
            overflow="fold" if last else "ellipsis",
        )
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(one_line(str(cell))) for cell in row))
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        console.print(line.rstrip())


def show_facts(facts: Sequence[tuple[str, Cell]]) -> None:
    """Print names and what there is to say about each, aligned."""
    console = output()
    width = max((len(name) for name, _ in facts), default=0)
    for name, value in facts:
        content = value if isinstance(value, Text) else Text(str(value))
        show_hanging(console, Text(f"{name:<{width}}  ", "bold"), content)


def show_hanging(console: Console, lead: Text, content: Text) -> None:
    """Print a lead and a text whose further lines, in a terminal, stand below its first."""
    if not console.is_terminal:
        console.print(Text.assemble(lead, content))
        return
    grid = Table.grid()
    grid.add_column(width=lead.cell_len, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(lead, content)
    console.print(grid)


def show_first(lines: Sequence[str], style: str) -> None:
    """Print the first `SHOWN` lines, and how many more there are."""
    for line in lines[:SHOWN]:
        output().print(Text(line, style))
    show_rest(len(lines), style)


def show_rest(total: int, style: str = "") -> None:
    """Say how many there are besides the first `SHOWN`, if there are."""
    if total > SHOWN:
        output().print(Text(f"... and {total - SHOWN:,} more", style))


@contextmanager
def working(sentence: str) -> Iterator[Report]:
    """Show what is done while the block runs, in a terminal, and give a function that tells how far it is."""
    console = errors()
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(sentence, total=None)

        def report(doing: str, done: int = 0, total: int = 0) -> None:
            progress.update(task, description=doing, completed=done, total=total or None)

        yield report


def coloured(name: str) -> Text:
    """Return an outcome or a tier in its colour."""
    return Text(name, COLOURS.get(name, ""))


def one_line(text: str) -> str:
    """Return a text from the journal as it may be shown: on one line, and without control sequences.

    What agents wrote is data; a terminal would obey an escape sequence in it.
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def day(moment: datetime) -> str:
    """Return a date and time as people read it, in UTC."""
    return f"{moment:%Y-%m-%d %H:%M}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def megabytes(size: int) -> str:
    """Return a number of bytes as people read it."""
    return f"{size / _MIB:,.1f} MiB" if size >= _MIB // 10 else f"{size / 1024:,.1f} KiB"


def _console(*, stderr: bool) -> Console:
    # No markup: what is shown was written by agents, and may hold any bracket.
    console = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = _UNWRAPPED
    return console
