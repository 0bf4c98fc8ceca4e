"""One text has one origin: what a person is shown of what agents see is what they see."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from learning_memory_server.model.caller import Caller, session_hash
from learning_memory_server.model.rule import Rule, When
from learning_memory_server.server.app import CONTEXT_URI
from tests.command_line import in_line
from tests.laws.program import Program
from tests.laws.sowing import TOPIC, Words, entry
from tests.rules.making import PUSH, accepted

pytestmark = pytest.mark.slow

RULES: Final[dict[str, tuple[Rule, list[tuple[str, dict[str, Any]]]]]] = {
    "a call": (
        accepted("Never push", PUSH, project="garden"),
        [("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "git push"}})],
    ),
    "a topic": (
        accepted("Ask Ann about releases", when=When.TOPIC, topic=("release",), project="garden"),
        [("UserPromptSubmit", {"prompt": "release"})],
    ),
    "a start": (
        accepted("Short sentences", when=When.SESSION, project="garden"),
        [("SessionStart", {"source": "startup"})],
    ),
}
"""Rules, each with the events at which an agent sees it."""


async def test_the_command_prints_the_context_that_the_resource_gives(program: Program, work: Path) -> None:
    caller = Caller("garden", session_hash("reader"), folder=str(work))
    words = Words()
    async with program.agent(replace(caller, session=session_hash("author"))) as agent:
        for number in range(2):
            await entry(agent, words, f"entry{number}")
    texts = {each: f"{TOPIC} {each}" for each in ("goal", "hypothesis", "action", "prediction")}
    at_work = replace(caller, session=session_hash("at work"))
    async with program.agent(replace(caller, session=session_hash("gone"))) as agent:
        await agent.call("start_ghap", domain="testing", strategy="ask-user", **texts)
    program.services.rule_log.add(accepted("Short sentences", when=When.SESSION, project="garden"))
    with program.services.live.connected(at_work.session, os.getpid()):
        async with program.agent(at_work) as agent, program.agent(caller) as reader:
            await agent.call("start_ghap", domain="testing", strategy="ask-user", **texts)
            given = (await reader.resources())[CONTEXT_URI]
            printed = await program.command("context")
    assert [part for part in ("Open entries", "Others are at work", "Rules of your user") if part not in given] == []
    assert printed.text == given


@pytest.mark.parametrize("at", RULES)
async def test_what_show_says_that_agents_see_is_what_they_see(program: Program, work: Path, at: str) -> None:
    rule, events = RULES[at]
    program.services.rule_log.add(rule)
    shown = in_line((await program.command("rule", "show", rule.id)).text)
    seen = ""
    for event, given in events:
        said = await program.hook(
            {"hook_event_name": event, "session_id": "agent", "cwd": str(work), **given}, work, project="garden"
        )
        seen += texts_in(said)
    assert rule.text in seen
    assert in_line(seen) in shown


def texts_in(said: str) -> str:
    """Return what an answer of a hook says to the agent."""
    answer = json.loads(said)["hookSpecificOutput"]
    return str(answer.get("additionalContext") or answer.get("permissionDecisionReason"))
