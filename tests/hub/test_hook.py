"""What a client's hook may send that is not a message: the hub says nothing, and logs no failure of its own."""

import json
import socket
from collections.abc import Iterable
from typing import Any

import pytest

from learning_memory_server.hub.front.hook import _hello
from learning_memory_server.hub.front.link import hello_of
from learning_memory_server.system.ipc.discovery import HubPaths
from tests.acceptance.hubs import ENTRY, Memory
from tests.acceptance.wire import Wire

pytestmark = pytest.mark.slow


def answer(place: HubPaths, given: bytes, project: str = "shop") -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(str(place.socket))
        connection.sendall(_hello(str(place.journal), str(place.storage), project, given, ""))
        with connection.makefile("rb") as read:
            return read.read()


def test_damaged_and_hostile_input_is_answered_with_silence(memory: Memory, front: Wire) -> None:
    place = memory.place()
    for given in (
        b"",
        b"null",
        b"[1]",
        b'"text"',
        b"\xff\x00\xfe",
        b"{" * 100_000,
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"hook_event_name":"SessionStart","session_id":"\\udfff"}',
        b'{"hook_event_name":["SessionStart"],"tool_name":["Bash"],"tool_input":[]}',
        b'{"hook_event_name":"SessionStart","session_id":"' + b"x" * 1_000_000 + b'"}',
        b'{},"role":"control","command":"stop"',
    ):
        assert answer(place, given) in (b"", b"{}\n"), given[:40]

    front.call("get_stats")
    logged = [json.loads(line) for line in (memory.storage / "hub.log").read_text().splitlines()]
    assert [line for line in logged if line["level"] == "error"] == []


def test_a_session_that_is_cleared_keeps_its_open_entry(memory: Memory) -> None:
    front = memory.greeted("first")
    place = memory.place()
    ghap_id = front.call("start_ghap", **ENTRY)["id"]

    def told(**given: str) -> str:
        return answer(place, json.dumps(given).encode(), "acceptance").decode()

    for old, new in (("first", "second"), ("second", "third")):
        told(hook_event_name="SessionEnd", session_id=old, reason="clear")
        said = told(hook_event_name="SessionStart", session_id=new, source="clear")
        assert f"Open entries (get_active_ghap):\\n- {ghap_id}" in said
        assert "Others are at work" not in said
    said = told(hook_event_name="SessionStart", session_id="another", source="startup")
    assert f"Others are at work on:\\n- {ghap_id}" in said


WRONG: tuple[Any, ...] = (None, True, 1, "x", [], [1], {}, {"journal": "x", "version": [1]}, {"a": 1})


def broken_by(memory: Memory, hellos: Iterable[object]) -> list[str]:
    """Return why the hub has ended connections that begin in this way, each as it logs it."""
    for hello in hellos:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(memory.place().socket))
            connection.sendall(json.dumps(hello).encode() + b"\n")
            connection.shutdown(socket.SHUT_WR)
            with connection.makefile("rb") as said:
                said.read()
    memory.fronts[0].call("get_stats")
    logged = [json.loads(line) for line in (memory.storage / "hub.log").read_text().splitlines()]
    assert [line for line in logged if line["level"] == "error"] == []
    return [line["reason"] for line in logged if line["event"] == "connection.broken"]


@pytest.mark.usefixtures("front")
@pytest.mark.parametrize("role", ["session", "command", "control", "hook"])
def test_a_hello_with_a_wrong_field_is_no_failure_of_the_hub(memory: Memory, role: str) -> None:
    right = {**hello_of(memory.place(), role), "client": "", "hooks": True, "given": {}, "command": "status"}
    no_objects = [each for each in WRONG if not isinstance(each, dict)]
    assert broken_by(memory, [{**right, "build": each} for each in no_objects]) == ["ValueError"] * len(no_objects)
    wrong = [{**right, name: each} for name in right for each in WRONG]
    wrong += [{**right, "build": {**right["build"], name: each}} for name in right["build"] for each in WRONG]
    broken_by(memory, (*wrong, *WRONG))
