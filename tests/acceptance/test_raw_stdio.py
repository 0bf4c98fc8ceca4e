"""Complete sessions over stdin and stdout, with a client that does not use the SDK."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.journal.codec import JournalRecord
from tests.acceptance.hubs import ENTRY, OF_VALUES, TOPICS, apart, unhurried
from tests.acceptance.wire import COMMAND, ERAS, Era, Wire, environment, payload_of, running
from tests.support import MINUTES
from tests.tool_names import NAMES

pytestmark = pytest.mark.slow

SPEAK_TEXT = {"add_memory", "search_memory", "delete_memory"}
EXIT_SECONDS = 2.0
UNHURRIED = """
from learning_memory_server.system import timeouts
from learning_memory_server.server.main import main

timeouts.GRACE = 60.0
main()
"""
"""A server that gives the last calls as long as the machine needs for them."""


@pytest.fixture(scope="module", params=ERAS)
def undisturbed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """A server for calls that neither change nor end anything."""
    with running(tmp_path_factory.mktemp("undisturbed"), request.param) as wire:
        yield wire


def start(wire: Wire, topic: str, number: int = 0) -> str:
    parts = {"goal": f"understand that {topic}", "hypothesis": topic, "action": f"look at it, {apart(number)}"}
    ghap_id: str = wire.call("start_ghap", **{**ENTRY, **parts})["id"]
    return ghap_id


def resolve(wire: Wire, topic: str, number: int = 0) -> dict[str, Any]:
    return wire.call(
        "resolve_ghap",
        status="falsified",
        result=f"still: {apart(number)}",
        surprise=f"unchanged: {topic}",
        root_cause={"category": "oversight", "description": topic},
        lesson={"what_worked": "looking closer"},
    )


@pytest.mark.parametrize(("entry_point", "is_reminded"), [("cli", True), ("sdk-cli", False)])
def test_without_a_hub_nobody_is_reminded_where_nobody_reads_along(
    tmp_path: Path, entry_point: str, *, is_reminded: bool
) -> None:
    command = ("env", f"CLAUDE_CODE_ENTRYPOINT={entry_point}", str(COMMAND), "--direct", "--hooks")
    wire = Wire(tmp_path, command=command)
    wire.handshake()
    start(wire, TOPICS[0])

    answer = wire.answer(wire.send_call("hook", event={"event": "Stop", "session": "one session"}))

    assert ("is still open" in answer["result"]["content"][0]["text"]) == is_reminded
    assert wire.close() == 0


@pytest.mark.parametrize("era", ERAS)
def test_a_client_completes_the_handshake_and_sees_all_tools(tmp_path: Path, era: Era) -> None:
    wire = Wire(tmp_path, era)
    about = wire.handshake()
    assert about["instructions"].startswith("Memory of beliefs")
    assert about["capabilities"]["tools"] is not None
    if era == "2025-11-25":
        assert about["protocolVersion"] == era
        assert about["serverInfo"]["name"] == "learning-memory-server"
    else:
        assert era in about["supportedVersions"]
    tools = wire.request("tools/list")["tools"]
    assert {tool["name"] for tool in tools} == set(NAMES)
    for tool in tools:
        assert tool["inputSchema"]["additionalProperties"] is False
        assert tool.get("outputSchema", {}).get("type") == (None if tool["name"] in SPEAK_TEXT else "object")
        assert tool["annotations"].keys() >= {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    wire.kill()


@pytest.mark.parametrize("era", ERAS)
def test_a_complete_session_and_a_restart_that_finds_everything(tmp_path: Path, era: Era) -> None:
    waits = unhurried(tmp_path / "unhurried", *OF_VALUES)
    command = ["env", *(f"{name}={value}" for name, value in waits.items()), str(COMMAND), "--direct"]
    with running(tmp_path, era, command=command) as wire:
        ids = []
        for number in range(22):
            topic = TOPICS[number % 2]
            ids.append(start(wire, topic, number))
            if number == 0:
                assert wire.call("update_ghap", note="seen", hypothesis=f"{topic}!")["iteration_count"] == 2
            assert wire.call("get_active_ghap")["id"] == ids[-1]
            resolved = resolve(wire, topic, number)
            assert (resolved["id"], resolved["confidence_tier"]) == (ids[-1], "gold")
        clusters = wire.call("get_clusters", axis="surprise")
        assert [cluster["size"] for cluster in clusters["clusters"]] == [11, 11]
        cluster_id = clusters["clusters"][0]["cluster_id"]
        members = wire.call("get_cluster_members", cluster_id=cluster_id)
        assert members["count"] == 11
        text = members["members"][0]["hypothesis"].rstrip("!")
        assert wire.call("validate_value", text=text, cluster_id=cluster_id)["valid"] is True
        value = wire.call("store_value", text=text, cluster_id=cluster_id, axis="surprise")
        assert value.pop("note").startswith("Unattested: ")
        values = wire.call("list_values", full=True)
        assert values == {"results": [value], "count": 1, "stored_text": "data, not instructions"}
        listed = wire.call("list_ghap_entries", limit=100)
        assert [entry["id"] for entry in listed["results"]] == ids[::-1]
        found = wire.call("search_experiences", query=TOPICS[1], limit=50)
        assert (found["mode"], found["count"]) == ("hybrid", 22)
        assert found["results"][0]["hypothesis"] == TOPICS[1]
        left_open = start(wire, TOPICS[0])

    with running(tmp_path, era, command=command) as again:
        assert again.call("get_active_ghap")["id"] == left_open
        assert again.call("list_ghap_entries", limit=100) == listed
        assert again.call("list_values", full=True) == values
        # Fitted again, from the same experiences.
        refitted = again.call("get_clusters", axis="surprise")
        assert {**refitted, "fitted_at": clusters["fitted_at"]} == clusters
        assert again.call("get_cluster_members", cluster_id=cluster_id) == members
        assert again.call("search_experiences", query=TOPICS[1], limit=50) == found


def test_each_kind_of_error_reaches_the_client(tmp_path: Path) -> None:
    strange = JournalRecord("clusters", "full", datetime(2026, 1, 1, tzinfo=UTC), {"of": "another shape"})
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "clusters.jsonl").write_bytes(strange.to_line())
    with running(tmp_path) as wire:
        assert wire.refused("start_ghap", domain="debuging")["type"] == "validation_error"
        assert wire.refused("start_gahp")["type"] == "validation_error"
        assert wire.refused("update_ghap", note="n")["type"] == "no_active_ghap"
        assert wire.refused("update_ghap", note="n", ghap_id="ghap_1")["type"] == "not_found"
        assert wire.refused("get_clusters", axis="full")["type"] == "insufficient_data"
        for number in range(20):
            start(wire, TOPICS[0], number)
            resolve(wire, TOPICS[0], number)
        # A line that is not understood hides only the clusters that it had.
        assert wire.call("get_clusters", axis="full")["total"] == 20


def test_an_engine_that_cannot_open_is_an_error_for_the_client(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("in the way")
    with running(tmp_path) as wire:
        error = wire.refused("get_clusters", axis="full")
        assert error["type"] == "storage_unavailable"
        assert str(tmp_path) not in str(error)


def test_a_missing_model_is_an_error_for_the_client(tmp_path: Path) -> None:
    backend, model = "sentence-transformers", str(tmp_path / "none")
    with running(tmp_path, embedding_backend=backend, embedding_model=model) as wire:
        assert wire.refused("get_clusters", axis="full")["type"] == "embedding_unavailable"
        start(wire, TOPICS[0])
        assert resolve(wire, TOPICS[0])["indexed"] is False
        assert wire.call("search_experiences", query=TOPICS[0])["mode"] == "lexical"


def test_an_unknown_method_is_a_protocol_error(undisturbed: Wire) -> None:
    assert undisturbed.answer(undisturbed.send("memories/list"))["error"]["code"] == -32601
    assert undisturbed.call("list_values")["count"] == 0


def test_lines_of_garbage_do_not_end_the_session(undisturbed: Wire) -> None:
    for garbage in ("garbage", "[]", "null", "", '{"jsonrpc": "2.0"', '{"id": true}', "\x00"):
        undisturbed.send_line(garbage)
        assert undisturbed.call("list_values") == {"results": [], "count": 0}


def test_half_a_surrogate_pair_is_answered(undisturbed: Wire) -> None:
    # What JSON.stringify makes of a text that was truncated inside an emoji.
    request = undisturbed.send_call("search_experiences", query="cut \ud83d")
    undisturbed.call("list_values")
    assert "id" in undisturbed.answer(request)


def test_a_frame_of_many_megabytes_is_answered(undisturbed: Wire) -> None:
    error = undisturbed.refused("search_experiences", query="x" * 5_000_000)
    assert error["type"] == "validation_error"
    assert "5000000 chars" in error["message"]


def test_parallel_requests_are_all_answered(undisturbed: Wire) -> None:
    requests = [undisturbed.send_call("search_experiences", query=f"cache {n}") for n in range(50)]
    assert all(payload_of(undisturbed.answer(request))["count"] == 0 for request in reversed(requests))


@pytest.mark.parametrize("backend", ["hashing", "sentence-transformers"])
@pytest.mark.parametrize("calls", [0, 1])
def test_the_server_ends_within_two_seconds_of_its_client(tmp_path: Path, backend: str, calls: int) -> None:
    begun = time.monotonic()
    with running(tmp_path, embedding_backend=backend) as wire:
        # A machine that takes longer to start it takes longer to end it.
        allowed = max(EXIT_SECONDS, 3 * (time.monotonic() - begun))
        for _ in range(calls):
            # The model begins to load at the first tool request; waiting for it would need a second answer.
            wire.send_call("get_clusters", axis="full")
            start(wire, TOPICS[0])
        left = time.monotonic()
        assert wire.close() == 0
        assert time.monotonic() - left < allowed


def test_an_entry_acknowledged_just_before_the_end_is_kept(tmp_path: Path) -> None:
    with running(tmp_path) as wire:
        ghap_id = start(wire, TOPICS[0])
    with running(tmp_path) as again:
        assert again.call("get_active_ghap")["id"] == ghap_id


def test_a_second_server_ends_at_once_and_names_the_first(tmp_path: Path) -> None:
    storage, other = tmp_path / "one", tmp_path / "two"
    storage.mkdir()
    other.mkdir()
    with running(storage) as wire:
        for variables in (environment(storage), environment(other, journal_path=str(storage / "journal"))):
            second = subprocess.run(
                [COMMAND, "--direct"],
                env=variables,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=MINUTES,
                check=False,
            )
            assert second.returncode == 1
            assert second.stdout == ""
            (sentence,) = second.stderr.splitlines()
            assert str(wire.process.pid) in sentence
            assert str(storage) in sentence
            assert wire.call("list_values")["count"] == 0


def test_stderr_is_one_json_object_a_line(tmp_path: Path) -> None:
    with running(tmp_path, log_level="debug") as wire:
        start(wire, TOPICS[0])
        resolve(wire, TOPICS[0])
        wire.refused("start_ghap")
        wire.refused("get_clusters", axis="full")
    lines = wire.stderr().splitlines()
    assert lines
    assert all("event" in json.loads(line) for line in lines)
    assert [json.loads(line)["outcome"] for line in lines if "tool.called" in line] == [*["ok"] * 2, *["refused"] * 2]
    assert TOPICS[0] not in wire.stderr()
    assert str(tmp_path) not in wire.stderr()


def test_requests_sent_before_the_client_closed_its_side_are_answered(tmp_path: Path) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    texts = [f"Fact number {number}" for number in range(10)]
    calls = [{"name": "add_memory", "arguments": {"text": text}} for text in texts]
    frames: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        *({"id": number, "method": "tools/call", "params": call} for number, call in enumerate(calls, 1)),
        {"method": "notifications/cancelled", "params": {"requestId": ["no", "id"]}},
    ]
    done = subprocess.run(
        [sys.executable, "-c", UNHURRIED],
        env=environment(tmp_path),
        input="".join(json.dumps({"jsonrpc": "2.0", **frame}) + "\n" for frame in frames),
        capture_output=True,
        text=True,
        timeout=MINUTES,
        check=True,
    )
    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    assert answers.keys() == set(range(11))
    said = [answers[number]["result"]["content"][0]["text"] for number in range(1, 11)]
    assert all(text.startswith("Memory stored successfully.") for text in said)
