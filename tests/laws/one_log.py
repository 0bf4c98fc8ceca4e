"""A store with every log, served with one of them in a bad state."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from learning_memory_server.journal.kinds import KINDS
from learning_memory_server.model.answer import Answer, Said
from learning_memory_server.model.caller import Caller, session_hash
from learning_memory_server.model.project import Naming
from learning_memory_server.model.rule import CallForm, Origin, OriginKind, Pattern, Rule, RuleState, When, new_rule_id
from learning_memory_server.server.calls import Calls
from learning_memory_server.server.claims import Folders
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.tools.catalog import HOOK
from learning_memory_server.system import files
from tests.laws.arguments import calls
from tests.laws.program import AGENTS_TOOLS, TOOLS
from tests.laws.sowing import OTHER, TOPIC, id_in
from tests.services import opened
from tests.support import NOON, cancel, until

CALLER: Final = Caller("garden", session_hash("gardener"))
OPEN: Final = "open"
"""Open entries are no log, but fail like one."""
LOGS: Final = [each.file for each in KINDS.values()]

UNREADABLE: Final[Mapping[str, set[str]]] = {
    "entries": {
        *("start_ghap", "update_ghap", "resolve_ghap", "get_active_ghap", "get_ghap_entry", "list_ghap_entries"),
        *("get_clusters", "get_cluster_members", "validate_value", "store_value", "judge_value"),
        *("search_experiences", "show_dashboard", "get_stats"),
        # A value stands by what its entries say.
        "list_values",
    },
    "values": {"store_value", "judge_value", "list_values", "validate_value", "show_dashboard"},
    # The first judges no value, the second would with what supports it.
    "verdicts": {"judge_value", "store_value"},
    "memories": {"add_memory", "search_memory", "delete_memory", "show_dashboard"},
    "clusters": {"get_clusters", "get_cluster_members", "validate_value", "store_value"},
}
"""The calls about what a log keeps, which fail while it cannot be read. Those of other logs never fail."""
UNWRITABLE: Final[Mapping[str, set[str]]] = {
    # Without an entry to close, resolve_ghap has nothing to do.
    OPEN: {"start_ghap", "update_ghap", "resolve_ghap"},
    "entries": {"resolve_ghap"},
    "values": {"store_value"},
    "verdicts": {"judge_value", "store_value"},
    "memories": {"add_memory", "delete_memory"},
    "clusters": {"get_clusters", "get_cluster_members", "validate_value", "store_value"},
}
"""The calls that save something in a log, which fail while it cannot be written."""


@dataclass(frozen=True, slots=True)
class Ids:
    """What the store has of each thing."""

    entries: list[str]
    value: str
    memory: str
    cluster: str

    def known(self) -> dict[str, list[str]]:
        return {
            "text": [TOPIC],
            "query": [TOPIC],
            "ghap_id": self.entries[:1],
            "value_id": [self.value],
            "memory_id": [self.memory],
            "cluster_id": [self.cluster],
            "project": ["garden"],
            "since": ["2026-01-01"],
        }


class Served:
    """The calls of one agent."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self._calls = Calls(services.injectable(), CALLER, has_hooks=True)

    async def ask(self, tool: str, **arguments: Any) -> tuple[bool, str]:
        """Return whether a call is refused, and its text."""
        result = await self._calls.call(None, tool, arguments)
        return bool(result.is_error), result.text

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        is_refused, text = await self.ask(tool, **arguments)
        assert not is_refused, text
        reply: dict[str, Any] = json.loads(text) if TOOLS[tool].wire.is_structured else {"text": text}
        return reply

    async def failing(self, ids: Ids) -> dict[str, str]:
        """Make every call once, and return what those say that fail."""
        found = {}
        for name in AGENTS_TOOLS:
            if text := await self.ask_with(name, ids):
                found[name] = text
        for event in EVENTS:
            is_refused, text = await self.ask(HOOK, event=event)
            if is_refused:
                found[f"{HOOK} {event['event']}"] = text
        return found

    async def ask_with(self, tool: str, ids: Ids) -> str:
        """Make a call that succeeds where nothing is wrong, and return what it says if it is refused."""
        is_refused, text = await self.ask(tool, **arguments(tool, TOOLS[tool].input_schema, ids))
        return text if is_refused else ""

    async def is_known(self, folder: Path) -> bool:
        """Return whether a session of a folder can begin: a hub that cannot tell its project ends the connection."""
        services = self.services
        folders = Folders(services.claims, services.journal.names, services.projects.has, services.exclusion)
        return bool((await folders.caller(str(folder), None, CALLER.session)).project)

    async def denies(self) -> bool:
        """Return whether the person's rule is kept, which a call breaks."""
        event = {**SESSION, "session": "another", "event": "PreToolUse", "call": "u9", "command": "git push --force"}
        return RULE in (await self.ask(HOOK, event=event))[1]

    def kept(self) -> int:
        """Return how many entries and memories there are."""
        collector = self.services.collector
        return len(collector.all()) + len(collector.still_open.by_id) + len(self.services.memory_log.all())


def arguments(name: str, schema: Mapping[str, Any], ids: Ids) -> dict[str, Any]:
    """Return arguments with which a call succeeds where nothing is wrong."""
    if name == "update_ghap":
        return {"note": TOPIC}
    if name == "resolve_ghap":
        return {"status": "confirmed", "result": TOPIC, "helped": [ids.entries[0], ids.value, ids.memory]}
    if name == "add_memory":
        return {"text": OTHER}
    return next(iter(calls(schema, ids.known())))


RULE: Final = "never push with force"
SESSION: Final = {"session": "s1", "folder": "/garden"}
FAILED: Final = {
    "command": "make greenhouse",
    "error": "Exit code 2\nerror: no such pane in the greenhouse",
    "call": "u1",
}
EVENTS: Final = [
    {**SESSION, **each}
    for each in (
        {"event": "SessionStart", "source": "startup"},
        {"event": "UserPromptSubmit", "prompt": TOPIC},
        {"event": "PreToolUse", "command": "git push --force", "call": "u0"},
        {"event": "PostToolUseFailure", **FAILED},
        {"event": "PostToolUse", "command": "make greenhouse PANE=1", "output": "done", "call": "u2"},
        {"event": "PostToolUse", "file": "/garden/a.py", "edit": True, "call": "u3"},
        {"event": "Stop"},
        {"event": "SessionEnd"},
    )
]
"""What a client's hooks say in a session."""


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[Served]:
    async with opened(folder, min_experiences=8) as services:
        services.room.has_deadline = False
        # What the hub does before it listens, and beside its calls.
        services.read_journal()
        upkeep = asyncio.create_task(services.writer.run())
        try:
            await until(lambda: services.index.is_open or upkeep.done(), every=0.02)
            await services.writer.settle()
            yield Served(services)
            assert not upkeep.done(), upkeep
        finally:
            await cancel(upkeep)


async def sow_logs(folder: Path) -> Ids:
    """Fill a store so that every log has a line."""
    async with served(folder) as agent:
        services, entries = agent.services, []
        for number in range(14):
            texts = {name: f"{TOPIC} {name}{number}" for name in ("goal", "hypothesis", "action", "prediction")}
            started = await agent.call("start_ghap", domain="debugging", strategy="read-the-error", **texts)
            await agent.call("resolve_ghap", status="confirmed", result=TOPIC)
            entries.append(started["id"])
        (cluster, *_) = (await agent.call("get_clusters", axis="full"))["clusters"]
        stored = await agent.call("store_value", text=TOPIC, cluster_id=cluster["cluster_id"], axis="full")
        await agent.call("judge_value", value_id=stored["id"], ghap_id=entries[0], verdict="supports")
        memory = id_in((await agent.call("add_memory", text=TOPIC))["text"])
        rule = Rule(
            new_rule_id(),
            RULE,
            CALLER.project,
            RuleState.ACCEPTED,
            Origin(OriginKind.ADDED),
            NOON,
            NOON,
            When.CALL,
            Pattern((CallForm(("git", "push"), having=("--force",)),)),
        )
        services.rule_log.add(rule)
        services.answers.add(Answer(entries[1], CALLER.project, Said.YES, NOON))
        services.journal.names.add(Naming("elsewhere", NOON, name="orchard"))
        services.servers.use("http://127.0.0.1:6333", "somebody", NOON)
        for event in EVENTS:
            await agent.ask(HOOK, event=event)
        assert await agent.denies()
    return Ids(entries, stored["id"], memory, cluster["cluster_id"])


def paths(folder: Path, log: str) -> list[Path]:
    """Return the files of a log, of which there is at least one, or of open entries."""
    journal = folder / "journal"
    found = sorted({*journal.glob(f"{log}.jsonl"), *journal.glob(f"{log}/*.json*")})
    assert found or log == OPEN, log
    return found


@contextmanager
def refusing(monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], paths: list[Path], code: int) -> Iterator[None]:
    """Refuse to use these files, or what is in these folders, with an error of the system."""

    def refused(name: str) -> Any:
        as_it_is = getattr(files, name)

        def use(path: Path, *rest: Any, **more: Any) -> Any:
            if any(path == each or each in path.parents for each in paths):
                raise OSError(code, os.strerror(code), str(path))
            return as_it_is(path, *rest, **more)

        return use

    with monkeypatch.context() as patch:
        for name in names:
            patch.setattr(files, name, refused(name))
        yield


WRITING: Final = ("append", "replace", "truncate", "remove")
READING: Final = ("open_file", "content")
