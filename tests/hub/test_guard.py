"""What the hub survives, and whom it and its fronts trust."""

import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.hubs import ENTRY, IN_PROC, Memory, copy_of_the_package, is_alive, learn, package_of, until
from tests.acceptance.wire import Wire
from tests.support import MINUTES

pytestmark = IN_PROC

OTHER = 65534
NEEDS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root can act as another user")

LISTEN = """
import os, socket, sys

os.setuid(int(sys.argv[2]))
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("listening", flush=True)
while True:
    connection, _ = listener.accept()
    print("connected", flush=True)
    print(connection.recv(10000), flush=True)
"""
CALL = """
import os, socket, sys

os.setuid(int(sys.argv[3]))
connection = socket.socket(socket.AF_UNIX)
connection.settimeout(60)
connection.connect(sys.argv[1])
try:
    connection.sendall(sys.argv[2].encode() + b"\\n")
    print(connection.recv(10000))
except (BrokenPipeError, ConnectionResetError):
    print(b"")
"""

IMPATIENT_STOP = """
from learning_memory_server.cli.access import stop_running_hub
print(stop_running_hub(term_seconds=0.5))
"""


@NEEDS_ROOT
@pytest.mark.parametrize("is_deep", [False, True], ids=["", "the path of the storage folder is too long"])
def test_another_user_who_was_there_first_gets_nothing_and_locks_nobody_out(
    memory: Memory, tmp_path: Path, *, is_deep: bool
) -> None:
    if is_deep:
        memory.storage = tmp_path / ("d" * 100)
        memory.storage.mkdir(mode=0o700)
    place = memory.place()
    memory.runtime.chmod(0o711)
    place.socket.parent.mkdir()
    os.chown(place.socket.parent, OTHER, OTHER)
    with subprocess.Popen(
        [sys.executable, "-c", LISTEN, str(place.socket), str(OTHER)], stdout=subprocess.PIPE, text=True
    ) as listener:
        try:
            assert listener.stdout
            assert listener.stdout.readline() == "listening\n"
            front = memory.greeted(forks=False)
            ghap_id = front.call("start_ghap", **ENTRY)["id"]
            for arguments in (["status"], ["search", "totals"], ["doctor", "--quick"]):
                assert memory.command(*arguments).returncode == 0, arguments
            given = json.dumps({"hook_event_name": "SessionStart", "session_id": "another"})
            assert ghap_id in memory.command("hook", given=given).stdout
            where = Path(json.loads(memory.lock.read_bytes())["socket"])
            assert (where == place.second_socket) != is_deep
            assert where.parent.stat().st_mode & 0o777 == 0o700
            memory.end_hub()
            assert where.parent.exists() != is_deep
        finally:
            listener.kill()
        assert listener.stdout.read() == ""


@NEEDS_ROOT
def test_another_user_who_reaches_the_hub_gets_nothing(memory: Memory) -> None:
    memory.greeted()
    (path,) = memory.sockets
    hello = json.dumps({"hello": 1, "role": "control", "command": "status"})
    arguments = [sys.executable, "-c", CALL, str(path), hello]
    ours = subprocess.run([*arguments, str(os.getuid())], capture_output=True, check=True)
    assert b"uptime" in ours.stdout
    path.chmod(0o666)
    for folder in (path.parent, memory.runtime):
        folder.chmod(0o711)
    theirs = subprocess.run([*arguments, str(OTHER)], capture_output=True, check=True)
    assert theirs.stdout == b"b''\n"


FEW_DESCRIPTORS = """
import resource
from learning_memory_server.hub.front.relay import main

resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
main()
"""


def test_the_hub_raises_its_limit_of_open_files(memory: Memory) -> None:
    memory.greeted(command=(sys.executable, "-c", FEW_DESCRIPTORS))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    (line,) = re.findall(r"Max open files +(\d+) ", Path(f"/proc/{memory.hub()}/limits").read_text())
    assert int(line) == min(65_536, hard if hard != resource.RLIM_INFINITY else 65_536)


@pytest.mark.parametrize("removed", ["the socket", "its folder"])
def test_a_hub_whose_socket_is_removed_binds_it_again(memory: Memory, removed: str, front: Wire) -> None:
    hub = memory.hub()
    ghap_id = front.call("start_ghap", **ENTRY)["id"]
    (path,) = memory.sockets
    if removed == "the socket":
        path.unlink()
    else:
        shutil.rmtree(path.parent)
    until(path.exists, "the hub does not listen again")
    assert front.call("get_active_ghap")["id"] == ghap_id
    assert memory.greeted().call("get_active_ghap")["id"] == ghap_id
    assert memory.hub() == hub
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    memory.end_hub()
    assert memory.sockets == []


def test_a_hub_that_cannot_listen_any_more_ends(memory: Memory, front: Wire) -> None:
    hub = memory.hub()
    (path,) = memory.sockets
    shutil.rmtree(path.parent)
    path.parent.symlink_to(memory.runtime)
    until(lambda: not is_alive(hub), "the hub does not end")
    path.parent.unlink()
    assert front.call("list_values")["count"] == 0


def test_a_hub_that_hangs_without_a_socket_can_be_stopped(memory: Memory) -> None:
    memory.greeted()
    hub = memory.hub()
    os.kill(hub, signal.SIGSTOP)
    for path in memory.sockets:
        path.unlink()
    checked = memory.command("doctor", "--quick", check=False)
    assert checked.returncode == 1
    assert f"(process {hub}) has locked the data, but does not listen" in " ".join(checked.stdout.split())
    assert memory.run("-c", IMPATIENT_STOP).stdout == f"{hub}\n"
    assert not is_alive(hub)


def test_data_reached_through_a_link_has_one_hub(memory: Memory, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(memory.storage)
    ghap_id = memory.greeted().call("start_ghap", **ENTRY)["id"]
    hub = memory.hub()
    linked = memory.greeted(storage_path=str(link))
    assert linked.call("get_active_ghap")["id"] == ghap_id
    assert memory.hub() == hub
    (_,) = memory.sockets


def write_until(front: Wire, stop: threading.Event, goal: str) -> list[str]:
    ids = []
    while not stop.is_set():
        ids.append(learn(front, goal=goal))
    return ids


def test_no_call_fails_and_no_old_program_returns_while_a_newer_version_starts(memory: Memory, tmp_path: Path) -> None:
    newer_package = copy_of_the_package(tmp_path, "99.0.0")
    old = [memory.greeted(f"old {number}", log_level="error") for number in range(5)]
    first = memory.hub()
    stop, written, problems = threading.Event(), [], []

    def work(front: Wire, goal: str) -> None:
        try:
            written.extend(write_until(front, stop, goal))
        except Exception as error:
            problems.append(error)
            raise

    threads = [threading.Thread(target=work, args=(front, f"goal {number}")) for number, front in enumerate(old)]
    for thread in threads:
        thread.start()
    hubs: list[int] = [first]

    def watch() -> None:
        while not stop.is_set():
            hub = holder_of(memory)
            if hub is not None and hub != hubs[-1]:
                hubs.append(hub)
            time.sleep(0.002)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        # With the same settings: for others, the first hub would give way to a front that comes before the old ones.
        newer = [memory.front(f"new {number}", package=newer_package, log_level="error") for number in range(2)]
        for front in newer:
            front.handshake()
            front.call("list_values")
        time.sleep(1.0)
    finally:
        stop.set()
        for thread in (*threads, watching):
            thread.join()
    assert problems == []
    assert not is_alive(first)
    assert package_of(memory.hub()) == str(newer_package)
    later = [package_of(hub) for hub in hubs[1:] if is_alive(hub)]
    assert set(later) == {str(newer_package)}
    assert len(hubs) == 2, f"hubs {hubs} came one after another"
    listed: set[str] = set()
    page: dict[str, Any] = {"offset": 0}
    while "offset" in page:
        page = old[0].call("list_ghap_entries", limit=100, offset=page["offset"])
        listed |= {entry["id"] for entry in page["results"]}
    assert listed == set(written)
    assert len(written) == len(set(written))


def holder_of(memory: Memory) -> int | None:
    """Return the process that the lock names; nobody is named while it changes hands."""
    try:
        return int(json.loads(memory.lock.read_bytes())["pid"])
    except (ValueError, KeyError, OSError):
        return None


def test_requests_and_paths_that_are_not_text_are_refused_and_no_crash(memory: Memory, front: Wire) -> None:
    journal, storage = (str(path) for path in (memory.storage / "journal", memory.storage))
    right = {"hello": 1, "role": "control", "journal": journal, "storage": storage, "command": "compare", "fields": {}}
    wrong: list[tuple[dict[str, Any], str]] = [
        *(({"journal": path}, "paths that are text") for path in (5, None, ["/"], "\0", "\ud800")),
        *(({"command": command}, "must be a text") for command in (5, None, ["status"], {"status": 1})),
        *(({"fields": fields}, "`fields` an object") for fields in (5, None, "x", ["ids"])),
        ({"command": "forget", "fields": {"ids": 5, "project": None, "purge": False, "preview": True}}, "a valid list"),
        ({"command": "call", "fields": {"tool": [], "arguments": {}, "project": "p", "session": "s"}}, "a valid string"),
        ({"command": "call", "fields": {"tool": "x", "arguments": 5, "project": "p", "session": "s"}}, "a valid dictionary"),
        ({"hello": None}, "version 1"),
    ]  # fmt: skip
    for change, said in wrong:
        assert said in asked(memory, {**right, **change})["error"]["message"], change
    for change in ({"journal": 5, "storage": [], "command": "status"}, {"command": "compare"}):
        assert "error" not in asked(memory, {**right, **change})
    for role in ("session", "hook"):
        # Without an answer: nobody of ours says this.
        asked(memory, {**right, "role": role, "directory": 5, "project": 5, "session": [], "given": 5})
    front.call("list_values")
    log = (memory.storage / "hub.log").read_text()
    assert "crashed" not in log
    assert "Traceback" not in log


def asked(memory: Memory, hello: dict[str, Any]) -> dict[str, Any]:
    """Say a hello to the hub, and return its answer; an empty one if it has none."""
    with socket.socket(socket.AF_UNIX) as connection, connection.makefile("rb") as lines:
        connection.settimeout(MINUTES)
        connection.connect(str(memory.sockets[0]))
        connection.sendall(json.dumps(hello).encode() + b"\n")
        while (line := lines.readline()).startswith(b'{"hub":'):
            pass
    answer: dict[str, Any] = json.loads(line.strip() or b"{}")
    return answer
