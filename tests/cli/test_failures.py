import json
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.model.failure import Failure, error_id, failure_id
from tests.cli.kept import ERROR, NOON, keep
from tests.command_line import Run, printed


@pytest.fixture
def journal(storage: Path) -> Journal:
    kept = Journal(storage / "journal")
    keep(kept)
    return kept


def test_nothing_to_list_is_said(run: Any) -> None:
    assert run("failures").stdout.startswith("No failures yet. `learning-memory-server learn-from` finds")
    assert json.loads(run("failures", "--json").stdout) == {"results": [], "count": 0, "total": 0}


@pytest.mark.usefixtures("journal")
def test_errors_are_listed_the_last_seen_first(run: Any) -> None:
    first, second = run("failures").stdout.splitlines()
    assert "make: *** No rule to make target <name>. Stop." in first
    assert "worked next" not in first
    assert second.startswith(ERROR)
    assert "3 times  3 sessions  2026-01-03  garden  `pytest tests/beds.py`: ModuleNotFoundError" in second
    assert "`python3 -m pytest tests/beds.py` worked next in 3 of 3 sessions; the error stayed away in 3" in second


def test_a_command_that_worked_the_second_time_is_no_remedy(run: Run, storage: Path) -> None:
    log = FailureLog(Journal(storage / "journal").failures)
    name = failure_id("garden", "lint failed", "s1", "mise run lint")
    log.add(Failure(name, "garden", "s1", "lint failed", "mise run lint", NOON, "mise run lint 2>&1", times=1))
    assert " the same command then worked in 1 of 1 session; the error stayed away in 1" in printed(run("failures"))
    assert "worked next" not in printed(run("show", error_id("garden", "lint failed")))


@pytest.mark.usefixtures("journal")
def test_where_no_entry_is_resolved_the_list_names_the_failures(run: Run) -> None:
    assert "`learning-memory-server failures` lists errors of commands." in printed(run("list"))


@pytest.mark.usefixtures("journal")
def test_json_has_each_failure_of_an_error(run: Any) -> None:
    document = json.loads(run("failures", "--limit", "2", "--json").stdout)
    error = document["results"][1]
    assert (document["count"], document["total"]) == (2, 2)
    assert (error["id"], error["times"], error["last_seen"]) == (ERROR, 3, "2026-01-03T14:00:00+00:00")
    assert (error["sessions"], error["followed_in"], error["stayed_away"]) == (3, 3, 3)
    assert error["followed"] == "python3 -m pytest tests/beds.py"
    assert [each["at"] for each in error["failures"]] == sorted(
        (each["at"] for each in error["failures"]), reverse=True
    )


@pytest.mark.usefixtures("journal")
def test_the_status_counts_failures(run: Any) -> None:
    assert "failures   2 errors of 4 failing commands" in run("status").stdout
    document = json.loads(run("status", "--json").stdout)
    assert (document["failures"], document["errors"]) == (4, 2)
    assert json.loads(run("failures", "--json").stdout)["total"] == document["errors"]


@pytest.mark.usefixtures("journal")
def test_a_project_and_a_limit_leave_others_out(run: Any) -> None:
    assert "in this project" in run("failures", "--project", "current", LEARNING_MEMORY_PROJECT="elsewhere").stdout
    assert run("failures", "--limit", "1").stdout.endswith("1 of 2 errors; --limit shows more.\n")


@pytest.mark.slow
def test_an_error_is_forgotten_by_its_id(run: Any, journal: Journal) -> None:
    assert run("forget", ERROR, "--dry-run").stdout.count("ModuleNotFoundError") == 3
    assert run("forget", ERROR, "--yes").exit_code == 0
    assert f"{ERROR}" not in run("failures").stdout
    assert len(FailureLog(journal.failures).all()) == 1
    assert NOON.isoformat() not in json.dumps(json.loads(run("failures", "--json").stdout))


@pytest.mark.slow
def test_an_exported_project_takes_its_failures_along(run: Any, journal: Journal, tmp_path: Path) -> None:
    ours, theirs = str(tmp_path / "ours.tar.gz"), str(tmp_path / "theirs.tar.gz")
    assert run("backup", ours, "--project", "garden").exit_code == 0
    assert run("backup", theirs, "--project", "current", LEARNING_MEMORY_PROJECT="elsewhere").exit_code == 0
    kept = FailureLog(journal.failures).all()
    for path in journal.path.glob("*.jsonl"):
        path.unlink()
    assert run("import", theirs).exit_code == 0
    assert FailureLog(journal.failures).all() == []
    assert run("import", ours, "--yes").exit_code == 0
    # The store has made the archive itself.
    assert FailureLog(journal.failures).all() == kept
    assert "0 new, 4 already there" in run("import", ours).stdout
    assert FailureLog(journal.failures).all() == kept


def test_what_worked_next_is_shown_to_people_and_to_no_agent(run: Run, journal: Journal) -> None:
    broken = "ImportError: libfoo.so is missing"
    for number in range(6):
        session, command = f"{number:016x}", "pytest tests/soil.py"
        FailureLog(journal.failures).add(
            Failure(
                failure_id("garden", broken, session, command),
                "garden",
                session,
                broken,
                command,
                NOON,
                None if number == 0 else "sudo pytest tests/soil.py",
                times=number + 1,
            )
        )
    figures = "`sudo pytest tests/soil.py` worked next in 5 of 6 sessions; the error stayed away in 5"

    assert figures in printed(run("failures"))
    shown = printed(run("show", error_id("garden", broken)))
    assert figures in shown
    assert "sudo" not in printed(run("context"))
