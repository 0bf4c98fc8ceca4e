"""The demo: from an empty folder to a value that survives a restart, through the tools that agents use."""

import json
import shlex
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.text import Text

from learning_memory_server.cli import out
from learning_memory_server.cli.access import Connection
from learning_memory_server.cli.clients.catalog import find_launch
from learning_memory_server.cli.command import Commands, Result
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.lessons.errors.watch import CommandWatch, Ran
from learning_memory_server.model.moment import utc_now
from learning_memory_server.server.composition.logging import configure_logging
from learning_memory_server.server.settings import Settings
from learning_memory_server.system.paths import PREFIX, data_directory

if TYPE_CHECKING:
    from learning_memory_server.server.composition.services import Services

_PREFIX: Final = "learning-memory-demo-"
_OTHER_WORDS: Final = "the website is sluggish because it talks to postgres hundreds of times"
_PRINCIPLES: Final = (
    "Tests must not share state: reset modules, files and variables in fixtures, and replay a failing order.",
    "Build the cache key in one function, and invalidate the entry on every write, so that none is stale.",
    "Count the queries of a slow page and read the query plan before adding an index.",
)
_VERDICTS: Final = (("supports",) * 3, ("supports", "contradicts"))  # For values in force and contested
_UNFIT: Final = "Always write documentation for the billing team's holiday calendar"

_AGAIN: Final = {
    "domain": "testing",
    "strategy": "check-assumptions",
    "goal": "Find out why the payment test fails only when all tests run",
    "hypothesis": "Two test workers use the same port.",
    "action": "Give each test worker its own port.",
    "prediction": "The payment test passes in the full test run.",
}
"""The hypothesis of the first example, in another test."""

commands = Commands()


@commands.command(example="--keep")
async def demo(
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the folder, to try the commands and the page on it.")
    ] = False,
) -> Result:
    """Show what the server does, with example entries in a temporary folder."""
    began = time.monotonic()
    configure_logging("critical")
    out.say("This calls the server's tools over a temporary folder, and needs no network.")
    with nullcontext(mkdtemp(prefix=_PREFIX)) if keep else TemporaryDirectory(prefix=_PREFIX) as folder:
        async with _open(Path(folder)) as story:
            await _learn(story)
        async with open_example(Path(folder)) as server:
            kept = await _remember(server)
    seconds = time.monotonic() - began
    _show_farewell(seconds, folder if keep else None)
    return Result({**kept, "folder": folder if keep else None, "seconds": round(seconds, 1)})


@asynccontextmanager
async def open_example(folder: Path) -> AsyncIterator[Connection]:
    """Open the server's services for a folder, without a hub and without the user's settings."""
    async with _open(folder) as story:
        yield story.connect()


@dataclass
class _Story:
    """The server's services, and a clock that plays six weeks in a minute."""

    settings: Settings
    ago: timedelta = timedelta()
    services: "Services" = field(init=False)

    def connect(self) -> Connection:
        """Return a connection of a new agent."""
        from learning_memory_server.server.operations import operate

        return Connection(partial(operate, self.services), self.settings)

    def now(self) -> datetime:
        """Return the story's time."""
        return utc_now() - self.ago

    async def play(self, example: dict[str, Any]) -> None:
        """Replay an example on its day as a separate agent, including its commands."""
        self.ago = timedelta(days=example["days_ago"])
        watch = CommandWatch(self.services.redaction)
        for command, *output in example.get("ran", ()):
            ran = Ran("demo", example["goal"], command, "".join(output), bool(output), self.now())
            ended = await watch.saw(ran)
            self.services.failure_log.add_worked(ended.worked, at=ran.at)
            if ended.failure:
                self.services.failure_log.record(ended.failure)
        await replay(self.connect(), example)
        self.ago = timedelta()


@asynccontextmanager
async def _open(folder: Path) -> AsyncIterator[_Story]:
    from learning_memory_server.server.composition.services import open_services

    story = _Story(Settings(storage_path=folder, project="demo"))
    async with open_services(story.settings, purpose="learning-memory-server demo", clock=story.now) as services:
        # Replies usually leave out late advice; the demo must show it even on a slow machine.
        services.room.has_deadline = False
        story.services = services
        yield story


def examples() -> list[dict[str, Any]]:
    """Return the example entries of the demo, as arguments of the tools."""
    text = Path(__file__).with_suffix(".jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


async def replay(server: Connection, entry: dict[str, Any]) -> None:
    """Start, revise and resolve an entry of `examples`."""
    first, *later = entry["steps"]
    start = {name: entry[name] for name in ("domain", "strategy", "goal")}
    end = ("status", "result", "surprise", "root_cause", "lesson")
    shown = [each["id"] for each in (await server.call("start_ghap", **start, **first)).get("related", ())]
    for step in later:
        await server.call("update_ghap", **step)
    cited = {entry["told"]: shown} if shown and "told" in entry else {}
    await server.call("resolve_ghap", **{name: entry[name] for name in end if name in entry}, **cited)


async def _learn(story: _Story) -> None:
    server, entries = story.connect(), sorted(examples(), key=lambda entry: -entry["days_ago"])
    shown = next(entry for entry in entries if "surprise" in entry)
    parts = {"goal": shown["goal"], **shown["steps"][-1], shown["status"]: shown["result"]}
    _show_step("1. Agents say what they believe before they act, and then what happened")
    out.say(f"{len(entries)} examples were written for this demo, of six weeks. One of them:")
    out.facts([*parts.items(), ("surprise", shown["surprise"]), ("lesson", shown["lesson"]["takeaway"])])
    half = len(entries) // 2
    for entry in entries[:half]:
        await story.play(entry)
    _show_step("2. Search at once, before the model is loaded")
    await _search(server, "flaky tests that share state")
    await _wait_for_model(server)
    for entry in entries[half:]:
        await story.play(entry)
    await server.run("complete")
    _show_step("3. Another agent is about to make the same guess, and is warned")
    await _warn(server)
    _show_step("4. See what keeps recurring")
    for axis in ("full", "root_cause"):
        found = await server.call("get_clusters", axis=axis)
        _require(found["clusters"], f"No clusters were found on axis {axis}.")
        rows = [
            [each["cluster_id"], each["size"], each["label"], each["exemplars"][0]["goal"]]
            for each in found["clusters"]
        ]
        out.table(["cluster", "size", "label", "such as"], rows, numbers=["size"])
        out.say(f"{found['noise_count']} of {found['total']} experiences are in no cluster.")
    _show_step("5. Keep what it teaches as values")
    await _keep_value(server)
    _show_step("6. Search in other words")
    await _search(server, _OTHER_WORDS)


async def _warn(server: Connection) -> None:
    """Start an entry like a failed one, and print the advice that its agent gets. The entry stays open."""
    started = await server.call("start_ghap", **_AGAIN)
    _require(started.get("related"), "The second agent was not warned.")
    out.facts((name, _AGAIN[name]) for name in ("goal", "hypothesis", "action"))
    out.say("Before it acts, it is told:")
    for each in started["related"]:
        out.facts(
            [
                (each.get("outcome", each["kind"]), Text(each["learned"], "green")),
                ("learned", f"when an agent wanted to: {each['goal']}" if "goal" in each else None),
            ]
        )


async def _search(server: Connection, query: str) -> None:
    began = time.monotonic()
    found = await server.call("search_experiences", query=query, limit=3)
    _require(found["results"], f"The search for {query!r} found nothing.")
    out.say(f"{query!r}: {found['mode']} search, {1000 * (time.monotonic() - began):.0f} ms")
    rows: list[list[str | Text]] = []
    for result in found["results"]:
        lesson = result.get("lesson", {}).get("takeaway") or result["outcome_result"]
        outcome = out.coloured(result["outcome_status"])
        rows.append([f"{result['score']:.2f}", outcome, f"{result['goal']}. {lesson}"])
    out.table(["score", "outcome", "goal, and what it taught"], rows)


async def _wait_for_model(server: Connection) -> None:
    began = time.monotonic()
    await server.run("complete")
    out.say(f"The model was ready {time.monotonic() - began:.1f} s later; searches are hybrid now.")


async def _keep_value(server: Connection) -> None:
    """Store the two principles that fit a cluster best, judge them by entries, and show a text that does not fit."""
    clusters = (await server.call("get_clusters", axis="full"))["clusters"]
    best = []
    for text in _PRINCIPLES:
        tried = [
            (await server.call("validate_value", text=text, cluster_id=each["cluster_id"]), each) for each in clusters
        ]
        best.append((text, *max(tried, key=lambda each: (each[0]["valid"], each[0]["similarity"]))))
    best.sort(key=lambda each: (each[1]["valid"], each[1]["similarity"]), reverse=True)
    _require(best[1][1]["valid"], "No two principles were accepted as values.")
    for (text, verdict, cluster), verdicts in zip(best, _VERDICTS, strict=False):
        _show_verdict(text, cluster, verdict)
        stored = await server.call("store_value", text=text, cluster_id=cluster["cluster_id"], axis="full")
        out.say(f"Stored as {stored['id']}, with its evidence.")
        members = await server.call("get_cluster_members", cluster_id=cluster["cluster_id"])
        for member, stance in zip(members["members"], verdicts, strict=False):
            judged = await server.call("judge_value", value_id=stored["id"], ghap_id=member["id"], verdict=stance)
        out.say(f"Entries judge it: {judged['standing']}.")
    out.say("One that does not fit:")
    verdict = await server.call("validate_value", text=_UNFIT, cluster_id=cluster["cluster_id"])
    _require(not verdict["valid"], "A text that fits no cluster was accepted as a value.")
    _show_verdict(_UNFIT, cluster, verdict)


async def _remember(server: Connection) -> dict[str, int]:
    _show_step("7. Close everything, and open it again over the same folder")
    await _wait_for_model(server)
    entries = await server.call("list_ghap_entries", limit=100)
    values = await server.call("list_values")
    _require(values["count"], "The restart lost the value.")
    out.say(f"{entries['count']} experiences and {values['count']} values are still there.")
    await _search(server, _OTHER_WORDS)
    return {"experiences": entries["count"], "values": values["count"]}


def _require(holds: object, sentence: str) -> None:
    if not holds:
        raise LearningMemoryError(sentence)


def _show_step(title: str) -> None:
    out.say(f"\n{title}", "bold cyan")


def _show_verdict(text: str, cluster: Mapping[str, Any], verdict: Mapping[str, Any]) -> None:
    word, style = ("accepted", "green") if verdict["valid"] else ("refused", "red")
    reason = Text.assemble((word, style), f": {verdict['reason']}")
    of = f"{cluster['cluster_id']}: {cluster['label']}"
    out.facts([("text", text), ("cluster", of), ("verdict", reason)])


def _show_farewell(seconds: float, kept: str | None) -> None:
    launch = find_launch(has_hub=True)
    command = [launch.command, *launch.arguments]
    if kept is None:
        out.say(f"\nEverything worked, in {seconds:.0f} s. The demo's data is removed.")
    else:
        out.say(f"\nEverything worked, in {seconds:.0f} s. To try the commands on the demo's data:\n")
        out.say(f"  export {PREFIX}STORAGE_PATH={shlex.quote(kept)}", "green", is_line=True)
        for tried in ("search 'flaky tests'", "values", "clusters root_cause", "dashboard"):
            out.say(f"  {shlex.join(command)} {tried}", "green", is_line=True)
        out.say("\nRemove that folder, and unset the variable, when you have seen enough.")
    out.say(f"\nThe server keeps its data in {data_directory()}; {PREFIX}STORAGE_PATH changes that.")
    out.say("To add it to the clients on this machine, in a project's folder:\n")
    # A single line to copy in any terminal, at the end.
    out.say(f"  {shlex.join(command)} start", "green", is_line=True)
