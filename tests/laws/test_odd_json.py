"""Odd JSON: whatever a tool or a hook is given, it names what is wrong or is silent, and the server lives."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import pytest

from learning_memory_server.hooks.event import event_of, trigger_of
from learning_memory_server.server.tools.catalog import HOOK
from tests.laws.arguments import calls
from tests.laws.program import AGENTS_TOOLS, TOOLS, Agent, Program
from tests.laws.sowing import GARDENER, OTHER

pytestmark = pytest.mark.slow

ODD: Final[Mapping[str, Any]] = {
    "null": None,
    "true": True,
    "0": 0,
    "-1": -1,
    "1.5": 1.5,
    "1e308": 1e308,
    "empty": "",
    "long": "x" * 20_000,
    "half": "\ud83d",
    "[]": [],
    "[[]]": [[]],
    "{}": {},
    "nested": {"a": [{"b": [None]}]},
}
"""One of every type, and of every kind that programs stumble over."""
_MEMORY_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
UNKNOWN: Final = "nobodys_name"
"""A name that no object has."""


SILENT: Final = "{}"


class Place(NamedTuple):
    """Something inside of JSON, by the keys that lead to it."""

    path: tuple[str | int, ...]

    @property
    def name(self) -> str:
        return ".".join(map(str, self.path))


def places(node: Any, path: tuple[str | int, ...] = ()) -> Iterator[Place]:
    """Yield every place in JSON, and in each object one that is not there."""
    if path:
        yield Place(path)
    if isinstance(node, dict):
        yield Place((*path, UNKNOWN))
    parts = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, part in parts:
        yield from places(part, (*path, key))


def with_odd(node: Any, path: tuple[str | int, ...], odd: Any) -> Any:
    """Return JSON with something else at a place."""
    if not path:
        return odd
    key, *rest = path
    if isinstance(node, list):
        return [with_odd(part, tuple(rest), odd) if number == key else part for number, part in enumerate(node)]
    return {**node, key: with_odd(node.get(key), tuple(rest), odd)}


KNOWN: Final = {
    "text": [OTHER],
    "query": [OTHER],
    "ghap_id": ["ghap_20260101_000000_abcdef"],
    "value_id": ["value_20260101_000000_abcdef"],
    "memory_id": ["00000000-0000-4000-8000-000000000000"],
    "cluster_id": ["full_0"],
    "since": ["2026-01-01"],
    "project": ["garden"],
}
EVENTS: Final = tuple(
    {
        "hook_event_name": event,
        "session_id": "s1",
        "cwd": "/",
        "transcript_path": "",
        "source": "startup",
        "prompt": OTHER,
        "tool_name": tool,
        "tool_use_id": "u1",
        "tool_input": {"command": "make test", "file_path": "/a.py", "old_string": "a", "new_string": "b"},
        "tool_response": {"stdout": "done", "stderr": "", "structuredPatch": [{"lines": ["-a", "+b"]}]},
        "error": "Exit code 1\nerror: no such lane",
        "agent_id": "a1",
        "agent_type": "Explore",
        "file_path": "/CLAUDE.md",
        "stop_hook_active": False,
        "reason": "clear",
    }
    for event, tool in (
        *(("SessionStart", ""), ("UserPromptSubmit", ""), ("PostToolUse", "Bash"), ("PostToolUse", "Edit")),
        ("PostToolUseFailure", "Bash"),
    )
)
"""What Claude Code says at the events that are more than a name."""


async def is_alive(agent: Agent) -> bool:
    """Return whether the server still answers."""
    return not (await agent.ask("get_stats")).is_refused


def full(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments for a tool with every argument that it knows."""
    whole: dict[str, Any] = {}
    for each in calls(schema, KNOWN):
        for name, said in each.items():
            # Of an object, the call with the most.
            both = isinstance(whole.get(name), dict) and isinstance(said, dict)
            whole[name] = {**whole[name], **said} if both else whole.get(name, said)
    return whole


async def test_a_tool_names_the_argument_that_is_odd(program: Program) -> None:
    wrong, dropped = [], set()
    async with program.agent(GARDENER) as agent:
        for name, tool in AGENTS_TOOLS.items():
            whole = full(tool.input_schema)
            # It would name a memory that is not there, and that alone would be refused.
            arguments = {key: each for key, each in whole.items() if key != "replaces"}
            usual = await agent.ask(name, **arguments)
            for place in places(whole):
                for kind, odd in ODD.items():
                    said = await agent.ask(name, **with_odd(arguments, place.path, odd))
                    where = f"{name} {place.name}"
                    if "unexpected" in said.text.casefold() or "internal_error" in said.text:
                        wrong.append((where, kind, said.text))
                    # Null means absent.
                    elif place.path[-1] == UNKNOWN and odd is not None and (said == usual or not said.is_refused):
                        if not is_kept(program, said.text, odd):
                            dropped.add(f"{where} {kind}")
                    elif said.is_refused and said != usual and tool.wire.is_structured:
                        error = json.loads(said.text)["error"]
                        is_named = error["type"] != "validation_error" or str(place.path[0]) in error["message"]
                        if error["type"] not in REFUSALS or not is_named:
                            wrong.append((where, kind, said.text))
            assert await is_alive(agent), name
    assert (wrong, dropped) == ([], set())


def is_kept(program: Program, reply: str, odd: Any) -> bool:
    """Return whether the memory that a call has added has what was said under a name that nobody knows."""
    kept = [program.services.memory_log.find(name) for name in _MEMORY_ID.findall(reply)]
    return any(each is not None and each.metadata.get(UNKNOWN) == odd for each in kept)


REFUSALS: Final = {"validation_error", "not_found", "insufficient_data", "active_ghap_not_found"}
"""Why a call may be refused, once its arguments are understood."""


async def test_a_hook_is_silent_about_what_is_odd(program: Program) -> None:
    crashes = set()
    async with program.agent(GARDENER) as agent:
        for event in EVENTS:
            for place in places(event):
                for kind, odd in ODD.items():
                    printed = await program.hook(with_odd(event, place.path, odd), program.storage, project="garden")
                    # Without a line the hub has failed.
                    if not printed or not json.loads(printed).keys() <= {"hookSpecificOutput", "systemMessage"}:
                        crashes.add(f"{place.name} {kind}")
        for odd in ODD.values():
            assert await program.hook(odd, program.storage) in {f"{SILENT}\n", ""}
        arguments = full(TOOLS[HOOK].input_schema)
        for place in places(arguments):
            for kind, odd in ODD.items():
                said = await agent.ask(HOOK, **with_odd(arguments, place.path, odd))
                if said.is_refused:
                    crashes.add(f"{HOOK} {place.name} {kind}")
        assert await is_alive(agent)
    assert crashes == set()
    log = (program.storage / "hub.log").read_text()
    assert "Traceback" not in log
    assert '"crashed"' not in log


CLIENTS: Final = ("", "codex", "gemini", "copilot", "cursor", "vscode")
"""Claude Code and the others, as their hooks say which one they are of."""
OTHER_EVENTS: Final = (
    {**EVENTS[0], "hook_event_name": "PreToolUse", "tool_name": "Bash"},
    {**EVENTS[0], "hook_event_name": "PreToolUse", "tool_name": "Task", "tool_input": {"prompt": OTHER}},
    {**EVENTS[0], "hook_event_name": "SubagentStart"},
    {**EVENTS[0], "hook_event_name": "InstructionsLoaded"},
    {**EVENTS[0], "hook_event_name": "Stop"},
    {"hookEventName": "postToolUse", "sessionId": "s1", "cwd": "/", "toolName": "bash", "toolArgs": "{}"},
    {"hook_event_name": "AfterTool", "conversation_id": "s1", "tool_response": {"llmContent": "Output: x"}},
    {"hook_event_name": "afterFileEdit", "file_path": "/a.py", "edits": [{"old_string": "a", "new_string": "b"}]},
)


@pytest.mark.parametrize("client", CLIENTS)
def test_no_client_s_event_is_too_odd_to_be_read(client: str) -> None:
    for event in (*EVENTS, *OTHER_EVENTS):
        for place in places(event):
            for odd in ODD.values():
                read = event_of(with_odd(event, place.path, odd), client)
                trigger_of(read, "s1")
    for odd in ODD.values():
        trigger_of(event_of(odd, client), "s1")
        for name in TOOLS[HOOK].input_schema["properties"]:
            trigger_of({"event": "PostToolUse", name: odd}, "s1")
