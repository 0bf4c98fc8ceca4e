"""The demo: from nothing to a value that survives a restart, with the real server."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from learning_memory_server.cli import demo_views as views
from learning_memory_server.cli.demo_client import connect
from learning_memory_server.cli.demo_experiences import gather, replay, telling
from learning_memory_server.domain import limits
from learning_memory_server.errors import LearningMemoryError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from learning_memory_server.cli.demo_client import DemoClient

_IN_THEIR_WORDS: Final = "flaky tests that share state"
_IN_OTHER_WORDS: Final = "the website is sluggish because it talks to postgres hundreds of times"
_UNFIT_VALUE: Final = "Always write documentation for the billing team's holiday calendar"
_PRINCIPLES: Final = (
    "Tests must not share state: reset modules, files and variables in fixtures, and replay a failing order.",
    "Build the cache key in one function, and invalidate the entry on every write, so that none is stale.",
    "Keep datetimes aware and in UTC, and convert day boundaries to the local timezone.",
    "Count the queries of a slow page and read the query plan before adding an index.",
    "Write down every package, variable and version that CI needs: a laptop has things nobody remembers.",
    "Never block the event loop, and let concurrent async tasks take locks in one order.",
    "Read the whole error message and look up the installed version before changing a dependency.",
)
"""What the themes of the examples teach."""
_MODEL_WITHIN: Final = 120.0
"""Seconds that the model may take to load."""
_POLL_EVERY: Final = 0.25


async def run_demo(console: Console) -> bool:
    """Show what the server does, step by step, and tell whether everything worked.

    Everything is written to a temporary directory, which is gone afterwards.
    """
    started = time.perf_counter()
    console = views.page(console)
    views.show_introduction(console)
    with TemporaryDirectory(prefix="learning-memory-demo-") as directory:
        storage, server_log = Path(directory, "data"), Path(directory, "server.log")
        try:
            async with connect(storage, server_log) as server:
                before = await _learn(console, server)
            async with connect(storage, server_log) as server:
                worked = await _remember(console, server, before)
        except LearningMemoryError as error:
            views.show_failure(console, error.message, error.hint, server_log)
            return False
    views.show_farewell(console, time.perf_counter() - started)
    return worked


@dataclass(frozen=True, slots=True)
class _Kept:
    """What must survive a restart."""

    entries: frozenset[str]
    values: frozenset[str]
    clusters: frozenset[tuple[str, int]]
    search_results: tuple[str, ...]


async def _learn(console: Console, server: DemoClient) -> _Kept:
    views.show_step(console, 1, "Connect")
    console.print(
        f"The server answered {server.seconds_to_connect:.2f} seconds after its process was started."
    )
    views.show_tools(console, server.tools)

    views.show_step(console, 2, "Live through experiences: start_ghap, update_ghap, resolve_ghap")
    await _replay(console, server)

    views.show_step(console, 3, "Search at once, without waiting for the model")
    await _search(console, server, _IN_THEIR_WORDS)
    await _wait_for_model(console, server)

    views.show_step(console, 4, "See what keeps recurring: get_clusters")
    full = await server.call("get_clusters", axis="full")
    views.show_clusters(console, full)
    console.print()
    views.show_clusters(console, await server.call("get_clusters", axis="root_cause"))

    views.show_step(console, 5, "Keep what it teaches: validate_value, store_value")
    await _value(console, server, full["clusters"])

    views.show_step(console, 6, "Search by meaning, in words other than theirs")
    await _search(console, server, _IN_OTHER_WORDS)
    return await _kept(server)


async def _remember(console: Console, server: DemoClient, before: _Kept) -> bool:
    views.show_step(console, 7, "Restart the server: a new process over the same folder")
    await _wait_for_model(console, server)
    after = await _kept(server)
    rows = []
    for field in fields(_Kept):
        old, new = getattr(before, field.name), getattr(after, field.name)
        rows.append((field.name.replace("_", " ").capitalize(), str(len(old)), str(len(new)), old == new))
    views.show_comparison(console, rows)
    same = before == after
    if same:
        console.print("Every entry, value, cluster and search result is there again.")
    else:
        console.print("[bold red]The restart lost or changed something.[/]")
    return same


async def _replay(console: Console, server: DemoClient) -> None:
    experiences = gather()
    if experiences.own:
        console.print(f"{len(experiences.own)} from this project's own journal")
    if experiences.examples:
        console.print(
            f"{len(experiences.examples)} examples written for this demo [dim](invented, not lived)[/]"
        )
    views.show_entry(console, telling(experiences.all))
    columns = (TextColumn("Replaying"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        for entry in progress.track(experiences.all):
            await replay(server, entry)


async def _search(console: Console, server: DemoClient, query: str) -> None:
    started = time.perf_counter()
    found = await server.call("search_experiences", query=query, limit=3)
    views.show_found(console, found, query, 1000 * (time.perf_counter() - started))


async def _wait_for_model(console: Console, server: DemoClient) -> None:
    """Wait until searches go by meaning.

    Raises:
        LearningMemoryError: If that takes too long.
    """
    started = time.perf_counter()
    with console.status("Waiting for the model"):
        while (await server.call("search_experiences", query="model", limit=1))["mode"] == "lexical":
            if time.perf_counter() - started > _MODEL_WITHIN:
                raise LearningMemoryError(f"The model was not loaded within {_MODEL_WITHIN:.0f} seconds.")
            await asyncio.sleep(_POLL_EVERY)
    console.print(
        f"Searches go by meaning and words [dim](mode hybrid)[/] after {time.perf_counter() - started:.1f} more seconds."
    )


async def _value(console: Console, server: DemoClient, clusters: list[dict[str, Any]]) -> None:
    """Store the text that fits its cluster best, and show one that is rejected.

    Raises:
        LearningMemoryError: If no text holds, or the one that is off every topic does.
    """
    # The principles are those of the examples; other experiences have what they themselves taught.
    tried = [await _judge(server, text, cluster) for cluster in clusters for text in _PRINCIPLES]
    if not any(attempt.valid for attempt in tried):
        for cluster in clusters:
            tried += [await _judge(server, text, cluster) for text in await _takeaways(server, cluster)]
    valid = [attempt for attempt in tried if attempt.valid]
    if not valid:
        raise LearningMemoryError(f"None of {len(tried)} texts holds as a value.")
    console.print(f"Of {len(tried)} pairs of a principle and a cluster {len(valid)} hold. The closest one:")
    best = max(valid, key=lambda attempt: attempt.similarity)
    views.show_verdict(console, best.text, best.cluster, best.verdict)
    cluster_id = best.cluster["cluster_id"]
    stored = await server.call("store_value", text=best.text, cluster_id=cluster_id, axis="full")
    console.print(f"Stored as [cyan]{stored['id']}[/], with its evidence. One that none speaks for:")
    unfit = await _judge(server, _UNFIT_VALUE, best.cluster)
    views.show_verdict(console, unfit.text, unfit.cluster, unfit.verdict)
    if unfit.valid:
        raise LearningMemoryError("A text that is off every topic was accepted as a value.")


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A text that was tried as a value of a cluster."""

    text: str
    cluster: Mapping[str, Any]
    verdict: Mapping[str, Any]

    @property
    def valid(self) -> bool:
        return bool(self.verdict["valid"])

    @property
    def similarity(self) -> float:
        return float(self.verdict["similarity"])


async def _judge(server: DemoClient, text: str, cluster: Mapping[str, Any]) -> _Attempt:
    verdict = await server.call("validate_value", text=text, cluster_id=cluster["cluster_id"])
    return _Attempt(text, cluster, verdict)


async def _takeaways(server: DemoClient, cluster: Mapping[str, Any]) -> list[str]:
    """Return what the most central members of a cluster taught, where it is short enough for a value."""
    reply = await server.call("get_cluster_members", cluster_id=cluster["cluster_id"], limit=5)
    found = [member.get("lesson", {}).get("takeaway", "") for member in reply["members"]]
    return [text for text in found if 0 < len(text) <= limits.VALUE_MAX]


async def _kept(server: DemoClient) -> _Kept:
    clusters = await server.call("get_clusters", axis="full")
    found = await server.call("search_experiences", query=_IN_OTHER_WORDS, limit=3)
    return _Kept(
        entries=frozenset(entry["id"] for entry in await server.list_all("list_ghap_entries")),
        values=frozenset(value["id"] for value in await server.list_all("list_values")),
        clusters=frozenset((cluster["cluster_id"], cluster["size"]) for cluster in clusters["clusters"]),
        search_results=tuple(result["id"] for result in found["results"]),
    )
