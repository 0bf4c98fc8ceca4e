"""What the demo prints: plain at any width from 80 columns, with or without colours."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from learning_memory_server import paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp.types import Tool

    from learning_memory_server.domain.ghap import Ghap

_WIDEST: Final = 100
_OUTCOME_STYLES: Final = {"confirmed": "green", "falsified": "red", "abandoned": "yellow"}


def page(console: Console) -> Console:
    """Return a console that writes to the same place, no wider than is good to read.

    The given one may know no width in a pipe, and no markup, as suits output for programs; this is for people.
    """
    return Console(
        file=console.file,
        width=min(console.width, _WIDEST),
        force_terminal=console.is_terminal,
        no_color=console.no_color,
        highlight=False,
    )


def show_introduction(console: Console) -> None:
    """Say what this is."""
    text = Text.assemble(
        "A memory for coding agents: what they believed, and what it taught them.\n",
        ("This demo runs the real server in a temporary folder, and needs no network.", "dim"),
    )
    console.print(Panel(text, title="[bold]learning-memory-server", title_align="left", border_style="cyan"))


def show_step(console: Console, number: int, title: str) -> None:
    """Begin a part of the demo."""
    console.print()
    console.rule(f"[bold cyan]{number}[/]  [bold]{title}[/]", align="left", style="dim")


def show_tools(console: Console, tools: Sequence[Tool]) -> None:
    """Show what the server offers."""
    table = _table()
    table.add_column("Tool", style="cyan", no_wrap=True)
    table.add_column("What it does")
    for tool in tools:
        table.add_row(tool.name, (tool.description or "").partition("\n")[0].partition(":")[0].rstrip("."))
    console.print(table)


def show_entry(console: Console, entry: Ghap) -> None:
    """Show one entry whole, so that it is seen what an experience is."""
    end = entry.outcome
    lesson = end.lesson and (end.lesson.takeaway or end.lesson.what_worked)
    parts = (
        ("Goal", entry.goal),
        ("Hypothesis", entry.hypothesis),
        ("Action", entry.action),
        ("Prediction", entry.prediction),
        (end.status.value.capitalize(), end.result),
        ("Surprise", end.surprise),
        ("Root cause", end.root_cause and end.root_cause.description),
        ("Lesson", lesson),
    )
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for name, text in parts:
        if text:
            grid.add_row(Text(name, _OUTCOME_STYLES.get(name.lower(), "dim")), Text(text))
    console.print(Panel(grid, title="One of them", title_align="left", border_style="dim"))


def show_found(console: Console, found: Mapping[str, Any], query: str, milliseconds: float) -> None:
    """Show what a search answered."""
    console.print(
        Text.assemble(
            ("Question  ", "dim"),
            (query, "italic"),
            ("\nAnswered  ", "dim"),
            ("by words" if found["mode"] == "lexical" else "by meaning and words", "bold"),
            f" (mode {found['mode']}) in {milliseconds:.0f} ms",
        )
    )
    table = _table()
    table.add_column("Score", justify="right", style="cyan", no_wrap=True)
    table.add_column("Outcome", no_wrap=True)
    table.add_column("Experience, and what it taught")
    for result in found["results"]:
        status = result["outcome_status"]
        lesson = result.get("lesson", {})
        taught = lesson.get("takeaway") or lesson.get("what_worked") or result["outcome_result"]
        table.add_row(
            f"{result['score']:.2f}",
            Text(status, _OUTCOME_STYLES[status]),
            Text.assemble(result["goal"], "\n", (taught, "dim")),
        )
    console.print(table)


def show_clusters(console: Console, found: Mapping[str, Any]) -> None:
    """Show the clusters of an axis."""
    table = _table(title=f"Axis {found['axis']}: {found['total']} experiences")
    table.add_column("Cluster", style="cyan", no_wrap=True)
    table.add_column("Size", justify="right", no_wrap=True)
    table.add_column("Label", style="bold", ratio=2)
    table.add_column("Most typical experience", ratio=3)
    for cluster in found["clusters"]:
        table.add_row(
            cluster["cluster_id"],
            str(cluster["size"]),
            Text(cluster["label"]),
            Text(cluster["exemplars"][0]["goal"]),
        )
    console.print(table)
    console.print(
        f"[dim]Noise: {found['noise_count']} of {found['total']} are like no others and in no cluster.[/]"
    )
    if "explanation" in found:
        console.print(Text(found["explanation"], "dim"))


def show_verdict(console: Console, text: str, cluster: Mapping[str, Any], verdict: Mapping[str, Any]) -> None:
    """Show a value and how it was judged."""
    mark, word, style = ("✓", "holds", "green") if verdict["valid"] else ("✗", "rejected", "red")
    body = Text.assemble(
        (text, "italic"),
        ("\nFor       ", "dim"),
        f"{cluster['cluster_id']} ({cluster['label']}; {cluster['size']} experiences)",
        ("\nFigures   ", "dim"),
        f"similarity {verdict['similarity']:.2f}, distance {verdict['centroid_distance']:.2f}, "
        f"at most {verdict['threshold']:.2f}",
        ("\nReason    ", "dim"),
        verdict["reason"],
    )
    console.print(Panel(body, title=f"[bold {style}]{mark} {word}", title_align="left", border_style=style))


def show_comparison(console: Console, rows: Sequence[tuple[str, str, str, bool]]) -> None:
    """Show (what, before, after, whether they are the same) for each thing that should last."""
    table = _table()
    table.add_column("After a restart")
    table.add_column("Before", justify="right")
    table.add_column("After", justify="right")
    table.add_column("")
    for what, before, after, same in rows:
        table.add_row(what, before, after, "[green]✓ the same[/]" if same else "[red]✗ different[/]")
    console.print(table)


def show_farewell(console: Console, seconds: float) -> None:
    """Say how to go on."""
    console.print()
    console.print("[bold]Add it to Claude Code:[/]\n")
    # A line to copy stays one line, however narrow the terminal is.
    console.print(Text(f"  claude mcp add learning-memory -- {server_command()}", "green"), soft_wrap=True)
    console.print(
        Text(
            f"\nBy default your data will live in {paths.data_directory()} ({paths.PREFIX}STORAGE_PATH changes that).",
            "dim",
        ),
        soft_wrap=True,
    )
    console.print(f"[dim]What this demo wrote is gone. It took {seconds:.0f} seconds.[/]")


def show_failure(console: Console, sentence: str, hint: str | None, server_log: Path) -> None:
    """Say what went wrong, and what the server said last."""
    console.print(Text(f"\n✗ {sentence}", "bold red"))
    if hint:
        console.print(Text(hint))
    lines = server_log.read_text("utf-8", "replace").splitlines()[-8:] if server_log.exists() else []
    if lines:
        console.print("\n[dim]The last lines of the server's log:[/]")
        for line in lines:
            console.print(Text(f"  {line}", "dim"), soft_wrap=True)


def server_command() -> str:
    """Return the command that starts the server, with absolute paths."""
    beside = shutil.which(paths.APPLICATION, path=str(Path(sys.executable).parent))
    found = beside or shutil.which(paths.APPLICATION)
    return _quoted(found) if found else f"{_quoted(sys.executable)} -m learning_memory_server"


def _quoted(path: str) -> str:
    # The resolved path of a virtual environment's interpreter would leave the environment.
    return shlex.quote(str(Path(path).absolute()))


def _table(title: str | None = None) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        header_style="dim",
        pad_edge=False,
        show_edge=False,
    )
