"""A person at a terminal of their own, beside the sessions of a real Claude Code, and what the past ones were."""

from pathlib import Path
from typing import Final

from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.rule import Rule
from learning_memory_server.rules.log import RuleLog
from tests.claude_code.conftest import ClaudeCode
from tests.cli.persons import played
from tests.client_folders import folder_name
from tests.lessons.errors.written import Call, write_transcript

NO_TRAILER: Final = "No AI trailer in commits"
BREAKS: Final = "git commit --allow-empty -m 'Mend it' -m 'Co-Authored-By: Claude'"
FOLLOWS: Final = "git commit --allow-empty -m 'Mend it'"
NOT_RUN: Final = "This call breaks it, so nothing of it was run."
NO_PUSH: Final = "never push without asking me"


def person(claude: ClaudeCode, *arguments: str, typed: tuple[str, ...] = (), status: int = 0) -> str:
    """Return what a terminal of the person shows of a command in the project; an answer to each of its questions."""
    return played(claude.environment(), claude.project, *arguments, typed=typed, status=status)


def rules(claude: ClaudeCode) -> dict[str, Rule]:
    """Return what the person has said of rules, by their text."""
    return {each.text: each for each in RuleLog(Journal(claude.memory.storage / "journal").rules).all()}


def named(claude: ClaudeCode, text: str) -> str:
    """Return the short id of a rule, as `rules` lists it."""
    return rules(claude)[text].id.removeprefix("rule_")[:6]


def add(claude: ClaudeCode, text: str, *options: str) -> str:
    """Let the person make a rule, and return its short id."""
    person(claude, "rule", "add", text, *options, typed=("y",))
    return named(claude, text)


def past(claude: ClaudeCode, *sessions: tuple[Call, ...]) -> None:
    """Let sessions of the project have ended just now, which the client has kept in its own folder."""
    for number, calls in enumerate(sessions):
        path = transcripts(claude) / f"past{number}.jsonl"
        write_transcript(path, *calls, session=f"past{number}", folder=str(claude.project), at=utc_now())


def transcripts(claude: ClaudeCode) -> Path:
    """Return the client's own folder of the project."""
    return claude.home / ".claude" / "projects" / folder_name(claude.project)


def program(claude: ClaudeCode, name: str, does: str = "echo done") -> None:
    """Put a program on the PATH of the sessions."""
    path = claude.home.parent / "bin" / name
    path.write_text(f"#!/bin/sh\n{does}\n", "utf-8")
    path.chmod(0o755)


def clock(claude: ClaudeCode) -> Path:
    """Let the clock of all processes of ours be ahead by as many minutes as a file says, and return the file."""
    ahead = claude.home.parent / "minutes"
    ahead.write_text("0")
    with Path(claude.unhurried["PYTHONPATH"], "sitecustomize.py").open("a") as file:
        file.write(_CLOCK.format(str(ahead)))
    return ahead


_CLOCK: Final = """
with suppress(ImportError):
    from datetime import timedelta
    from learning_memory_server.model import moment
    _now = moment.utc_now
    moment.utc_now = lambda: _now() + timedelta(minutes=float(open({!r}).read()))
"""
