"""The tool that a client's hooks call: what each event is answered with, and what is kept."""

import json
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from mcp import Client
from structlog.testing import capture_logs

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.hooks.hooks import Hooks
from learning_memory_server.model.caller import Caller, session_hash
from learning_memory_server.server.calls import Calls
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.settings import Settings
from tests.advice.parts import MeasuredModel
from tests.server.agent import CALLER, CONFIRMED, ENTRY, Agent, agent_of, at_work, connected, only_text
from tests.support import in_one_task
from tests.tool_names import NAMES

BEARING = f"{ENTRY['goal']}: {ENTRY['hypothesis']}"
"""What the lesson bears on."""
FAILED = "Exit code 1\n= 1 failed, 3 passed in 0.1s ="


class Hooked:
    """A client with hooks."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def fire(self, event: str, **given: str) -> str:
        """Return what an event puts into the context; nothing if it is answered with silence."""
        result = await self.client.call_tool("hook", {"event": {"event": event, "session": "s1", **given}})
        assert not result.is_error
        assert result.structured_content is None
        text = only_text(result)
        if text == "{}":
            return ""
        said = json.loads(text)["hookSpecificOutput"]
        assert said.keys() == {"hookEventName", "additionalContext"}
        assert said["hookEventName"] == event
        context: str = said["additionalContext"]
        return context

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        payload: dict[str, Any] = (await self.client.call_tool(tool, arguments)).structured_content or {}
        return payload


@asynccontextmanager
async def hooked_to(services: Services | Mapping[type, object]) -> AsyncIterator[Hooked]:
    injectable = services if isinstance(services, dict) else services.injectable()  # type: ignore[union-attr]
    async with connected(Calls(injectable, CALLER, has_hooks=True)) as client:
        yield Hooked(client)


@pytest.fixture
async def hooked(services: Services) -> AsyncIterator[Hooked]:
    async with in_one_task(hooked_to(services)) as connected:
        yield connected


@pytest.fixture
async def advising(settings: Settings) -> AsyncIterator[Services]:
    """Services that find advice, and have all the time for it that a busy machine needs."""
    async with at_work(settings, load=MeasuredModel) as services:
        services.room.has_deadline = False
        yield services


@pytest.fixture
async def lesson(advising: Services) -> str:
    """The id of an entry of an earlier session, with a lesson."""
    async with agent_of(advising, replace(CALLER, session=session_hash("earlier"))) as agent:
        return await agent.resolve_new(**CONFIRMED)


@pytest.fixture
async def advised(advising: Services, lesson: str) -> AsyncIterator[Hooked]:  # noqa: ARG001 - it is there
    """A client with hooks, where advice finds the lesson."""
    async with in_one_task(hooked_to(advising)) as connected:
        yield connected


async def test_only_a_client_with_hooks_sees_the_tool_and_its_model_does_not(hooked: Hooked, agent: Agent) -> None:
    listed = (await hooked.client.list_tools()).tools

    assert [tool.name for tool in listed] == [*NAMES, "hook"]
    assert listed[-1].meta == {"ui": {"visibility": ["app"]}}
    assert all(tool.meta is None for tool in listed[:-1])
    assert list(agent.tools) == NAMES
    assert "There is no tool 'hook'" in (await agent.refused("hook", event={"event": "Stop"}))["message"]


async def test_a_session_starts_with_the_context_of_its_project(
    services: Services, hooked: Hooked, agent: Agent
) -> None:
    assert await hooked.fire("SessionStart", session="s0") == ""
    await agent.resolve_new(**CONFIRMED)
    started = await agent.call("start_ghap", **ENTRY)

    shown = await hooked.fire("SessionStart")

    assert shown == await services.room.context(CALLER, "", has_rules=True)
    assert started["id"] in shown
    # What is new is no reason to show it.
    assert "deploys must clear the cache" not in shown


async def test_the_first_prompt_brings_the_context_that_the_start_did_not(
    services: Services, hooked: Hooked, agent: Agent
) -> None:
    entry = (await agent.call("start_ghap", **ENTRY))["id"]

    assert entry in await hooked.fire("UserPromptSubmit", prompt="go on")
    assert await hooked.fire("UserPromptSubmit", prompt="go on") == ""
    # Some clients ask before they have heard of the start. To others it happens again: after a compaction.
    assert await hooked.fire("SessionStart", again="true") == ""
    assert await hooked.fire("SessionStart") == await services.room.context(CALLER, "", has_rules=True)
    await hooked.fire("SessionStart", session="s2")
    assert await hooked.fire("UserPromptSubmit", prompt="go on", session="s2") == ""


async def test_a_session_that_is_resumed_is_told_what_is_new_and_all_of_it_once_its_context_was_emptied(
    services: Services, hooked: Hooked
) -> None:
    first = await hooked.fire("SessionStart", source="startup")
    assert first == ""
    entry = (await hooked.call("start_ghap", **ENTRY))["id"]
    told = await hooked.fire("SessionStart", source="compact")
    assert entry in told

    await hooked.fire("SessionEnd")
    assert await hooked.fire("SessionStart", source="resume") == ""
    assert await hooked.fire("SessionStart", source="compact") == told
    assert await hooked.fire("SessionStart", source="clear", session="s2") == told

    another = replace(CALLER, session="c" * 16)
    async with connected(Calls(services.injectable(), another)) as client:
        new = (
            await client.call_tool("start_ghap", {**ENTRY, "goal": "Give the crawler a larger cache"})
        ).structured_content
    assert new
    resumed = await hooked.fire("SessionStart", source="resume", session="s2")
    assert new["id"] in resumed
    assert entry not in resumed


async def test_an_agent_that_stops_is_reminded_of_its_open_entry_once(hooked: Hooked) -> None:
    assert await hooked.fire("Stop") == ""
    entry = (await hooked.call("start_ghap", **ENTRY))["id"]

    assert await hooked.fire("Stop", again="true") == ""
    told = await hooked.fire("Stop")

    assert entry in told
    assert ENTRY["goal"] in told
    assert ENTRY["prediction"] in told
    assert "resolve_ghap" in told
    assert await hooked.fire("Stop") == ""
    # A session that was cleared has not heard of it.
    assert entry in await hooked.fire("Stop", session="s2")
    # The log knows it, also once the session has ended.
    await hooked.fire("SessionEnd")
    assert await hooked.fire("Stop") == ""


@pytest.mark.parametrize("event", ["Stop", "SubagentStop"])
async def test_where_nobody_reads_along_an_answer_is_not_followed_by_a_reminder(services: Services, event: str) -> None:
    for is_attended in (False, True):
        caller = replace(CALLER, is_attended=is_attended)
        async with connected(Calls(services.injectable(), caller, has_hooks=True)) as client:
            hooked = Hooked(client)
            if not is_attended:
                await hooked.call("start_ghap", **ENTRY)
            assert bool(await hooked.fire(event)) is is_attended


async def test_each_entry_has_its_own_reminder_and_a_resolved_one_none(hooked: Hooked) -> None:
    first = (await hooked.call("start_ghap", **ENTRY))["id"]
    assert first in await hooked.fire("Stop")
    await hooked.call("resolve_ghap", **CONFIRMED)
    assert await hooked.fire("Stop", session="s2") == ""

    second = (await hooked.call("start_ghap", **ENTRY))["id"]

    assert second in await hooked.fire("Stop")


async def test_runs_are_kept_with_the_open_entry_and_shown_when_it_is_resolved(
    services: Services, hooked: Hooked
) -> None:
    entry = (await hooked.call("start_ghap", **ENTRY))["id"]
    ran = {"folder": "/work/shop", "command": "cd /work/shop && pytest -q"}

    assert await hooked.fire("PostToolUseFailure", **ran, error=FAILED) == ""
    assert await hooked.fire("PostToolUse", **ran, output="4 passed in 0.1s", stderr="a warning") == ""
    await hooked.fire("PostToolUse", folder="/work/shop", command="ls")
    await hooked.fire("PostToolUse", **ran, background="true")
    await hooked.fire("PostToolUse", **ran, task="b1")
    await hooked.fire("PostToolUseFailure", **ran, error="It was interrupted.")

    runs = ["cd . && pytest -q: exit 1, 1 failed, 3 passed", "cd . && pytest -q: exit 0, 4 passed"]
    assert (await hooked.call("get_active_ghap"))["runs"] == runs
    told = await hooked.fire("Stop")
    assert all(f"Seen: {run}" in told for run in runs)
    assert (await hooked.call("resolve_ghap", **CONFIRMED))["runs"] == runs
    assert (await hooked.call("get_ghap_entry", ghap_id=entry))["runs"] == runs
    # They are in the journal: a collector that reads it again has them.
    (kept,) = ObservationCollector(services.journal, services.clock).list_resolved()
    assert [str(run) for run in kept.runs] == runs


async def test_a_run_without_an_open_entry_is_not_kept(services: Services, hooked: Hooked) -> None:
    await hooked.fire("PostToolUseFailure", command="pytest", error=FAILED)

    assert "runs" not in await hooked.call("start_ghap", **ENTRY)
    assert services.collector.still_open.current(CALLER).runs == ()  # type: ignore[union-attr]


async def test_no_secret_is_kept_of_a_command_its_output_or_error(services: Services, hooked: Hooked) -> None:
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    command = f"GITHUB_TOKEN={token} make"
    await hooked.call("start_ghap", **ENTRY)

    await hooked.fire("PostToolUse", command=command, output=f"token: {token}")
    await hooked.fire("PostToolUseFailure", command=command, error=f"Exit code 1\nerror: bad token {token}")

    runs = (await hooked.call("get_active_ghap"))["runs"]
    assert len(runs) == 2
    assert all("redacted" in run for run in runs)
    written = [path.read_text("utf-8") for path in services.journal.path.rglob("*") if path.is_file()]
    assert any("bad token" in text for text in written)
    assert not any(token in text for text in written)


async def test_a_prompt_is_answered_with_one_lesson_bearing_on_it_once_a_session(advised: Hooked, lesson: str) -> None:
    told = await advised.fire("UserPromptSubmit", prompt=BEARING)

    assert "deploys must clear the cache" in told
    assert lesson in told
    assert await advised.fire("UserPromptSubmit", prompt=BEARING) == ""
    assert await advised.fire("UserPromptSubmit", prompt=BEARING, session="s2") == told
    assert await advised.fire("UserPromptSubmit", prompt="draw the owl in the meadow") == ""


async def test_a_failing_command_is_counted_and_what_mended_it_is_shown_to_nobody(
    services: Services, hooked: Hooked
) -> None:
    failing = {
        "folder": "/work/shop",
        "command": "npm run build",
        "error": "Exit code 1\nerror: the output is lost, use --verbose",
    }
    assert await hooked.fire("PostToolUseFailure", **failing) == ""
    await hooked.fire("PostToolUse", folder="/work/shop", command="npm run build --verbose")

    assert await hooked.fire("PostToolUseFailure", **failing, session="s2") == ""
    # What a user did not permit says nothing of the command.
    assert await hooked.fire("PostToolUseFailure", **{**failing, "error": "The user refused."}) == ""
    (failure,) = services.failure_log.all()
    assert (failure.worked, failure.advice) == ("npm run build --verbose", None)


async def test_a_failing_command_is_answered_with_the_lesson_that_names_its_error_once(
    advised: Hooked, lesson: str
) -> None:
    failing = {"command": "shipit deploy", "error": f"Exit code 1\nerror: {BEARING}"}

    told = await advised.fire("PostToolUseFailure", **failing)

    assert "This may help: deploys must clear the cache" in told
    assert lesson in told
    assert await advised.fire("PostToolUseFailure", **failing) == ""
    assert await advised.fire("PostToolUseFailure", **failing, session="s2") == told
    # Its words are those of any error.
    general = {**failing, "error": "Exit code 1\nTypeError: 'NoneType' object is not subscriptable"}
    assert await advised.fire("PostToolUseFailure", **general, session="s3") == ""
    # Where a filter hides whether it failed, the lesson must name the program.
    for program in ("./shipit", "./checkout"):
        ran = {"command": f"{program} | tail -3", "output": BEARING, "session": f"s {program}"}
        assert (lesson in await advised.fire("PostToolUse", **ran)) is (program == "./checkout")


async def test_a_subagent_is_shown_the_lesson_that_bears_on_its_own_task(advised: Hooked) -> None:
    assert await advised.fire("SubagentStart", agent="a0", kind="Explore") == ""
    for kind, given in (("Plan", "draw the owl in the meadow"), ("Explore", BEARING)):
        assert await advised.fire("PreToolUse", agent="", prompt=given, kind=kind) == ""

    told = await advised.fire("SubagentStart", agent="a1", kind="Explore")

    assert "This may help with the task: deploys must clear the cache" in told
    assert await advised.fire("SubagentStart", agent="a2", kind="Plan") == ""
    assert await advised.fire("SubagentStart", agent="a3", kind="Explore") == ""
    # Another agent has not heard it.
    await advised.fire("PreToolUse", agent="", prompt=BEARING, kind="Explore")
    assert await advised.fire("SubagentStart", agent="a4", kind="Explore") == told


async def test_a_subagent_that_stops_is_reminded_of_its_own_entry_alone(services: Services) -> None:
    calls = Calls(services.injectable(), CALLER, has_hooks=True)

    async def stops(agent: str, event: str) -> str:
        return (await calls.call(None, "hook", {"event": {"event": event, "session": "s1", "agent": agent}})).text

    await calls.call(None, "hook", {"event": {"event": "PreToolUse", "agent": "a1", "call": "toolu_1"}})
    await calls.call(1, "start_ghap", dict(ENTRY), tool_use="toolu_1")

    assert await stops("", "Stop") == await stops("a2", "SubagentStop") == "{}"
    assert "is still open" in await stops("a1", "SubagentStop")
    assert await stops("a1", "SubagentStop") == "{}"


@pytest.mark.parametrize("event", ["", "Unknown", "SessionEnd", "PreToolUse"])
async def test_other_events_are_answered_with_silence(event: str, hooked: Hooked) -> None:
    await hooked.call("start_ghap", **ENTRY)

    assert await hooked.fire(event, command="pytest") == ""


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"event": 3},
        {"event": "Stop"},
        {"event": {}},
        {"event": {"event": 3}},
        {"event": {"event": "Stop", "folder": None, "unknown": "x"}},
        {"event": {"event": "Stop"}, "session": "s1"},
    ],
)
async def test_arguments_that_do_not_fit_meet_with_silence(arguments: dict[str, Any], hooked: Hooked) -> None:
    result = await hooked.client.call_tool("hook", arguments)

    assert (result.is_error, only_text(result)) == (False, "{}")


class Broken(Hooks):
    """Hooks over a disk that is full."""

    def __init__(self, failure: Exception) -> None:
        self._failure = failure

    async def answer(self, event: Mapping[str, object], caller: Caller, context: str) -> str:
        """Fail, whatever the event."""
        del event, caller, context
        raise self._failure


@pytest.mark.parametrize("failure", [JournalUnavailableError("The disk is full."), RuntimeError("a defect")])
async def test_whatever_fails_is_answered_with_silence(services: Services, failure: Exception) -> None:
    broken: Mapping[type, object] = {**services.injectable(), Hooks: Broken(failure)}
    async with hooked_to(broken) as hooked:
        assert await hooked.fire("Stop") == ""


PIECES = (
    *("", "N=1", "N=$(grep -c X f)", "A=1 B=2", "A=1 make", "> f", "2>&1", "< f", ">", "()", "''", '"', "$(", "<<end"),
    *("sudo", "sudo -u", "env A=1", "timeout 5", "npx", "uv run", "yarn", "docker compose"),
    *("python -m", "-m", "./", "/"),
    *("cd", "cd x", "make check", "git sttaus", "| tail", "{", ")", "done", "echo $?", "#", "\\"),
)
ENDED = ("", "Exit code 1\nerror: unknown command: make", "Exit code 127\nbash: make: command not found", "Exit code 2")


async def test_whatever_a_command_consists_of_its_event_is_answered(hooked: Hooked) -> None:
    chosen = random.Random(7)
    commands = ["N=$(grep -c X f) && echo $N", *PIECES]
    for _ in range(300):
        pieces = chosen.choices(PIECES, k=chosen.randint(1, 4))
        commands.append(
            "".join(piece + chosen.choice((" ", " && ", "; ", " | ", " || ", "\n", "&")) for piece in pieces)
        )
    with capture_logs() as logs:
        for number, command in enumerate(commands):
            error = chosen.choice(ENDED)
            event = "PostToolUseFailure" if error else "PostToolUse"
            # It fails, and works: it may mend what failed before.
            for ending in ({"error": error}, {"output": f"error: no such file\n{number}"}):
                await hooked.fire(event, session=str(number % 5), command=command, folder="/srv/shop", **ending)
    assert [each for each in logs if each["log_level"] == "error"] == []
