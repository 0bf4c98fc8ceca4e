"""A user at a terminal refuses calls of a real Claude Code, with words and without."""

import json

import pytest

from tests.claude_code.conftest import ClaudeCode
from tests.claude_code.model import run, say
from tests.claude_code.terminal import at_terminal

pytestmark = pytest.mark.slow


def test_a_call_that_was_refused_with_words_is_counted_in_the_report_of_past_sessions(claude: ClaudeCode) -> None:
    with at_terminal(claude, [run("git push"), say("Later."), run("git pull"), say("All right.")]) as terminal:
        terminal.prompts("publish the branch")
        terminal.refuses("pull rebase first")
        terminal.sees("Later.")
        terminal.prompts("fetch the rest")
        terminal.refuses()
        terminal.sees("Interrupted")
    assert json.loads(claude.command("learn-from", "--report", "--json"))["refused"] == 1
    assert not any("the user refused" in json.dumps(each) for each in terminal.model.requests)
