"""The commands beside a real hub: through it they say what they say without one."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from learning_memory_server import rendezvous
from learning_memory_server.cli.hub_client import HubClient, find_hub
from learning_memory_server.errors import (
    DeadlineExceededError,
    InvalidInputError,
    NotFoundError,
    StorageUnavailableError,
)
from learning_memory_server.journal.codec import ghap_to_data
from learning_memory_server.observation.importing import parse_entries
from learning_memory_server.server.hub.control import answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer.testing import Result

    from learning_memory_server.server.operations.report import Report

pytestmark = pytest.mark.slow

COMMANDS = (
    "search flaky --limit 3 --axis strategy --outcome confirmed --since 2026-01-01 --project current",
    "search flaky --limit 50",
    "search flaky --limit 50 --lexical",
    "search nothing --domain security",
    "clusters full",
    "clusters full --members full_1",
    "clusters full --members full_99",
    "clusters surprise",
    "list",
    "values",
)


def without_time(result: Result) -> tuple[int, str, str]:
    """Return all of an outcome but for the line that says how long it took."""
    return result.exit_code, re.sub(r"took .*", "", result.stdout), result.stderr


def hub_of(environment: dict[str, str], hung_after: float = 20.0) -> HubClient:
    hub = find_hub(rendezvous.Place(environment), hung_after=hung_after)
    assert hub is not None
    return hub


def call_tool(hub: HubClient, tool: str, **arguments: Any) -> dict[str, Any]:
    return hub.control("call", tool=tool, arguments=arguments, project="garden", session="a session")


def entry_data(old: dict[str, Any]) -> dict[str, Any]:
    parsed = parse_entries([json.dumps(old).encode()], project="garden")
    (entry,) = parsed.entries.values()
    return ghap_to_data(entry)


def test_every_command_says_the_same_with_and_without_a_hub(
    run: Any, filled: Result, start_hub: Callable[[], int], tmp_path: Path
) -> None:
    assert filled.exit_code == 0
    again = ["import", str(tmp_path / "entries.jsonl")]
    commands = [*(command.split() for command in COMMANDS), again]
    alone = [without_time(run(*command)) for command in commands]
    start_hub()
    through = [without_time(run(*command)) for command in commands]
    assert through == alone
    assert "24 found, mode: hybrid" in alone[1][1]


def test_values_are_those_of_the_hub_which_judges_and_of_the_journal_when_it_is_gone(
    run: Any, filled: Result, environment: dict[str, str], start_hub: Callable[[], int], old_entry: Any
) -> None:
    assert filled.exit_code == 0
    start_hub()
    hub = hub_of(environment)
    hub.control("complete")
    first = call_tool(hub, "get_clusters", axis="full")["clusters"][0]["cluster_id"]
    central = call_tool(hub, "get_cluster_members", cluster_id=first)["members"][0]
    text = " ".join(
        central[part] for part in ("goal", "hypothesis", "action", "prediction", "outcome_result")
    )
    call_tool(hub, "store_value", text=text, cluster_id=first, axis="full")
    later = {"outcome": {**old_entry()["outcome"], "captured_at": "2100-01-01T00:00:00Z"}}
    hub.control("add", entries=[entry_data(old_entry(number, **later)) for number in (30, 33, 31)])
    run("hub", "stop")

    def row(shown: Result) -> list[str]:
        return shown.stdout.splitlines()[1].split()[4:8]

    alone = run("values")
    assert row(alone)[1:] == ["8", "0", "stands"]
    assert alone.stdout.splitlines()[2].startswith("3 experiences are not judged yet")
    start_hub()
    hub_of(environment).control("complete")
    through = run("values")
    assert row(through)[1:] == ["10", "0", "stands"]
    assert "judged" not in through.stdout
    run("hub", "stop")
    assert without_time(run("values")) == without_time(through)


def test_values_without_an_answer_of_the_hub_are_those_of_the_journal(
    run: Any, storage: Path, start_hub: Callable[[], int]
) -> None:
    start_hub()
    other = {
        "LEARNING_MEMORY_JOURNAL_PATH": str(storage / "journal"),
        "LEARNING_MEMORY_STORAGE_PATH": str(storage / "other"),
    }
    shown = run("values", **other)
    assert (shown.exit_code, shown.stdout) == (0, "No values yet.\n")
    assert "other data" in shown.stderr
    assert "These figures are those of the journal." in shown.stderr


def test_what_does_not_fit_into_one_reply_is_shown_all_the_same(
    run: Any, old_entry: Any, write_lines: Any, start_hub: Callable[[], int]
) -> None:
    story = "the queue fills because nothing drains it " * 20
    run("import", str(write_lines(*(old_entry(n, hypothesis=f"{n} {story}") for n in range(50)))))
    commands = ["search queue --limit 50", "clusters full", "clusters full --members full_0"]
    alone = [run(*command.split()) for command in commands]
    start_hub()
    assert [run(*command.split()).output for command in commands] == [done.output for done in alone]
    assert "50 found" in alone[0].stdout
    assert all(done.exit_code == 0 for done in alone)


def test_import_through_a_hub_is_complete_and_idempotent(
    run: Any, old_entry: Any, write_lines: Any, start_hub: Callable[[], int], tmp_path: Path
) -> None:
    path = str(write_lines(*(old_entry(n) for n in range(60)), "{broken"))
    alone = run("import", path, LEARNING_MEMORY_STORAGE_PATH=str(tmp_path / "elsewhere"))
    start_hub()
    first, second = run("import", path), run("import", path)
    assert without_time(first) == without_time(alone)
    assert "60 entries" in first.stdout
    assert "complete: 120 vectors" in first.stdout
    assert "0 entries" in second.stdout
    assert "24 in none" not in run("clusters", "full").stdout


def test_without_an_engine_an_import_through_a_hub_is_safe_and_pending(
    environment: dict[str, str], run: Any, old_entry: Any, write_lines: Any, start_hub: Callable[[], int]
) -> None:
    environment["LEARNING_MEMORY_QDRANT_URL"] = "http://127.0.0.1:1"
    path = str(write_lines(old_entry()))
    start_hub()
    result = run("import", path)
    assert result.exit_code == 0
    assert "pending: the entries are safe" in result.stdout
    found = run("search", "memory")
    assert "1 found, mode: lexical" in found.stdout
    assert "This search goes by words." in found.stderr
    doctor = run("doctor")
    assert doctor.exit_code == 1
    assert "✗ engine       Qdrant at 127.0.0.1:1 cannot be reached." in doctor.stdout


def test_an_entry_that_is_none_is_refused_and_nothing_is_taken(
    environment: dict[str, str], run: Any, old_entry: Any, start_hub: Callable[[], int]
) -> None:
    start_hub()
    hub = hub_of(environment)
    good = entry_data(old_entry())
    bad: list[Any] = [
        3,
        {"id": 3},
        {"id": "x"},
        {**good, "goal": 3},
        {**good, "domain": "gardening"},
        {**good, "goal": "\ud800"},
        {name: part for name, part in good.items() if name != "resolution"},
    ]
    for data in bad:
        with pytest.raises(InvalidInputError, match=r"entries\[1\]"):
            hub.control("add", entries=[good, data])
    with pytest.raises(InvalidInputError, match="must be a list"):
        hub.control("add", entries="all")
    with pytest.raises(InvalidInputError, match="no operation 'dance'"):
        hub.control("dance")
    assert run("list").stdout == "No resolved entries yet.\n"
    assert hub.control("add", entries=[good, good]) == {"added": [good["id"]]}
    assert hub.control("add", entries=[good])["added"] == []


def test_a_tools_refusal_is_the_tools_own_error(
    environment: dict[str, str], start_hub: Callable[[], int]
) -> None:
    start_hub()
    hub = hub_of(environment)
    with pytest.raises(InvalidInputError, match="no tool 'dance'"):
        call_tool(hub, "dance")
    with pytest.raises(NotFoundError) as refused:
        call_tool(hub, "update_ghap", ghap_id="ghap_0", note="n")
    assert refused.value.hint
    assert call_tool(hub, "list_ghap_entries")["count"] == 0


def test_a_hub_with_other_data_serves_status_and_stop_only(
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
    with pytest.raises(StorageUnavailableError, match="other data"):
        call_tool(hub, "list_values")
    with pytest.raises(StorageUnavailableError, match="other data"):
        hub.control("complete")


def test_a_hub_that_hangs_is_a_sentence_that_names_it(
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


def test_a_hub_that_ends_before_it_answers_is_a_sentence(
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


def test_status_and_doctor_say_what_the_hub_says(
    run: Any, filled: Result, start_hub: Callable[[], int]
) -> None:
    assert filled.exit_code == 0
    assert "none runs" in run("status").stdout
    pid = start_hub()
    run("search", "leak")
    assert f"the memory hub, process {pid}" in run("status").stdout
    assert f"process {pid}, version" in run("status").stdout
    doctor = run("doctor")
    assert doctor.exit_code == 0
    assert f"One runs: process {pid}" in doctor.stdout
    assert ": 48 points." in doctor.stdout
    assert "The index has everything that is in the journal." in doctor.stdout
    other = run("doctor", LEARNING_MEMORY_MIN_EXPERIENCES="7")
    assert "was started with other settings" in other.stdout
    assert "other settings" in run("search", "leak", LEARNING_MEMORY_MIN_EXPERIENCES="7").stderr


async def test_a_long_command_gives_signs_of_life() -> None:
    ours, theirs = socket.socketpair()
    reader, own = await asyncio.open_connection(sock=ours)
    _, writer = await asyncio.open_connection(sock=theirs)
    seen = asyncio.Event()

    async def work(report: Report) -> dict[str, Any]:
        report("Digging", 3, 7)
        await seen.wait()
        return {"done": True}

    reply = asyncio.create_task(answer(work, writer))
    assert rendezvous.read_progress(await reader.readline()) == {
        "hub": "progress",
        "doing": "Digging",
        "done": 3,
        "total": 7,
    }
    assert await reader.readline() == rendezvous.PONG
    seen.set()
    assert await reply == {"done": True}
    for stream in (own, writer):
        stream.close()
        await stream.wait_closed()


def test_a_hub_of_older_code_makes_room_for_a_newer_command(
    run: Any, filled: Result, environment: dict[str, str], start_hub: Callable[[], int], tmp_path: Path
) -> None:
    assert filled.exit_code == 0
    package = Path(rendezvous.__file__).parent
    older = tmp_path / "older"
    copy = shutil.copytree(package, older / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "version.py").write_text('VERSION = "0.0.1"\n', "utf-8")
    environment |= {"PYTHONPATH": str(older), "PYTHONSAFEPATH": "1"}
    pid = start_hub()
    assert hub_of(environment).control("status")["version"] == "0.0.1"
    found = run("search", "leak")
    assert f"Asking the hub (process {pid}) to make room for a newer version." in found.stderr
    assert found.exit_code == 0
    assert find_hub(rendezvous.Place(environment)) is None
    del environment["PYTHONPATH"]
    newer = start_hub()
    assert "make room" not in run("search", "leak").stderr
    assert hub_of(environment).control("status")["pid"] == newer
