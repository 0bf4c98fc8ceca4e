"""What a person is told who names something that is not there, or writes a word that a command does not take."""

import sys
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.moment import utc_now
from tests.command_line import Run, in_line, printed, refusal
from tests.support import start


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("learn-from --since 3d", "No such option: --since. It has --all, --json, --report, --yes."),
        ("status --jsn", "No such option: --jsn. Did you mean --json?"),
        ("list 3", "'3' is not expected here. Usage: root list [options]"),
        ("resolve x", "Missing argument 'OUTCOME'. How it ended. One of confirmed, falsified, abandoned."),
        ("--foo", "No such option: --foo. It has "),
        ("--direct --foo", "No such option: --direct. It has "),
        ("version", "There is no command 'version'. Use `--version`."),
        ("update", "There is no command 'update'. Use what installed it: docs/how-to/install.md says how."),
        ("upgrade", "There is no command 'upgrade'. Use what installed it: docs/how-to/install.md says how."),
        ("restart", "There is no command 'restart'. Use `hub stop`: the next session starts another hub."),
        ("serve", "There is no command 'serve'. Use `learning-memory-server` without a command, as clients do."),
    ],
)
def test_only_what_a_command_has_is_offered(words: str, said: str, run: Run) -> None:
    assert f"error: {said}" in refusal(run(*words.split()), 2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("list --since lastweek", "--since: 'lastweek' is no date. Give today, yesterday, 2d"),
        ("project merge a b", "PROJECT: nothing is stored of a."),
        ("project rename a b", "PROJECT: nothing is stored of a."),
        ("project split a", "PROJECT: nothing is stored of a."),
        ("migrate --to foo", "must begin with http:// or https:// and name a host, such as http://localhost:6333."),
        ("review nope", "No lessons of this project have an id that begins with 'nope'."),
        ("rule edit nope We use pnpm", "No rule has an id that begins with 'nope'."),
        ("rule retire nope", "No rule has an id that begins with 'nope'."),
        ("rule enforce nope", "No rule has an id that begins with 'nope'."),
        ("rule export nope", "No rule has an id that begins with 'nope'."),
        (
            "resolve ghap_x confirmed",
            "No open entry has an id that begins with 'ghap_x'. `learning-memory-server status`",
        ),
    ],
)
def test_what_was_named_is_looked_for_first(words: str, said: str, run: Run) -> None:
    assert said in in_line(refusal(run(*words.split())))


def test_a_setting_is_shown_by_its_name_with_how_to_change_it(run: Run) -> None:
    shown = printed(run("settings", "questions"))
    assert shown.startswith("questions  = ")
    assert shown.count("(default)") == 1
    assert "To change one, write `name = value` into" in shown
    assert "There is no setting 'question'. Did you mean questions?" in in_line(refusal(run("settings", "question")))


def test_last_week_is_a_date(run: Run) -> None:
    assert printed(run("list", "--since", "last week")) == printed(run("list", "--since", "1w"))


def test_without_a_terminal_uninstalling_says_so_once(run: Run, environment: dict[str, str]) -> None:
    for name in (".cursor", ".copilot"):
        Path(environment["HOME"], name).mkdir()
    printed(run("setup", "cursor", "--yes"))
    done = run("uninstall", PATH="")
    assert (done.exit_code, in_line(done.output).count("terminal to ask on")) == (1, 1)


def test_a_file_of_something_else_is_named_as_that(run: Run, tmp_path: Path) -> None:
    text = tmp_path / "README.md"
    text.write_text("# A shop\n\nIt sells flowers.\nAnd seeds.\nAnd pots.\n")
    assert "README.md is no transcript of Claude Code" in in_line(refusal(run("learn-from", str(text))))
    refused = refusal(run("import", str(text)))
    assert refused.startswith("error: README.md holds no entry.\nline 1: ")
    assert refused.count("the line is not JSON") == 3
    assert "... and 1 more line\n" in refused


def test_an_entry_is_closed_by_the_beginning_of_its_id(run: Run, storage: Path) -> None:
    entry = start(ObservationCollector(Journal(storage / "journal"), utc_now))
    refused = refusal(run("resolve", entry.id[:-2], "falsified", "It", "was", "the", "disk."))
    assert "A falsified entry needs --surprise, --category, --cause" in in_line(refused)
    assert printed(run("resolve", entry.id[:-2], "abandoned")) == f"{entry.id} is abandoned.\n"
    assert f"{entry.id} is abandoned already." in refusal(run("resolve", entry.id, "confirmed"))


@pytest.mark.parametrize(
    ("prefix", "said"),
    [
        ("/home/me/.local/share/pipx/venvs/learning-memory-server", "pipx uninstall learning-memory-server"),
        ("/home/me/.local/share/uv/tools/learning-memory-server", "uv tool uninstall learning-memory-server"),
        ("/home/me/shop/.venv", "/home/me/shop/.venv/bin/python -m pip uninstall learning-memory-server"),
    ],
)
def test_uninstalling_leaves_no_empty_folder_and_names_what_removes_the_program(
    prefix: str, said: str, run: Run, storage: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(sys, "prefix", prefix)
    monkeypatch.setattr(sys, "executable", f"{prefix}/bin/python")
    assert f"The program itself goes with: {said}\n" in printed(run("uninstall", "--yes"))
    assert not storage.exists()
