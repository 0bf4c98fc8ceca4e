"""Tools with a rule that cannot be guessed, in sessions of Claude Code: an earlier one's lesson is told in time."""

import json
from dataclasses import dataclass
from typing import Any, Final

import pytest

from tests.claude_code.conftest import MODEL, ClaudeCode
from tests.claude_code.model import Block, delegate, run, say, use
from tests.claude_code.test_agents import load
from tests.claude_code.test_sessions import TOOLS

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True)
class Trap:
    """A tool, what it says if it is called as one would guess, and what an earlier agent has learned."""

    tool: str
    says: str
    goal: str
    hypothesis: str
    takeaway: str

    def write(self, claude: ClaudeCode) -> None:
        script = claude.project / self.tool
        script.write_text(f'#!/bin/sh\necho "{self.says}" >&2\nexit 4\n')
        script.chmod(0o755)

    def set_up(self, claude: ClaudeCode) -> None:
        """Put the tool into the project, and keep what was learned about it, and about something else."""
        self.write(claude)
        cause = {"category": "missing-knowledge", "description": "The tool has a rule of its own"}
        end = {"status": "falsified", "result": "It was something else", "surprise": "The guess was wrong"}
        for goal, hypothesis, takeaway in ((self.goal, self.hypothesis, self.takeaway), OTHER):
            claude.learn(*entry(goal, hypothesis, takeaway, root_cause=cause, **end), **MODEL)


def entry(goal: str, hypothesis: str, takeaway: str, *between: Block, **end: Any) -> list[Block]:
    """Return the calls that begin an entry and end it."""
    begun = {"goal": goal, "hypothesis": hypothesis, "action": "Try it", "prediction": "It works then"}
    lesson = {"what_worked": "what the takeaway says", "takeaway": takeaway}
    return [
        use(f"{TOOLS}start_ghap", domain="debugging", strategy="read-the-error", **begun),
        *between,
        use(f"{TOOLS}resolve_ghap", lesson=lesson, **end),
    ]


OTHER: Final = (
    "Make the nightly export finish before six",
    "The export is slow because of its indexes",
    "Take the export from the replica: on the primary it waits for the vacuum",
)
UNIT: Final = Trap(
    "doser",
    "doser: valve 2 does not answer",
    "Add two litres of water to basin 1 with ./doser",
    "Valve 2 is broken",
    "./doser takes hundredths of a millilitre, not litres; a small amount is reported as a valve that does not answer",
)
ORDER: Final = Trap(
    "lantern",
    "lantern: page is blank",
    "Show slide 7 with ./lantern",
    "The slide's file is empty",
    "./lantern must be warmed up with './lantern --dark' before the first slide, else every page is blank",
)
REVERSED: Final = Trap(
    "sorter",
    "sorter: no such shelf",
    "Put the parcels for shelf B12 away with ./sorter",
    "Shelf B12 was renamed",
    "./sorter wants a shelf's name backwards, 21B for B12; any other way it says that there is no such shelf",
)


def test_a_lesson_is_told_at_the_action_also_where_a_filter_hides_that_it_failed(claude: ClaudeCode) -> None:
    UNIT.set_up(claude)

    session = claude.session(
        "continue", [run(f"./{UNIT.tool} basin-2 3 2>&1 | tail -20; echo rc=$?"), say("I see.")], **MODEL
    )

    assert UNIT.says in session.results()[0]
    told = session.told(1).removeprefix(session.told(0))
    assert f"This may help: {UNIT.takeaway}" in told
    assert OTHER[2] not in told


def test_a_lesson_is_told_in_the_first_session_of_a_day(claude: ClaudeCode) -> None:
    ORDER.set_up(claude)
    claude.memory.kill_hub()

    session = claude.session("Please show slide 9 with ./lantern for the visitors", [say("I see.")], **MODEL)

    assert ORDER.takeaway in session.told(0)


def test_a_lesson_is_told_to_a_subagent_whose_command_fails(claude: ClaudeCode) -> None:
    REVERSED.set_up(claude)

    session = claude.session(
        "divide the work",
        [delegate("task-one"), say("It works."), say("Done.")],
        agents={"task-one": [run(f"./{REVERSED.tool} B14 parcel-3"), say("I see.")]},
        **MODEL,
    )

    heard = [json.dumps(each) for each in session.everything if REVERSED.says in json.dumps(each)]
    assert any(f"This may help: {REVERSED.takeaway}" in each for each in heard)
    main = [each for each in session.requests if "divide the work" in json.dumps(each)]
    assert not any("This may help" in json.dumps(each) for each in main)


PRESS: Final = Trap("press", "press: error: feed schema mismatch at column 3", "", "", "")
ABOUT_PRESS: Final = (
    ("Load May with ./press", f"The header is wrong: {PRESS.says}", "./press wants --schema v2"),
    ("Load June with ./press", "feed schema mismatch at column 3 is about the date", "run ./press --seal first"),
    ("Print labels with ./press", "They are too wide", "./press cuts labels at 40 characters"),
    # The context of a session has the newest lessons.
    *((f"Tidy the {name}", "It has old lines", f"keep a week of the {name}") for name in ("log", "list", "index")),
)


def test_the_last_of_two_lessons_about_an_error_is_shown_at_its_first_failure(claude: ClaudeCode) -> None:
    """Of three about the tool, two quote the error; the main agent and a subagent are shown it."""
    PRESS.write(claude)
    end = {"status": "confirmed", "result": "It was that"}
    quoting, others = ABOUT_PRESS[:2], ABOUT_PRESS[2:]
    failed = [call for about in quoting for call in entry(*about, run("./press feed may.csv"), **end)]
    claude.session("begin", [load(), *failed, say("Closed.")], **MODEL)
    claude.learn(*(call for about in others for call in entry(*about, **end)), **MODEL)

    session = claude.session(
        "divide the work",
        [run("./press feed july.csv"), delegate("task-one"), say("It works."), say("Done.")],
        agents={"task-one": [run("./press feed august.csv"), say("I see.")]},
        **MODEL,
    )

    origin = "Learned at `press: error: feed schema mismatch at column <n>`:"
    told = f"{origin} run ./press --seal first (learned in ghap_"
    for file in ("july", "august"):
        heard = [json.dumps(each) for each in session.everything if f"feed {file}.csv" in json.dumps(each)]
        assert any(told in each for each in heard), file
    main = [json.dumps(each) for each in session.requests if "divide the work" in json.dumps(each)]
    assert max(each.count(origin) for each in main) == 1
