"""An agent of a real Claude Code is asked once what it believed when its user objects."""

import json
from collections.abc import Iterator
from typing import Final

import pytest

from tests.claude_code.conftest import ClaudeCode, texts_of
from tests.claude_code.model import ScriptedModel, run, say, use
from tests.claude_code.terminal import at_terminal

pytestmark = pytest.mark.slow

ASKED: Final = "keep it now with one call of resolve_ghap"
OBJECTION: Final = "why do you mock the clock? we freeze it"


def questions(model: ScriptedModel) -> Iterator[str]:
    """Yield the questions that the model has read by its last request."""
    yield from (each for each in texts_of(model.requests[-1]) if ASKED in each)


def test_a_refusal_with_words_is_asked_about_after_the_next_edit(claude: ClaudeCode) -> None:
    write = [use("Write", file_path=str(claude.project / name), content="x = 1") for name in ("a.py", "b.py")]
    with at_terminal(claude, [run("git push"), *write, say("Later.")], "--allowedTools", "Write") as terminal:
        terminal.prompts("publish the branch")
        terminal.refuses("we never push before the tests")
        terminal.sees("Later.")
        (question,) = questions(terminal.model)
    assert 'Your user refused a call: "we never push before the tests".' in question


def test_an_objection_that_is_conceded_is_asked_about_at_the_end_of_work(claude: ClaudeCode) -> None:
    script = [say("The clock is mocked."), say("You're right, it is frozen."), say("It was about today only.")]
    with at_terminal(claude, script) as terminal:
        terminal.prompts("test the clock")
        terminal.sees("is mocked.")
        terminal.prompts(OBJECTION)
        terminal.sees("about today only.")
        (question,) = questions(terminal.model)
    assert f'Your user objected, and you agreed: "{OBJECTION}".' in question


def test_nobody_is_asked_without_a_terminal_and_the_answer_stays(claude: ClaudeCode) -> None:
    session = claude.session(OBJECTION, [say("You're right, it is frozen.")])
    assert session.done.stdout.strip() == "You're right, it is frozen."
    assert ASKED not in json.dumps(session.requests)
