"""The reading commands: they need no lock, fail in one sentence, and import only what they need."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.text import Text

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.cli.app import declared
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.moment import utc_now
from learning_memory_server.system.locking import exclusive
from tests.command_line import in_line, old_entry, printed, refusal
from tests.index.engines.double import serving
from tests.support import NOON, start

HEAVY = {
    "mcp",
    "onnxruntime",
    "tokenizers",
    "transformers",
    "numpy",
    "httpx2",
    "qdrant_edge",
    "torch",
    "sentence_transformers",
    "sklearn",
    "hdbscan",
}


WITHOUT_MODEL = (
    "--help",
    "--version",
    "hub --help",
    "hub stop",
    "hub logs",
    "list",
    "why",
    "show ghap_20260101_000007",
    "show value_",
    "show 3f2a",
    "memories",
    "values",
    "calibration",
    "status",
    "search flaky --lexical",
    "backup {folder}/all.tar.gz",
    "backup",
    "import {folder}/entries.jsonl --dry-run",
)
COMMANDS_ALONE = f"""
import sys
from learning_memory_server.cli.app import app
for command in sys.argv[1:]:
    try:
        app(command.split())
    except SystemExit as end:
        if end.code:
            sys.exit(f"{{command}} failed: {{end.code}}")
    if heavy := {HEAVY!r} & sys.modules.keys():
        sys.exit(f"{{command}} imports {{heavy}}")
"""


@pytest.mark.usefixtures("kept")
@pytest.mark.slow
def test_commands_without_a_model_import_nothing_heavy(environment: dict[str, str], tmp_path: Path) -> None:
    commands = [command.replace("{folder}", str(tmp_path)) for command in WITHOUT_MODEL]
    alone, env = [sys.executable, "-c", COMMANDS_ALONE, *commands], {**os.environ, **environment}
    done = subprocess.run(alone, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


LISTING_ALONE = """
import sys
from learning_memory_server.cli.app import app
try:
    app(sys.argv[1:])
except SystemExit as end:
    assert not end.code
slow = {"typer._adapters", "rich.progress"} & sys.modules.keys()
package = "learning_memory_server."
parts = ("sharing", "lessons.errors", "index.ranking.terms", "cli.access", "server.composition.logging")
slow |= {each for each in sys.modules if each.startswith(tuple(package + part for part in parts))}
sys.exit(f"imports {sorted(slow)}" if slow else 0)
"""


@pytest.mark.usefixtures("imported")
@pytest.mark.parametrize("command", ["list", "show ghap_20260101_000007"])
def test_a_short_answer_imports_no_search_and_no_transcripts(command: str, environment: dict[str, str]) -> None:
    alone, env = [sys.executable, "-c", LISTING_ALONE, *command.split()], {**os.environ, **environment}
    done = subprocess.run(alone, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_version_names_the_program(run: Any) -> None:
    assert run("--version").stdout.startswith("learning-memory-server ")


@pytest.mark.slow
@pytest.mark.usefixtures("imported")
def test_list_shows_the_newest_first_and_mentions_the_rest(run: Any) -> None:
    lines = run("list", "--limit", "2").stdout.splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["ghap_20260101_000023_abcdef", "ghap_20260101_000022_abcdef"]
    assert lines[2] == "2 of 24 entries; --limit shows more."


@pytest.mark.slow
@pytest.mark.usefixtures("imported")
def test_list_filters_by_time_domain_outcome_and_project(run: Any) -> None:
    since = run("list", "--since", "2026-01-02T00:00:20Z", "--domain", "debugging", "--project", "current")
    assert len(since.stdout.splitlines()) == 4
    for option in (["--outcome", "falsified"], ["--domain", "security"], ["--since", "2030-01-01"]):
        assert run("list", *option).stdout == "No resolved entries match.\n"


def test_piped_output_is_plain_with_one_line_an_entry(run: Any, write_lines: Any) -> None:
    goal = "Fix [bold]markup[/bold] :smile: \x1b[31mred " + "and more " * 60
    run("import", write_lines(old_entry(goal=goal)))
    (line,) = run("list").stdout.splitlines()
    assert "\x1b" not in line
    assert "[bold]markup[/bold] :smile:" in line
    assert " \u2190 Fix [bold]" in line


TERMINAL = {"FORCE_COLOR": "1", "NO_COLOR": "1", "TERM": "xterm"}


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_shows_each_entry_and_its_lesson_on_lines_of_their_own(
    width: int, run: Any, write_lines: Any
) -> None:
    goals = ["Fix the pool " * 20, "修复内存泄漏" * 20, "fix 👩‍💻 the 🚀 launch " * 20]
    run("import", write_lines(*(old_entry(number, goal=goal) for number, goal in enumerate(goals))))
    shown = run("list", COLUMNS=str(width), **TERMINAL).stdout
    lines = Text.from_ansi(shown).plain.splitlines()
    shown_goals = "".join(line.strip().replace(" ", "") for line in lines)
    assert [goal.replace(" ", "") in shown_goals for goal in goals] == [True, True, False]
    assert "(therest:showghap_20260101_000002_abcdef)" in shown_goals
    assert sum(line.startswith("\u2190 ") for line in lines) == 3
    for part in ("ghap_20260101_000002_abcdef", "2026-01-02", "confirmed", "gold", "debugging", "garden"):
        assert part in lines[0]
    assert max(map(cell_len, lines)) <= width
    everything = json.loads(run("list", "--json").stdout)["results"]
    assert [entry["goal"] for entry in everything] == [goal.strip() for goal in reversed(goals)]


@pytest.mark.usefixtures("filled")
def test_status_counts_what_is_stored(run: Any, storage: Path) -> None:
    opened = start(ObservationCollector(Journal(storage / "journal"), utc_now), Caller("garden", "0" * 16))
    shown = printed(run("status"))
    for part in ("24 resolved", "gold 24", "confirmed 24", "garden 24", "1 entry", opened.id, "nobody"):
        assert part in shown
    assert "memories    0" in shown
    Journal(storage / "journal").memories.append([JournalRecord("memory", "m", NOON, {"text": "roses"})])
    assert "memories    1" in run("status").stdout
    assert str(storage / "index") in shown


def test_status_names_a_server_and_asks_it_nothing(run: Any, storage: Path) -> None:
    with serving() as double:
        assert f"127.0.0.1:{double.server_port}" in run("status", LEARNING_MEMORY_QDRANT_URL=double.url).stdout
        assert double.asked == []
    assert not (storage / "qdrant-owner.json").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_reading_commands_work_while_the_data_is_locked_and_status_names_the_process(run: Any, storage: Path) -> None:
    with exclusive(storage / "journal", "a server"), exclusive(storage, "a server"):
        assert f"a server, process {os.getpid()}" in run("status").stdout
        assert run("list").exit_code == 0
        assert run("values").exit_code == 0
        assert "Not opened: Another process (a server" in printed(run("doctor"))


@pytest.mark.parametrize("command", [["clusters", "full"], ["import"]])
def test_a_command_that_needs_the_lock_names_the_process_that_has_it(
    command: list[str], run: Any, storage: Path, write_lines: Any
) -> None:
    arguments = [*command, write_lines(old_entry())] if command == ["import"] else command
    with exclusive(storage / "journal", "a server"):
        failed = run(*arguments)
    assert refusal(failed).startswith(f"error: Another process (a server, process {os.getpid()}) is using")
    assert "Traceback" not in failed.output


def test_a_malformed_setting_is_reported_in_one_sentence(run: Any) -> None:
    assert refusal(run("list", LEARNING_MEMORY_LOG_LEVEL="loud")).startswith("error: LEARNING_MEMORY_LOG_LEVEL:")


@pytest.mark.parametrize(
    ("arguments", "asked", "used"),
    [
        (["restore", "a.tar"], "restore", "`import`"),
        (["export", "a.tar"], "export", "`backup`"),
        (["owner", "--keep"], "owner", "`doctor`"),
        (["hub", "status"], "hub status", "`status`"),
        (["memories", "search", "x"], "memories search", "`search --only memories`"),
        (["replay"], "replay", "`python -m benchmarks.replay`"),
        (["remember", "this"], "remember", "`add` for a text that agents find, or `rule add` for a sentence that they"),
        (["config"], "config", "`settings`"),
        (["logs", "-n", "3"], "logs", "`hub logs`"),
        (["delete", "x"], "delete", "`forget`"),
        (["remove", "x"], "remove", "`forget`"),
        (["undo"], "undo", "`uninstall` for what `start` and `setup` did, `rule retire` for a rule, or `forget`"),
    ],
)
def test_a_command_by_another_name_is_refused_with_the_one_to_use(
    arguments: list[str], asked: str, used: str, run: Any
) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert f"There is no command '{asked}'. Use {used}" in in_line(done.stderr)


@pytest.mark.parametrize(
    ("former", "now"),
    [
        (["why", "--json"], "`why` is `status`, or `show ID` now.\n"),
        (["lessons", "check", "."], "`lessons` is `share --check` now.\n"),
        (["download-model", "all-MiniLM-L6-v2"], "`download-model` is `setup --model MODEL` now.\n"),
    ],
)
def test_a_former_name_does_what_it_did_and_names_the_new_one(former: list[str], now: str, run: Any) -> None:
    done = run(*former)
    assert (done.exit_code, done.stderr) == (0, now)
    assert done.stdout
    assert f"\n  {former[0]} " not in printed(run("help", "--all"))


def test_a_text_that_a_person_adds_is_found_by_a_search(run: Any) -> None:
    kept = printed(run("add", "The staging database", "is built anew", "--tag", "deploy"))
    (memory,) = json.loads(printed(run("memories", "--json")))["results"]
    assert f"Kept as {memory['id']}. " in kept
    assert memory["text"] == "The staging database is built anew"
    assert memory["metadata"]["tags"] == ["deploy"]
    assert memory["id"][:8] in printed(run("search", "staging", "database", "--lexical"))


def test_settings_say_where_each_value_comes_from(run: Any, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("hdbscan_min_samples = 5\n")
    document = json.loads(printed(run("settings", "--json", LEARNING_MEMORY_QDRANT_API_KEY="sesame")))
    found = {each["name"]: (each["value"], each["source"]) for each in document["settings"]}
    assert found["hdbscan_min_samples"] == (5, document["file"])
    assert found["qdrant_api_key"] == ("(a secret)", "LEARNING_MEMORY_QDRANT_API_KEY")
    assert found["redaction"] == (True, "default")
    assert "hdbscan_min_samples  = 5" in printed(run("settings"))


def test_help_shows_what_answers_a_persons_questions_and_help_with_all_the_others_too(run: Any) -> None:
    def listed(page: str) -> list[str]:
        commands = page.partition("Begin:")[2].partition("Options:")[0]
        return re.findall(r"^  ([a-z-]+)", commands, re.MULTILINE)

    page = printed(run("--help"))
    assert "help --all` shows all commands." in page
    answers = {"start", "doctor", "status", "search", "list", "show", "rule", "review", "forget", "backup"}
    named_in_messages = {"review", "values", "setup", "uninstall"}
    assert (answers | named_in_messages) - set(listed(page)) == set()
    assert len(listed(page)) <= 18
    assert printed(run("help")) == page
    assert listed(printed(run("help", "--all"))) == [*declared()]


def test_an_unknown_variable_and_a_key_that_was_removed_are_mentioned(run: Any, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("episodes = false\n")
    said = refusal(run("list", LEARNING_MEMORY_PROJEKT="x"), 0)
    assert "LEARNING_MEMORY_PROJECT" in said
    assert "`episodes` was removed" in said


@pytest.mark.parametrize(
    "command", ["list", "search x --lexical", "calibration", "memories", "clusters full", "backup"]
)
def test_an_empty_project_is_refused(command: str, run: Any, tmp_path: Path) -> None:
    place = [str(tmp_path / "archive.tar.gz")] if command == "backup" else []
    assert "--project: must not be empty" in refusal(run(*command.split(), *place, "--project", " "))


@pytest.mark.slow
@pytest.mark.usefixtures("imported")
@pytest.mark.parametrize(
    "command",
    [
        "list",
        "search x --lexical",
        "calibration",
        "memories",
        "failures",
        "clusters full",
        "dashboard --no-open",
        "backup {archive}",
        "forget --yes",
    ],
)
def test_a_project_that_nothing_is_stored_of_is_refused_with_those_that_are(
    command: str, run: Any, tmp_path: Path
) -> None:
    words = command.format(archive=tmp_path / "archive.tar").split()
    refused = in_line(refusal(run(*words, "--project", "gardn")))
    assert "--project: nothing is stored of gardn. Projects: garden." in refused
    assert not (tmp_path / "archive.tar").exists()


def test_without_memories_the_list_says_so(run: Any) -> None:
    said = run("memories").stdout
    assert said.startswith("No memories yet. To begin, run `learning-memory-server start`")
    assert said.endswith(" You keep one with: learning-memory-server add TEXT\n")


def test_a_wrong_date_names_the_option(run: Any) -> None:
    assert "--since" in run("list", "--since", "soon").stderr
