"""Real fronts and their hub: one store for all, whichever process ends or hangs."""

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.system import timeouts
from tests.acceptance.hubs import (
    ENTRY,
    IN_PROC,
    Memory,
    copy_of_the_package,
    entries_in,
    is_alive,
    learn,
    package_of,
    parents,
    state_of,
    until,
)
from tests.acceptance.wire import ERAS, Wire, payload_of
from tests.support import MINUTES

pytestmark = IN_PROC

NOBODY = 2**22 - 3
"""A process that does not exist."""

IMPATIENT_FRONT = """
import os, sys
from learning_memory_server.hub.front.link import HubLink, hello_of
from learning_memory_server.hub.front.relay import Relay
from learning_memory_server.system.ipc.discovery import HubPaths
place = HubPaths(os.environ)
Relay(HubLink(place, hello_of(place, "session"), print), ping_after=0.2, hung_after=4.0).run()
os._exit(0)
"""

IMPATIENT_CONNECT = """
import os, sys
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.hub.front.link import HubLink, hello_of
from learning_memory_server.system.ipc.discovery import HubPaths
place = HubPaths(os.environ)
try:
    HubLink(place, hello_of(place, "session"), print, connect_seconds=float(sys.argv[1])).connect()
except LearningMemoryError as error:
    print(error.message, error.hint)
"""


def hubs_of(memory: Memory) -> set[int]:
    return set(memory.processes()) - {front.process.pid for front in memory.fronts}


def zombies_of(*processes: int) -> list[int]:
    return [child for child, parent in parents().items() if parent in processes and state_of(child) == "Z"]


def test_two_fronts_share_one_store_and_each_has_its_own_current_entry(memory: Memory) -> None:
    alice, bob = memory.greeted("alice", "2026-07-28"), memory.greeted("bob")
    hers = alice.call("start_ghap", **ENTRY)["id"]
    assert bob.call("get_active_ghap")["has_active"] is False
    his = bob.call("start_ghap", **ENTRY)["id"]
    assert alice.call("get_active_ghap")["id"] == hers
    assert bob.call("get_active_ghap")["id"] == his
    alice.call("resolve_ghap", status="confirmed", result="totals match")
    assert [entry["id"] for entry in bob.call("list_ghap_entries")["results"]] == [hers]
    assert bob.call("get_active_ghap")["id"] == his
    assert alice.close() == bob.close() == 0


def test_sixteen_fronts_that_start_together_share_one_hub(memory: Memory) -> None:
    fronts = [memory.front(f"session {number}", "2026-07-28") for number in range(16)]
    requests = [front.send_call("start_ghap", **ENTRY) for front in fronts]
    ids = [payload_of(front.answer(request))["id"] for front, request in zip(fronts, requests, strict=True)]
    assert len(set(ids)) == len(fronts)
    assert [front.call("get_active_ghap")["id"] for front in fronts] == ids
    hub = memory.hub()
    until(lambda: hubs_of(memory) == {hub}, "there is more than one hub")
    assert not zombies_of(hub, *(front.process.pid for front in fronts))
    (path,) = memory.sockets
    assert path.is_socket()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [front.close() for front in fronts] == [0] * len(fronts)


def test_the_hub_is_detached_and_outlives_the_front_that_started_it(memory: Memory) -> None:
    front = memory.greeted(forks=False)
    hub, starter = memory.hub(), front.process.pid
    assert parents()[hub] not in {starter, os.getpid()}
    assert os.getsid(hub) not in {os.getsid(0), os.getsid(starter)}
    assert os.getpgid(hub) not in {os.getpgid(0), os.getpgid(starter)}
    assert Path(f"/proc/{hub}/cwd").readlink() == Path("/")
    assert [Path(f"/proc/{hub}/fd/{number}").readlink() for number in (0, 1)] == [Path(os.devnull)] * 2
    ghap_id = front.call("start_ghap", **ENTRY)["id"]
    front.kill()
    assert memory.greeted().call("get_active_ghap")["id"] == ghap_id
    assert memory.hub() == hub


def test_an_idle_hub_ends_and_leaves_no_socket(memory: Memory) -> None:
    front = memory.greeted(hub_idle_minutes="0.01")
    hub = memory.hub()
    front.call("list_values")
    assert front.close() == 0
    until(lambda: not is_alive(hub), "the hub did not end")
    assert memory.sockets == []
    assert not memory.is_held()
    assert memory.processes() == []


def test_fronts_that_are_killed_leave_nothing_behind(memory: Memory) -> None:
    fronts = [memory.greeted(f"session {number}", hub_idle_minutes="0.01") for number in range(4)]
    hub = memory.hub()
    for front in fronts:
        front.send_call("get_clusters", axis="full")
        front.kill()
    assert not zombies_of(hub)
    until(lambda: not is_alive(hub), "the hub waits for fronts that are dead")
    assert memory.processes() == []


def test_files_of_a_dead_hub_do_not_block_the_next(memory: Memory) -> None:
    place = memory.place()
    place.socket.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(place.socket))
    place.journal.mkdir(mode=0o700)
    memory.lock.write_text(json.dumps({"pid": NOBODY, "purpose": "a hub", "socket": "/nowhere"}))
    front = memory.greeted(forks=False)
    front.call("start_ghap", **ENTRY)
    assert memory.hub() != NOBODY


def test_a_killed_hub_is_replaced_and_the_session_continues(memory: Memory) -> None:
    fronts = [memory.greeted(era, era) for era in ERAS]
    ids = [front.call("start_ghap", **ENTRY)["id"] for front in fronts]
    killed = memory.kill_hub()
    assert [front.call("get_active_ghap")["id"] for front in fronts] == ids
    assert memory.hub() != killed
    until(lambda: hubs_of(memory) == {memory.hub()}, "there is more than one hub")


def test_a_folder_that_cannot_be_written_is_a_clear_error(memory: Memory) -> None:
    (memory.storage / "file").touch()
    sentence = connecting(memory, storage_path=str(memory.storage / "file" / "data"))
    assert "could not be started" in sentence
    assert "doctor" in sentence


def test_a_setting_with_a_wrong_value_is_a_clear_error(memory: Memory) -> None:
    # Hubs end one after another, each once it has imported what it needs: seconds on a busy machine.
    sentence = connecting(memory, 10.0, min_experiences="many")
    assert "could not be started" in sentence
    assert "hub logs" in sentence
    assert "LEARNING_MEMORY_MIN_EXPERIENCES" in (memory.storage / "hub.log").read_text()


def test_a_process_that_locks_the_data_and_does_not_answer_is_named(memory: Memory) -> None:
    memory.greeted()
    hub = memory.hub()
    # Otherwise it would bind its socket again.
    os.kill(hub, signal.SIGSTOP)
    for path in memory.sockets:
        path.unlink()
    assert f"process {hub}" in connecting(memory)


def connecting(memory: Memory, seconds: float = 1.0, **settings: Any) -> str:
    """Return the error of a front that cannot reach a hub within the given time."""
    done = memory.run("-c", IMPATIENT_CONNECT, str(seconds), **settings)
    (sentence,) = done.stdout.splitlines()
    assert done.stderr == ""
    return sentence


def test_a_settings_file_that_cannot_be_read_is_a_clear_error(memory: Memory) -> None:
    file = memory.storage / "settings.toml"
    file.write_text("min_experiences = = 5\n")
    front = memory.front(config=str(file))
    assert front.process.wait(MINUTES) == 1
    with pytest.raises(BrokenPipeError):
        front.handshake()
    front.kill()
    (line,) = front.stderr().splitlines()
    assert str(file) in line
    assert "cannot be read" in line
    assert hubs_of(memory) == set()


def test_a_corrupt_index_is_rebuilt_from_the_journal(memory: Memory) -> None:
    index = memory.storage / "index"
    front = memory.greeted()
    ghap_id = learn(front)
    front.refused("get_clusters", axis="full")
    memory.end_hub()
    for file in index.rglob("*"):
        if file.is_file():
            with file.open("r+b") as opened:
                opened.write(b"garbage" * 100)
    front = memory.greeted()
    assert front.refused("get_clusters", axis="full")["type"] == "insufficient_data"
    found = front.call("search_experiences", query="stale price cache")
    assert (found["mode"], [entry["id"] for entry in found["results"]]) == ("hybrid", [ghap_id])


def test_an_index_that_cannot_be_created_loses_no_entry_and_the_error_says_so(memory: Memory) -> None:
    (memory.storage / "index").write_text("in the way")
    front = memory.greeted()
    error = front.refused("get_clusters", axis="full")
    assert error["type"] == "storage_unavailable", error
    ghap_id = front.call("start_ghap", **ENTRY)["id"]
    front.call("update_ghap", note="the index is broken")
    assert front.call("resolve_ghap", status="confirmed", result="it is kept")["indexed"] is False
    found = front.call("search_experiences", query="stale price cache")
    assert found["mode"] == "lexical"
    assert ghap_id in [entry["id"] for entry in front.call("list_ghap_entries")["results"]]


def test_a_hung_hub_is_an_error_in_time_and_is_used_again_once_it_responds(memory: Memory) -> None:
    front = memory.greeted(command=(sys.executable, "-c", IMPATIENT_FRONT))
    ghap_id = front.call("start_ghap", **ENTRY)["id"]
    hub = memory.hub()
    os.kill(hub, signal.SIGSTOP)
    begun = time.monotonic()
    assert front.refused("update_ghap", note="nobody listens")["type"] == "timeout"
    assert time.monotonic() - begun >= 4.0
    os.kill(hub, signal.SIGCONT)
    assert front.call("get_active_ghap")["id"] == ghap_id
    assert front.call("resolve_ghap", status="confirmed", result="it goes on")["id"] == ghap_id
    assert memory.hub() == hub


def test_no_call_fails_when_the_hub_is_asked_to_shut_down(memory: Memory) -> None:
    front, other = memory.greeted(era="2026-07-28"), memory.greeted("another")
    hub = memory.hub()
    # It opens the index, which takes a while.
    slow = front.send_call("get_clusters", axis="full")
    quick = [other.send_call("start_ghap", **ENTRY) for _ in range(20)]
    os.kill(hub, signal.SIGTERM)
    assert "insufficient_data" in front.answer(slow)["result"]["content"][0]["text"]
    ids = [payload_of(other.answer(request))["id"] for request in quick]
    assert len(set(ids)) == len(quick)
    until(lambda: not is_alive(hub), "the hub did not end")
    active = other.call("get_active_ghap")
    assert {active["id"], *(entry["id"] for entry in active["orphaned"])} == set(ids)
    assert memory.hub() != hub


def test_an_open_subscription_does_not_delay_shutdown(memory: Memory) -> None:
    front = memory.greeted(era="2026-07-28")
    listening = front.send("subscriptions/listen", notifications={"toolsListChanged": True})
    front.call("list_values")
    hub = memory.hub()
    os.kill(hub, signal.SIGTERM)
    begun = time.monotonic()
    until(lambda: not is_alive(hub), "the hub did not end")
    # A call that is still running would have as long.
    assert time.monotonic() - begun < timeouts.CALLS_END
    assert front.call("list_values")["count"] == 0
    assert not front.has_answer(listening)
    assert front.close() == 0


def test_a_newer_version_replaces_an_older_hub_and_never_the_reverse(memory: Memory, tmp_path: Path) -> None:
    newer_package = copy_of_the_package(tmp_path, "99.0.0")
    older = memory.greeted("older")
    ghap_id = older.call("start_ghap", **ENTRY)["id"]
    first = memory.hub()

    newer = memory.greeted("newer", package=newer_package)
    newer.call("list_values")
    second = memory.hub()
    assert second != first
    assert not is_alive(first)
    assert package_of(second) == str(newer_package)
    assert older.call("get_active_ghap")["id"] == ghap_id
    assert memory.greeted("also older").call("get_active_ghap")["open_elsewhere"][0]["id"] == ghap_id
    assert memory.hub() == second

    # Fronts that were there before the update do not bring the old version back.
    newer.kill()
    os.kill(second, signal.SIGKILL)
    assert older.call("get_active_ghap")["id"] == ghap_id
    assert package_of(memory.hub()) == str(newer_package)


def test_a_hub_whose_data_is_deleted_ends_and_does_not_recreate_it(memory: Memory, front: Wire) -> None:
    front.call("start_ghap", **ENTRY)
    hub = memory.hub()
    # At once: the hub may be making its index meanwhile.
    memory.storage.rename(memory.storage.with_name("deleted"))
    until(lambda: not is_alive(hub), "the hub outlives its data")
    assert memory.sockets == []
    assert not (memory.storage / "journal").exists()


def test_an_answer_that_arrives_is_on_the_disk(memory: Memory, front: Wire) -> None:
    ghap_id = learn(front)
    memory.kill_hub()
    assert [entry["id"] for entry in entries_in(memory.storage)] == [ghap_id]


def test_a_session_that_is_silent_while_its_hub_is_replaced_keeps_its_entry(memory: Memory) -> None:
    silent, other = memory.greeted("silent"), memory.greeted("other")
    ghap_id = silent.call("start_ghap", **ENTRY)["id"]
    memory.kill_hub()

    active = other.call("get_active_ghap")
    assert [each["id"] for each in active["open_elsewhere"]] == [ghap_id]
    assert "orphaned" not in active
    assert silent.call("resolve_ghap", status="abandoned", result="mine")["id"] == ghap_id
