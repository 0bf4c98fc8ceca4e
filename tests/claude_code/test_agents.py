"""Several agents at once in Claude Code: whose entry a call without an id is about."""

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.entry import Ghap
from tests.acceptance.hubs import ENTRY
from tests.claude_code.conftest import MODEL, ClaudeCode
from tests.claude_code.model import Block, Said, delegate, run, say, use
from tests.claude_code.test_sessions import CONFIRMED, LESSON, STALE, TOOLS, with_rules
from tests.support import MINUTES, TickingClock

pytestmark = pytest.mark.slow

MAIN: Final = "the main agent"


def load() -> Block:
    names = ",".join(f"{TOOLS}{name}_ghap" for name in ("start", "update", "resolve", "get_active"))
    return use("ToolSearch", query=f"select:{names}", max_results=5)


def start(goal: str) -> Block:
    return use(f"{TOOLS}start_ghap", **{**ENTRY, "goal": goal})


def end(result: str) -> Block:
    """Return a resolution without an id."""
    return use(f"{TOOLS}resolve_ghap", status="abandoned", result=result)


def after(barrier: threading.Barrier, block: Block) -> Callable[[], Block]:
    """Return a block that is said once everybody at the barrier has come to this point."""

    def said() -> Block:
        barrier.wait(MINUTES)
        return block

    return said


def resolved(claude: ClaudeCode) -> dict[str, Ghap]:
    """Return the resolved entries by their goals."""
    collector = ObservationCollector(Journal(claude.memory.storage / "journal"), TickingClock())
    return {entry.goal: entry for entry in collector.list_resolved()}


def test_three_agents_of_a_session_have_an_entry_each(claude: ClaudeCode) -> None:
    with_rules(claude)
    # The model is asked by one agent after the other: each entry is open before the first is closed.
    opened, ran = threading.Barrier(3), threading.Barrier(3)

    def work(name: str, *between: Said) -> list[Said]:
        return [start(name), after(opened, run(f"echo {name}")), *between, after(ran, end(f"the end of {name}"))]

    session = claude.session(
        "divide the work",
        [load(), delegate("task-one"), delegate("task-two"), *work(MAIN), say("Closed.")],
        agents={"task-one": [load(), *work("task-one", run(STALE))], "task-two": [load(), *work("task-two")]},
    )

    assert session.done.returncode == 0, session.done.stderr
    entries = resolved(claude)
    assert {goal: entry.outcome.result for goal, entry in entries.items()} == {
        name: f"the end of {name}" for name in (MAIN, "task-one", "task-two")
    }
    # What one agent ran is kept with its entry.
    assert [str(each) for each in entries["task-one"].runs] == [f"{STALE}: exit 2, 1 failed, 3 passed"]
    assert entries[MAIN].runs == entries["task-two"].runs == ()
    assert len({entry.agent_session for entry in entries.values()}) == 1
    assert entries[MAIN].agent == "main"
    assert len({entry.agent for entry in entries.values()}) == 3
    # The hook that tells which agent calls says nothing.
    assert "PreToolUse:mcp__" not in json.dumps(session.everything)


def test_two_live_sessions_of_a_project_leave_each_other_s_entries_alone(claude: ClaudeCode) -> None:
    opened, seen = threading.Barrier(2), threading.Barrier(2)

    def script(name: str) -> list[Said]:
        return [
            load(),
            start(name),
            after(opened, use(f"{TOOLS}get_active_ghap")),
            after(seen, end(f"the end of {name}")),
            say("Closed."),
        ]

    with ThreadPoolExecutor(2) as pool:
        names = ("first session", "second session")
        sessions = list(pool.map(lambda name: claude.session("begin", script(name)), names))

    assert {goal: entry.outcome.result for goal, entry in resolved(claude).items()} == {
        name: f"the end of {name}" for name in names
    }
    for session, own, other in zip(sessions, names, reversed(names), strict=True):
        active: dict[str, Any] = json.loads(session.results()[2])
        assert active["goal"] == own
        assert [each["goal"] for each in active["open_elsewhere"]] == [other]
        assert active["open_elsewhere"][0]["owner"] == "another live session"
        assert "orphaned" not in active
        assert "hint" not in active


def test_the_entry_of_a_session_that_has_ended_is_an_orphan(claude: ClaudeCode) -> None:
    claude.session("begin", [load(), start("left open"), say("Bye."), say("Bye.")])
    assert "left open" in claude.command("context")

    later = claude.session("go on", [load(), use(f"{TOOLS}get_active_ghap"), say("I see.")])

    assert "left open" in later.told(0)
    active = json.loads(later.results()[1])
    assert [each["goal"] for each in active["orphaned"]] == ["left open"]
    assert "ghap_id" in active["hint"]
    assert "open_elsewhere" not in active


def test_a_subagent_is_told_what_bears_on_its_task(claude: ClaudeCode) -> None:
    taught = use(f"{TOOLS}resolve_ghap", **CONFIRMED)
    claude.learn(start(ENTRY["goal"]), taught, **MODEL)

    session = claude.session(
        "divide the work",
        [delegate(f"task-one: {ENTRY['goal']}: {ENTRY['hypothesis']}"), say("It works."), say("Done.")],
        agents={"task-one": [load(), start("a part of it"), say("I stop."), say("I stop again.")]},
        **MODEL,
    )

    said = [json.dumps(each) for each in session.everything]
    of_subagent = [each for each in said if "a part of it" in each and "divide the work" not in each]
    main = [each for each in said if "divide the work" in each]
    assert f"This may help with the task: {LESSON}" in of_subagent[-1]
    assert main
    assert not any("This may help with the task" in each for each in main)
    # `claude -p` prints the last answer: neither is reminded of the entry that is still open.
    assert not any("is still open" in each for each in said)
