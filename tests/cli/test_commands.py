"""What every command does: reading beside a holder, failing in a sentence, and loading nothing it needs not."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from learning_memory_server.domain.caller import Caller
from learning_memory_server.domain.cluster import ClusterId
from learning_memory_server.domain.moment import utc_now
from learning_memory_server.domain.value import Evidence, Value
from learning_memory_server.domain.vocabulary import Axis, Domain, OutcomeStatus, Strategy
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.lock import exclusive
from learning_memory_server.journal.record import JournalRecord
from learning_memory_server.observation.collector import ObservationCollector
from learning_memory_server.values.log import ValueLog
from learning_memory_server.values.witness_log import Judged, WitnessLog
from tests.support import NOON, numbered

HEAVY = (
    "mcp",
    "numpy",
    "qdrant_client",
    "qdrant_edge",
    "torch",
    "sentence_transformers",
    "hdbscan",
    "sklearn",
)


LIGHT = (
    "--help",
    "--version",
    "list",
    "status",
    "values",
    "hub --help",
    "hub status",
    "hub stop",
    "hub logs",
)


@pytest.mark.parametrize("command", LIGHT)
def test_a_light_command_imports_nothing_heavy(command: str, environment: dict[str, str]) -> None:
    program = (
        "import sys\n"
        "from learning_memory_server.cli.app import app\n"
        "try: app(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *command.split()],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.strip() == "[]"


def test_version_names_the_program(run: Any) -> None:
    assert run("--version").stdout.startswith("learning-memory-server ")


def test_list_shows_the_newest_first_and_says_that_there_are_more(run: Any, filled: Result) -> None:
    assert filled.exit_code == 0
    lines = run("list", "--limit", "2").stdout.splitlines()
    assert [line.split()[2] for line in lines[1:3]] == [
        "ghap_20260101_000023_abcdef",
        "ghap_20260101_000022_abcdef",
    ]
    assert lines[3] == "2 of 24 entries; --limit shows more."


def test_list_filters_by_time_domain_outcome_and_project(run: Any, filled: Result) -> None:
    assert filled.exit_code == 0
    since = run("list", "--since", "2026-01-02T00:00:20Z", "--domain", "debugging", "--project", "current")
    assert len(since.stdout.splitlines()) == 1 + 4
    for option in (["--outcome", "falsified"], ["--domain", "security"], ["--project", "other"]):
        assert run("list", *option).stdout == "No resolved entries match.\n"


def test_output_into_a_pipe_is_plain_and_on_one_line_per_entry(
    run: Any, old_entry: Any, write_lines: Any
) -> None:
    goal = "Fix [bold]markup[/bold] :smile: \x1b[31mred " + "and more " * 60
    run("import", str(write_lines(old_entry(goal=goal))))
    lines = run("list").stdout.splitlines()
    assert len(lines) == 2
    assert "\x1b" not in lines[1]
    assert "[bold]markup[/bold] :smile:" in lines[1]
    assert lines[1].endswith("and more")


def test_status_counts_what_is_kept(run: Any, filled: Result, storage: Path) -> None:
    assert filled.exit_code == 0
    collector = ObservationCollector(Journal(storage / "journal"), utc_now)
    opened = collector.start(
        Caller("garden", "0" * 16),
        domain=Domain.TESTING,
        strategy=Strategy.ASK_USER,
        goal="grow roses",
        hypothesis="h",
        action="a",
        prediction="p",
    )
    shown = run("status")
    assert shown.exit_code == 0
    for part in ("24 resolved", "gold 24", "confirmed 24", "garden 24", "1 entry", opened.entry.id, "nobody"):
        assert part in shown.stdout
    assert "memories    0" in shown.stdout
    Journal(storage / "journal").memories.append([JournalRecord("memory", "m", NOON, {"text": "roses"})])
    assert "memories    1" in run("status").stdout
    assert str(storage / "index") in shown.stdout


def test_reading_commands_work_beside_a_holder_and_status_names_it(
    run: Any, filled: Result, storage: Path
) -> None:
    assert filled.exit_code == 0
    with exclusive(storage / "journal", "a server"), exclusive(storage, "a server"):
        assert f"a server, process {os.getpid()}" in run("status").stdout
        assert run("list").exit_code == 0
        assert run("values").exit_code == 0
        doctor = run("doctor")
        assert doctor.exit_code == 0
        assert "Not opened: Another process (a server" in doctor.stdout


@pytest.mark.parametrize("command", [["clusters", "full"], ["import"]])
def test_a_command_that_needs_the_lock_names_its_holder(
    command: list[str], run: Any, storage: Path, old_entry: Any, write_lines: Any
) -> None:
    arguments = [*command, str(write_lines(old_entry()))] if command == ["import"] else command
    with exclusive(storage / "journal", "a server"):
        failed = run(*arguments)
    assert failed.exit_code == 1
    assert failed.stderr.startswith(f"error: Another process (a server, process {os.getpid()}) is using")
    assert "Traceback" not in failed.output


def test_search_finds_by_meaning_and_says_so(run: Any, filled: Result) -> None:
    assert filled.exit_code == 0
    found = run("search", "flaky test", "--limit", "3", "--outcome", "confirmed", "--axis", "strategy")
    assert found.exit_code == 0
    assert found.stdout.count("Fix the flaky test") == 3
    assert "3 found, mode: hybrid" in found.stdout


def test_search_goes_by_words_beside_a_holder_with_a_notice(run: Any, filled: Result, storage: Path) -> None:
    assert filled.exit_code == 0
    with exclusive(storage / "journal", "a server"):
        found = run("search", "slow query", "--limit", "2")
        asked_for = run("search", "slow query", "--limit", "2", "--lexical")
    assert found.exit_code == 0
    assert found.stdout == asked_for.stdout
    assert "2 found, mode: lexical" in found.stdout
    assert len(found.stderr.splitlines()) == 1
    assert found.stderr.rstrip().endswith("This search goes by words.")
    assert asked_for.stderr == ""


def test_search_without_an_engine_goes_by_words(run: Any, filled: Result) -> None:
    assert filled.exit_code == 0
    found = run("search", "slow query", LEARNING_MEMORY_QDRANT_URL="http://127.0.0.1:1")
    assert found.exit_code == 0
    assert "mode: lexical" in found.stdout


def test_clusters_are_shown_with_their_members(run: Any, filled: Result) -> None:
    assert filled.exit_code == 0
    shown = run("clusters", "full")
    assert shown.exit_code == 0
    assert "3 clusters of 24 experiences; 0 in none of them." in shown.stdout
    members = run("clusters", "full", "--members", "full_1")
    assert len(members.stdout.splitlines()) == 2 + 8


def test_clusters_of_too_few_experiences_say_how_many_are_needed(
    run: Any, old_entry: Any, write_lines: Any
) -> None:
    run("import", str(write_lines(old_entry())))
    failed = run("clusters", "full")
    assert failed.exit_code == 1
    assert "20" in failed.stderr


@pytest.mark.parametrize("cluster", ["nonsense", "surprise_0"])
def test_members_of_a_wrong_cluster_are_an_error(cluster: str, run: Any) -> None:
    failed = run("clusters", "full", "--members", cluster)
    assert failed.exit_code == 1
    assert failed.stderr.startswith("error: ")


def test_values_come_from_the_journal_largest_cluster_first(run: Any, storage: Path) -> None:
    log = ValueLog(Journal(storage / "journal").values)
    for number, size in enumerate((2, 5)):
        evidence = Evidence(tuple(f"ghap_{i}" for i in range(size)), (1.0,), 0.9, 0.1, 0.2, "digest")
        cluster = ClusterId(Axis.FULL, number)
        now = datetime(2026, 1, 1, tzinfo=UTC)
        log.add(Value(f"value_{number}", f"Principle {number}", cluster, "garden", now, evidence))
    lines = run("values").stdout.splitlines()
    assert [line.split()[-1] for line in lines[1:]] == ["1", "0"]
    assert run("values", "--axis", "surprise").stdout == "No values on axis surprise yet.\n"


def test_values_show_how_they_have_held(run: Any, storage: Path) -> None:
    journal = Journal(storage / "journal")
    collector = ObservationCollector(journal, lambda: NOON)
    held, contested = [numbered(n) for n in range(5)], [numbered(n) for n in range(5, 9)]
    collector.add_resolved([*held, *contested])
    log, witnesses = ValueLog(journal.values), WitnessLog(journal.evidence)
    for name, outcome, supersedes in (
        ("held", OutcomeStatus.CONFIRMED, None),
        ("old", OutcomeStatus.CONFIRMED, None),
        ("doubted", OutcomeStatus.FALSIFIED, "old"),
    ):
        members = tuple(entry.id for entry in held) if name == "held" else ("ghap_gone",)
        evidence = Evidence(members, (1.0,), 0.9, 0.1, 0.2, "digest", 0.3, outcome)
        cluster = ClusterId(Axis.FULL, 0)
        log.add(Value(name, f"it is {name}", cluster, "garden", NOON, evidence, None, supersedes))
    witnesses.add({entry.id: Judged({"doubted": 0.8}, of=3) for entry in contested}, NOON)
    witnesses.add({entry.id: Judged(of=2) for entry in held}, NOON)

    def rows(*options: str) -> list[list[str]]:
        return [line.split() for line in run("values", *options).stdout.splitlines()[1:]]

    assert [row[3:8] for row in rows()] == [
        ["5", "0.57", "5", "0", "stands"],
        ["1", "0.00", "0", "4", "contested"],
    ]
    assert [row[-1] for row in rows("--sort", "newest")] == ["held", "doubted"]
    assert [row[-3:] for row in rows("--superseded")][-1:] == [["it", "is", "doubted"]]
    assert "superseded" in [row[7] for row in rows("--superseded")]
    later = [numbered(n) for n in range(9, 11)]
    collector.add_resolved(later)
    assert run("values").stdout.splitlines()[-1].startswith("2 experiences are not judged yet: they ")
    collector.forget([later[0].id], NOON)
    assert run("values").stdout.splitlines()[-1].startswith("1 experience is not judged yet: it ")


def test_a_malformed_setting_is_one_sentence(run: Any) -> None:
    failed = run("list", LEARNING_MEMORY_LOG_LEVEL="loud")
    assert failed.exit_code == 1
    assert failed.stderr.startswith("error: LEARNING_MEMORY_LOG_LEVEL:")


def test_an_unknown_variable_is_mentioned(run: Any) -> None:
    listed = run("list", LEARNING_MEMORY_PROJEKT="x")
    assert listed.exit_code == 0
    assert "LEARNING_MEMORY_PROJECT" in listed.stderr


def test_a_wrong_date_names_the_option(run: Any) -> None:
    assert "--since" in run("list", "--since", "soon").stderr
