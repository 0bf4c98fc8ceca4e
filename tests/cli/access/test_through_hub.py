"""Commands through a real hub: they print the same as without one."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from learning_memory_server.cli.access import HubClient, find_hub
from learning_memory_server.errors import (
    DeadlineExceededError,
    InvalidInputError,
    NotFoundError,
    StorageUnavailableError,
)
from learning_memory_server.journal.archive.entries_importing import parse_entries
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.system import timeouts
from learning_memory_server.system.ipc import discovery
from learning_memory_server.version import VERSION
from tests.acceptance.hubs import copy_of_the_package
from tests.acceptance.wire import NO_TOOL
from tests.command_line import old_entry, printed
from tests.hub.lines import line, opening
from tests.support import MINUTES
from tests.terminals import PROGRAM

pytestmark = pytest.mark.slow

COMMANDS = (
    "search flaky --limit 3 --axis strategy --outcome confirmed --since 2026-01-01 --project current",
    "search flaky --limit 50",
    "search flaky --limit 50 --lexical",
    "search nothing --domain security",
    "clusters full",
    "show full_1",
    "show full_99",
    "clusters surprise",
    "list",
    "values",
)


def without_time(result: Result) -> tuple[int, str, str]:
    """Return an outcome without the line that says how long it took."""
    return result.exit_code, re.sub(r"took .*", "", result.stdout), result.stderr


def hub_of(environment: dict[str, str], hung_after: float = 20.0) -> HubClient:
    hub = find_hub(discovery.HubPaths(environment), hung_after=hung_after)
    assert hub is not None
    return hub


@pytest.fixture
def hub(environment: dict[str, str], start_hub: Callable[[], int]) -> HubClient:
    start_hub()
    return hub_of(environment)


def call_tool(hub: HubClient, tool: str, **arguments: Any) -> dict[str, Any]:
    return hub.control("call", tool=tool, arguments=arguments, project="garden", session="a session")


@pytest.mark.usefixtures("filled")
def test_every_command_prints_the_same_with_and_without_a_hub(
    run: Any, start_hub: Callable[[], int], tmp_path: Path
) -> None:
    again = ["import", str(tmp_path / "entries.jsonl")]
    commands = [*(command.split() for command in COMMANDS), again]
    alone = [without_time(run(*command)) for command in commands]
    start_hub()
    through = [without_time(run(*command)) for command in commands]
    assert through == alone
    assert "13 found, mode: hybrid" in alone[1][1]


@pytest.mark.usefixtures("filled")
def test_a_value_that_is_judged_is_shown_alike_with_and_without_a_hub(run: Any, hub: HubClient) -> None:
    hub.control("complete")
    first = call_tool(hub, "get_clusters", axis="full")["clusters"][0]["cluster_id"]
    central, other = call_tool(hub, "get_cluster_members", cluster_id=first)["members"][:2]
    text = " ".join(central[part] for part in ("goal", "hypothesis", "action", "prediction", "outcome_result"))
    stored = call_tool(hub, "store_value", text=text, cluster_id=first, axis="full", supported_by=[central["id"]])
    call_tool(hub, "judge_value", value_id=stored["id"], ghap_id=other["id"], verdict="contradicts")
    through = run("values")
    assert "contested  +1 -1" in through.stdout
    run("hub", "stop")
    assert without_time(run("values")) == without_time(through)


def test_results_that_take_several_replies_are_shown_completely(
    run: Any, write_lines: Any, start_hub: Callable[[], int]
) -> None:
    story = "the queue fills because nothing drains it " * 20
    run("import", write_lines(*(old_entry(n, hypothesis=f"{n} {story}") for n in range(50))))
    commands = ["search queue --limit 50", "clusters full", "show full_0"]
    alone = [run(*command.split()) for command in commands]
    start_hub()
    assert [run(*command.split()).output for command in commands] == [done.output for done in alone]
    assert "50 found" in alone[0].stdout
    assert all(done.exit_code == 0 for done in alone)


def test_import_through_a_hub_is_complete_and_idempotent(
    run: Any, write_lines: Any, start_hub: Callable[[], int], tmp_path: Path
) -> None:
    path = write_lines(*(old_entry(n) for n in range(60)), "{broken")
    alone = run("import", path, LEARNING_MEMORY_STORAGE_PATH=str(tmp_path / "elsewhere"))
    start_hub()
    first, second = run("import", path), run("import", path)
    assert without_time(first) == without_time(alone)
    assert "60 entries" in first.stdout
    assert "complete: 120 vectors" in first.stdout
    assert "0 entries" in second.stdout
    run("hub", "stop")
    assert "24 in none" not in run("clusters", "full").stdout


def test_an_import_through_a_hub_without_an_engine_is_safe_and_pending(
    environment: dict[str, str],
    run: Any,
    write_lines: Any,
    start_hub: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A command that does not wait until the engine has failed says that the index follows.
    monkeypatch.setattr(timeouts, "COMMAND_INDEX", MINUTES)
    environment["LEARNING_MEMORY_QDRANT_URL"] = "http://127.0.0.1:1"
    path = write_lines(old_entry())
    start_hub()
    assert "pending: the entries are safe" in printed(run("import", path))
    found = run("search", "memory")
    assert "1 found, mode: lexical" in found.stdout
    assert "This search is lexical." in found.stderr
    assert "✗ engine       Qdrant at 127.0.0.1:1 cannot be reached: nothing listens at that port." in printed(
        run("doctor"), 1
    )


def test_a_malformed_entry_is_refused_and_nothing_is_imported(run: Any, hub: HubClient) -> None:
    (entry,) = parse_entries([json.dumps(old_entry()).encode()], project="garden").entries.values()
    good = JournalRecord.of(GHAP, entry).to_fields()
    bad: list[Any] = [
        3,
        {"id": 3},
        {**good, "id": "x"},
        *(
            {**good, "data": {**good["data"], **part}}
            for part in ({"goal": 3}, {"domain": "gardening"}, {"goal": "\ud800"})
        ),
    ]
    for record in bad:
        with pytest.raises(InvalidInputError, match=r"records\[1\]"):
            hub.control("add_records", records=[good, record])
    with pytest.raises(InvalidInputError, match="records: Input should be a valid list"):
        hub.control("add_records", records="all")
    for operation, fields in (
        ("forget", {"ids": [["x"]], "project": None, "purge": False, "preview": True}),
        ("redact_stored", {"records": [["ghap"]]}),
        ("redact_stored", {"records": [3]}),
        ("reindex", {"axis": "moon"}),
    ):
        with pytest.raises(InvalidInputError, match=f"{operation}: "):
            hub.control(operation, **fields)
    with pytest.raises(InvalidInputError, match="no operation 'dance'"):
        hub.control("dance")
    assert run("list").stdout.startswith("No resolved entries yet.")
    assert hub.control("add_records", records=[good, good]) == {"added": [good["id"]]}
    assert hub.control("add_records", records=[good])["added"] == []


def test_a_tools_refusal_arrives_as_the_tools_own_error(hub: HubClient) -> None:
    with pytest.raises(InvalidInputError, match="no tool 'dance'"):
        call_tool(hub, "dance")
    with pytest.raises(NotFoundError) as refused:
        call_tool(hub, "update_ghap", ghap_id="ghap_0", note="n")
    assert refused.value.hint
    assert call_tool(hub, "list_ghap_entries")["count"] == 0


def test_a_hub_of_different_data_serves_status_and_stop_only(
    environment: dict[str, str], storage: Path, tmp_path: Path, start_hub: Callable[[], int]
) -> None:
    pid = start_hub()
    other = {
        **environment,
        "LEARNING_MEMORY_JOURNAL_PATH": str(storage / "journal"),
        "LEARNING_MEMORY_STORAGE_PATH": str(tmp_path / "other"),
    }
    hub = hub_of(other)
    assert hub.control("status")["pid"] == pid
    with pytest.raises(StorageUnavailableError, match="different data"):
        call_tool(hub, "list_values")
    with pytest.raises(StorageUnavailableError, match="different data"):
        hub.control("complete")


def test_a_hub_that_hangs_is_reported_with_its_process_id(
    environment: dict[str, str], start_hub: Callable[[], int]
) -> None:
    pid = start_hub()
    os.kill(pid, signal.SIGSTOP)
    hub = hub_of(environment, hung_after=0.3)
    with pytest.raises(DeadlineExceededError, match=f"process {pid}.* sign of life for 0.3 seconds"):
        hub.control("status")
    with pytest.raises(DeadlineExceededError) as refused:
        call_tool(hub, "list_values")
    assert f"kill -KILL {pid}" in str(refused.value.hint)


def test_a_hub_that_ends_before_it_answers_is_reported(
    environment: dict[str, str], start_hub: Callable[[], int]
) -> None:
    pid = start_hub()
    os.kill(pid, signal.SIGSTOP)
    hub = hub_of(environment)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(StorageUnavailableError, match="ended before it answered"):
        hub.control("status")
    with pytest.raises(StorageUnavailableError, match="ended before it answered"):
        call_tool(hub, "list_values")


@pytest.mark.usefixtures("filled")
def test_status_and_doctor_show_what_the_hub_reports(run: Any, start_hub: Callable[[], int]) -> None:
    assert "the memory hub, process" not in run("status").stdout
    pid = start_hub()
    run("search", "leak")
    assert f"the memory hub, process {pid}" in run("status").stdout
    assert f"process {pid}, version" in run("status").stdout
    doctor = printed(run("doctor"))
    assert f"One is running: process {pid}" in doctor
    assert ": 48 points." in doctor
    assert "The index has everything that is in the journal." in doctor
    assert "was started with other settings" in run("doctor", LEARNING_MEMORY_MIN_EXPERIENCES="7").stdout
    assert "other settings" in run("search", "leak", LEARNING_MEMORY_MIN_EXPERIENCES="7").stderr


@pytest.mark.usefixtures("filled")
def test_a_newer_command_replaces_a_hub_of_older_code(run: Any, environment: dict[str, str], tmp_path: Path) -> None:
    older = copy_of_the_package(tmp_path, "0.0.1")
    environment |= {"PYTHONPATH": str(older), "PYTHONSAFEPATH": "1"}
    session = b"".join(opening("2025-11-25")) + line("tools/call", 2, name=NO_TOOL, arguments={})
    subprocess.run(PROGRAM, input=session, env={**os.environ, **environment}, check=True, capture_output=True)
    old = hub_of(environment).control("status")
    assert old["version"] == "0.0.1"
    found = run("search", "leak")
    assert f"Asking the hub (process {old['pid']}) to shut down for a newer version." in found.stderr
    assert found.exit_code == 0
    newer = hub_of(environment).control("status")
    assert (newer["version"], newer["pid"] != old["pid"]) == (VERSION, True)
    assert "newer version" not in run("search", "leak").stderr
    assert hub_of(environment).control("status")["pid"] == newer["pid"]
