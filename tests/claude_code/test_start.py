"""The first hour with the real client: `start` in a project with past sessions, and what its agents are told of it."""

from pathlib import Path

import pytest

from tests.claude_code.conftest import ClaudeCode
from tests.claude_code.model import run, say
from tests.client_folders import folder_name
from tests.lessons.errors.written import failed, ran, write_transcript

pytestmark = pytest.mark.slow

ERROR = "Exit code 1\nSyntaxError: invalid syntax"


def test_one_command_after_the_installation_a_person_reads_figures_and_agents_are_told_none(claude: ClaudeCode) -> None:
    past = claude.home / ".claude" / "projects" / folder_name(claude.project)
    past.mkdir(parents=True)
    for number, name in enumerate(("a", "b")):
        calls = (failed("python app.py", ERROR), ran("python3 app.py"))
        write_transcript(past / f"{name}.jsonl", *calls, session=name, folder=str(claude.project), hour=number)
    # Its `python` is too old, as on the machine of the past sessions.
    python = Path(claude.home.parent, "bin", "python")
    python.write_text("#!/bin/sh\necho 'SyntaxError: invalid syntax' >&2\nexit 1\n", "utf-8")
    python.chmod(0o755)

    said = claude.command("start", "--yes")
    assert "your agents ran" in said
    assert "`python3 app.py` worked next in 2/2" in said

    session = claude.session("go", [run("python app.py"), say("Done.")], plugin=None)

    assert "python3" not in session.told()
    assert "3 times" in claude.command("failures")
