"""What the demo prints."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from learning_memory_server.cli.terminal import coloured, output, show_facts, show_table
from learning_memory_server.system.paths import APPLICATION, PREFIX, data_directory


def show_step(title: str) -> None:
    """Begin a step."""
    output().print(Text(f"\n{title}", "bold cyan"))


def show_found(found: Mapping[str, Any], query: str, seconds: float) -> None:
    """Show the results of a search, and what each of them taught."""
    output().print(f"{query!r}: {found['mode']} search, {1000 * seconds:.0f} ms")
    rows: list[list[str | Text]] = []
    for result in found["results"]:
        lesson = result.get("lesson", {}).get("takeaway") or result["outcome_result"]
        outcome = coloured(result["outcome_status"])
        rows.append([f"{result['score']:.2f}", outcome, f"{result['goal']}. {lesson}"])
    show_table(["score", "outcome", "goal, and what it taught"], rows)


def show_clusters(found: Mapping[str, Any]) -> None:
    """Show the clusters of an axis."""
    rows = [[c["cluster_id"], c["size"], c["label"], c["exemplars"][0]["goal"]] for c in found["clusters"]]
    show_table(["cluster", "size", "label", "such as"], rows, numbers=["size"])
    output().print(f"{found['noise_count']} of {found['total']} experiences are in no cluster.")


def show_verdict(text: str, cluster: Mapping[str, Any], verdict: Mapping[str, Any]) -> None:
    """Show how a text was judged as a value of a cluster."""
    word, style = ("accepted", "green") if verdict["valid"] else ("refused", "red")
    reason = Text.assemble((word, style), f": {verdict['reason']}")
    of = f"{cluster['cluster_id']}: {cluster['label']}"
    show_facts([("text", text), ("cluster", of), ("verdict", reason)])


def show_comparison(before: Mapping[str, Sequence[Any]], after: Mapping[str, Sequence[Any]]) -> None:
    """Show what there was before and after a restart, and whether it is the same."""
    rows = [
        [name, len(old), len(after[name]), "yes" if old == after[name] else "NO"]
        for name, old in before.items()
    ]
    show_table(["", "before", "after", "the same"], rows, numbers=["before", "after"])


def show_farewell(seconds: float) -> None:
    """Show the line that adds the server to a client."""
    # The interpreter's path is not resolved: that would leave the virtual environment.
    python = Path(sys.executable).absolute()
    script = python.with_name(APPLICATION)
    command = [str(script)] if script.exists() else [str(python), "-m", "learning_memory_server"]
    output().print(f"\nEverything worked, in {seconds:.0f} s. The demo's data is removed.")
    output().print("To add the server to Claude Code, or another client that `setup` knows:\n")
    add = f"  {shlex.join(command)} setup claude-code"
    # One line to copy, in any terminal.
    output().print(Text(add, "green"), soft_wrap=True)
    output().print(f"\nIt will keep its data in {data_directory()}; {PREFIX}STORAGE_PATH changes that.")
