"""A progress bar in a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from learning_memory_server.cli.out import Report, one_line

_BAR_FITS: Final = 70  # Minimum terminal columns for a bar next to the description


@contextmanager
def shown_on(console: Console, sentence: str) -> Iterator[Report]:
    """Show a progress bar in a terminal while the block runs. Yields the function to update it."""
    bar = (BarColumn(),) if console.width >= _BAR_FITS else ()
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), *bar, _Count(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(one_line(sentence), total=None)

        def report(doing: str, done: int = 0, total: int = 0) -> None:
            progress.update(task, description=one_line(doing), completed=done, total=total or None)

        yield report


class _Count(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text("" if task.total is None else f"{task.completed:,.0f} of {task.total:,.0f}")
