"""The demo's story: from an empty folder to a value that survives a restart."""

import asyncio
import json
import time
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from mcp import Client

from learning_memory_server.cli.command import Commands
from learning_memory_server.cli.demo import views
from learning_memory_server.cli.demo.server import call, connect
from learning_memory_server.cli.terminal import output, show_facts, working
from learning_memory_server.errors import LearningMemoryError

_AXES: Final = ("full", "root_cause")
_SAME_WORDS: Final = "flaky tests that share state"
_OTHER_WORDS: Final = "the website is sluggish because it talks to postgres hundreds of times"
_PRINCIPLES: Final = (
    "Tests must not share state: reset modules, files and variables in fixtures, and replay a failing order.",
    "Build the cache key in one function, and invalidate the entry on every write, so that none is stale.",
    "Count the queries of a slow page and read the query plan before adding an index.",
)
_UNFIT: Final = "Always write documentation for the billing team's holiday calendar"
_MODEL_SECONDS: Final = 120.0
_POLL_SECONDS: Final = 0.25


commands = Commands()


@commands.command("demo")
async def run_demo() -> None:
    """Show what the server does, with example entries in a temporary folder."""
    began = time.monotonic()
    output().print("This runs the real server in a temporary folder, and needs no network.")
    with TemporaryDirectory(prefix="learning-memory-demo-") as folder:
        data, log = Path(folder, "data"), Path(folder, "server.log")
        try:
            async with connect(data, log) as server:
                before = await _learn(server)
            async with connect(data, log) as server:
                await _remember(server, before)
        except LearningMemoryError as error:
            place = log.rename(f"{folder}.log")  # noqa: ASYNC240 - nothing else runs now
            hint = f"{error.hint or ''}\nThe server's log: {place}".lstrip()
            raise LearningMemoryError(error.message, hint=hint) from error
    views.show_farewell(time.monotonic() - began)


def examples() -> list[dict[str, Any]]:
    """Return the entries written for the demo, as arguments of the tools."""
    text = resources.files(__package__).joinpath("examples.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


async def _learn(server: Client) -> dict[str, list[Any]]:
    views.show_step("1. Connect")
    tools = [tool.name for tool in (await server.list_tools()).tools]
    output().print(f"The server answers. It has {len(tools)} tools: {', '.join(tools)}.")
    views.show_step("2. Record experiences: start_ghap, update_ghap, resolve_ghap")
    entries = examples()
    shown = next(entry for entry in entries if "surprise" in entry)
    parts = {"goal": shown["goal"], **shown["steps"][-1], shown["status"]: shown["result"]}
    output().print(f"{len(entries)} examples were written for this demo. One of them:")
    show_facts([*parts.items(), ("surprise", shown["surprise"]), ("lesson", shown["lesson"]["takeaway"])])
    with working("Replaying") as report:
        for number, entry in enumerate(entries, start=1):
            await replay(server, entry)
            report("Replaying", number, len(entries))
    views.show_step("3. Search at once, while the model loads")
    await _search(server, _SAME_WORDS)
    await wait_for_model(server)
    views.show_step("4. See what keeps recurring: get_clusters")
    for axis in _AXES:
        with working("Clustering"):
            found = await call(server, "get_clusters", axis=axis)
        _require(found["clusters"], f"No clusters were found on axis {axis}.")
        views.show_clusters(found)
    views.show_step("5. Keep what it teaches: validate_value, store_value")
    await _keep_value(server)
    views.show_step("6. Search in other words")
    await _search(server, _OTHER_WORDS)
    return await _stored(server)


async def replay(server: Client, entry: dict[str, Any]) -> None:
    """Start, revise and resolve an entry of `examples`."""
    first, *later = entry["steps"]
    start = {name: entry[name] for name in ("domain", "strategy", "goal")}
    end = ("status", "result", "surprise", "root_cause", "lesson")
    await call(server, "start_ghap", **start, **first)
    for step in later:
        await call(server, "update_ghap", **step)
    await call(server, "resolve_ghap", **{name: entry[name] for name in end if name in entry})


async def _search(server: Client, query: str) -> None:
    began = time.monotonic()
    found = await call(server, "search_experiences", query=query, limit=3)
    _require(found["results"], f"The search for {query!r} found nothing.")
    views.show_found(found, query, time.monotonic() - began)


async def wait_for_model(server: Client) -> None:
    """Return when searches are hybrid.

    Raises:
        LearningMemoryError: If that takes too long.
    """
    began = time.monotonic()
    with working("Waiting for the model"):
        while (await call(server, "search_experiences", query="model", limit=1))["mode"] == "lexical":
            _require(time.monotonic() - began < _MODEL_SECONDS, "The model took too long to load.")
            await asyncio.sleep(_POLL_SECONDS)
    output().print(f"The model was ready {time.monotonic() - began:.1f} s later; searches are hybrid now.")


async def _keep_value(server: Client) -> None:
    """Store the principle that is closest to a cluster, and show a text that does not fit."""
    clusters = (await call(server, "get_clusters", axis="full"))["clusters"]
    tried = []
    with working("Validating") as report:
        for text in _PRINCIPLES:
            for cluster in clusters:
                verdict = await call(server, "validate_value", text=text, cluster_id=cluster["cluster_id"])
                tried.append((text, cluster, verdict))
                report("Validating", len(tried), len(_PRINCIPLES) * len(clusters))
    text, cluster, verdict = max(tried, key=lambda each: (each[2]["valid"], each[2]["similarity"]))
    _require(verdict["valid"], "No principle was accepted as a value.")
    views.show_verdict(text, cluster, verdict)
    stored = await call(server, "store_value", text=text, cluster_id=cluster["cluster_id"], axis="full")
    output().print(f"Stored as {stored['id']}, with its evidence. One that does not fit:")
    verdict = await call(server, "validate_value", text=_UNFIT, cluster_id=cluster["cluster_id"])
    _require(not verdict["valid"], "A text that fits no cluster was accepted as a value.")
    views.show_verdict(_UNFIT, cluster, verdict)


async def _stored(server: Client) -> dict[str, list[Any]]:
    """Return what must survive a restart."""
    found = await call(server, "search_experiences", query=_OTHER_WORDS, limit=3)
    clusters = [(await call(server, "get_clusters", axis=axis))["clusters"] for axis in _AXES]
    return {
        "entries": (await call(server, "list_ghap_entries", limit=100))["results"],
        "values": (await call(server, "list_values", limit=100))["results"],
        "clusters": [*clusters[0], *clusters[1]],
        "search results": [result["id"] for result in found["results"]],
    }


async def _remember(server: Client, before: dict[str, list[Any]]) -> None:
    views.show_step("7. Restart the server: a new process over the same folder")
    await wait_for_model(server)
    after = await _stored(server)
    views.show_comparison(before, after)
    _require(before == after, "The restart lost or changed something.")


def _require(holds: object, sentence: str) -> None:
    if not holds:
        raise LearningMemoryError(sentence)
