"""A user at a terminal refuses calls of a real Claude Code, with words and without."""

import json
import re
from collections.abc import Callable

import pytest

from tests.acceptance.hubs import until
from tests.claude_code.conftest import ClaudeCode, texts_of
from tests.claude_code.model import Block, Said, ScriptedModel, delegate, run, say, use
from tests.claude_code.terminal import Terminal, at_terminal
from tests.claude_code.test_sessions import TOOLS, load, start

pytestmark = pytest.mark.slow

WORDS = "pull rebase first"
QUESTION = "If that says how to work here from now on"
_NAME = re.compile(r"\((refusal_[0-9a-f]{8})\)")


def told_in(model: ScriptedModel) -> list[str]:
    """Return what each request with tools has of refusals, from the memory."""
    asked = [request["messages"] for request in model.requests if request.get("tools")]
    return ["\n".join(text for text in texts_of(each) if "the user refused `" in text) for each in asked]


def thought(claude: ClaudeCode, block: Block, words: str = WORDS) -> Callable[[], Block]:
    """Return a block that a model says after some thought: the client has written the refusal to a file by then."""

    def is_written() -> bool:
        return any(words in path.read_text() for path in claude.home.glob(".claude/projects/**/*.jsonl"))

    def said() -> Block:
        until(is_written, "the refusal is in no transcript")
        return block

    return said


def keep(terminal: Callable[[], Terminal]) -> Callable[[], Block]:
    """Return a block that keeps the refusal that the agent was asked about."""

    def said() -> Block:
        names = _NAME.findall(json.dumps(terminal().model.requests))
        return use(f"{TOOLS}add_memory", text="before every push", refusal=names[-1] if names else "none")

    return said


def test_a_refusal_with_words_is_asked_about_kept_and_quoted_in_the_next_session(claude: ClaudeCode) -> None:
    find = use("ToolSearch", query=f"select:{TOOLS}add_memory", max_results=5)
    script: list[Said] = [
        run("git push"),
        thought(claude, run("echo on")),
        find,
        keep(lambda: terminal),
        say("Kept it."),
        say("Later."),
    ]
    with at_terminal(claude, script) as terminal:
        terminal.prompts("publish the branch")
        terminal.refuses(WORDS)
        terminal.sees("Kept it.")
        terminal.sees(f'kept "{WORDS}", undo: learning-memory-server forget')
        terminal.prompts("thank you")
        terminal.sees("Later.")
    told = told_in(terminal.model)
    # Asked with the result of the next call, and once.
    assert [QUESTION in text for text in told[:3]] == [False, False, True]
    assert all(text.count(QUESTION) == 1 for text in told[2:])
    assert f'the user refused `git push`: "{WORDS}" (refusal_' in told[-1]

    assert WORDS in claude.command("memories")
    later = claude.session("now git push", [say("I see.")])
    assert re.search(
        rf'On \d+ \w+ \d+ the user refused `git push`: "{WORDS}" \(when: before every push\)', later.told()
    )
    other = claude.session("tidy up", [say("I see.")])
    assert "refused" not in other.told()


def test_a_refusal_without_words_is_not_asked_about(claude: ClaudeCode) -> None:
    with at_terminal(claude, [run("git push"), run("echo on"), say("All right.")]) as terminal:
        terminal.prompts("publish the branch")
        terminal.refuses()
        terminal.sees("Interrupted")
        terminal.prompts("go on")
        terminal.sees("All right.")
    assert set(told_in(terminal.model)) == {""}


def test_what_no_call_follows_is_asked_about_when_the_agent_stops_and_beside_no_reminder(claude: ClaudeCode) -> None:
    with at_terminal(claude, [run("git push"), thought(claude, say("Not now.")), say("Noted.")]) as terminal:
        terminal.prompts("publish the branch")
        terminal.refuses(WORDS)
        terminal.sees("Noted.")
    assert [QUESTION in text for text in told_in(terminal.model)] == [False, False, True]

    with at_terminal(
        claude,
        [
            load(),
            start(),
            run("git push"),
            thought(claude, say("Open."), "use the release script"),
            say("It stays."),
            say("Asked."),
        ],
    ) as terminal:
        terminal.prompts("publish the branch")
        terminal.refuses("use the release script")
        # It was reminded of its entry.
        terminal.sees("It stays.")
        terminal.prompts("and now?")
        terminal.sees("Asked.")
    assert [QUESTION in text for text in told_in(terminal.model)] == [False] * 5 + [True]


def test_a_subagent_s_refusal_is_asked_about_in_the_main_agent(claude: ClaudeCode) -> None:
    agents: dict[str, list[Said]] = {"task-one": [run("git push"), thought(claude, say("I was refused."))]}
    with at_terminal(claude, [delegate("task-one"), say("Waiting."), say("It ended.")], agents=agents) as terminal:
        terminal.prompts("divide the work")
        terminal.refuses(WORDS)
        terminal.sees("It ended.")
    said = [json.dumps(each) for each in terminal.model.requests]
    assert any(QUESTION in each and "divide the work" in each for each in said)
    assert not any(QUESTION in each and "divide the work" not in each for each in said)


def test_nobody_is_asked_where_nobody_attends(claude: ClaudeCode) -> None:
    session = claude.session("publish the branch", [run("git push"), say("Done with it.")], "--disallowedTools", "Bash")
    assert (session.done.returncode, session.done.stdout) == (0, "Done with it.\n")
    assert "the user refused" not in json.dumps(session.everything)
