"""The examples in the help of commands, and words that people write nearly right."""

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer.main

from learning_memory_server.cli import command
from learning_memory_server.cli.app import app, declared
from learning_memory_server.errors import InvalidInputError
from tests.command_line import Run


def called(commands: dict[str, Any], before: str = "") -> list[str]:
    """Return what calls each command that does something, those of groups too."""
    names = []
    for name, found in commands.items():
        below = getattr(found, "commands", None)
        names += called(below, f"{before}{name} ") if below else [f"{before}{name}"]
    return names


@pytest.mark.parametrize("name", called(declared()))
def test_the_help_of_each_command_has_an_example_that_the_command_takes(
    name: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "memory.tar.gz").touch()
    shown = run(*name.split(), "--help").stdout.partition("\nExample: ")[2].partition("\n\n")[0]
    _, example = " ".join(shown.split()).split(maxsplit=1)
    assert example.startswith(name)
    group: Any = typer.main.get_command(app)
    context, words = group.make_context("program", ["status"]), shlex.split(example)
    while words:
        called_name, found, words = group.resolve_command(context, words)
        context = found.make_context(called_name, list(words), parent=context)
        if not getattr(found, "commands", None):
            break
        group = found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "clusters nope",
            "Invalid value for 'AXIS': 'nope' is not one of 'full', 'strategy', 'surprise', 'root_cause'.",
        ),
        ("failures --limit x", "Invalid value for '--limit': 'x' is not a whole number, 1 or more."),
        ("search x --limit 51", "Invalid value for '--limit': '51' is not a whole number from 1 to 50."),
        ("statsu", "No such command 'statsu'. Did you mean 'status', 'start'?"),
        ("show", "Missing argument 'ID'. An id; the beginning of it is enough."),
    ],
)
def test_a_wrong_call_is_answered_with_a_sentence_and_where_its_help_is(words: str, said: str, run: Run) -> None:
    done = run(*words.split())
    error, help_ = done.stderr.splitlines()
    assert (done.exit_code, error) == (2, f"error: {said}")
    assert (help_[:6], help_[-7:]) == ("Help: ", " --help")


def test_an_argument_that_may_be_left_out_has_brackets(run: Run) -> None:
    assert "reindex [AXIS] [options]" in run("reindex", "--help").stdout
    assert "show ID [options]" in run("show", "--help").stdout


def test_a_client_that_is_nearly_named_is_suggested(run: Run) -> None:
    for words in (("setup", "claudecode"), ("doctor", "--client", "claudecode")):
        done = run(*words)
        assert (done.exit_code, "Did you mean claude-code?" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("since", "day"), [("today", 18), ("yesterday", 17), ("2d", 16), ("1w", 11), ("2026-03-02", 2)]
)
def test_since_takes_days_and_weeks_ago(since: str, day: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "utc_now", lambda: datetime(2026, 3, 18, 15, 30, tzinfo=UTC))
    assert command.chosen_time(since) == datetime(2026, 3, day, tzinfo=UTC)


def test_any_other_time_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="--since"):
        command.chosen_time("2 fortnights")
