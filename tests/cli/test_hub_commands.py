import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.moment import utc_now
from learning_memory_server.system.locking import exclusive
from tests.command_line import in_line
from tests.support import ghap

pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("filled")
def test_status_describes_the_hub_and_hub_stop_ends_it(run: Any, start_hub: Callable[[], int], storage: Path) -> None:
    pid = start_hub()
    assert "not open, or its server does not answer" in run("status").stdout
    run("search", "leak")
    shown = run("status").stdout
    expected = (
        rf"hub +process {pid}, version \d.*, up \d+ s, 0 sessions, model ready \(hashing\), 0 points pending\n",
        r"  points +48: .*experiences_full 24",
        rf"journal +{storage}/journal \(\d",
        rf"  log +{storage}/hub.log",
    )
    for pattern in expected:
        assert re.search(pattern, shown), pattern
    assert "other settings" in run("status", LEARNING_MEMORY_MIN_EXPERIENCES="7").stdout
    assert re.fullmatch(rf"The hub \(process {pid}\) ended after \d+\.\d s\.\n", run("hub", "stop").stdout)
    with exclusive(storage / "journal", "a test"), exclusive(storage, "a test"):
        pass
    assert run("hub", "stop").stdout == "No hub is running; the next session starts one.\n"
    assert run("hub", "stop").exit_code == 0


@pytest.mark.usefixtures("kept")
def test_why_shows_what_the_last_session_was_shown_also_once_the_hub_has_ended(
    run: Any, start_hub: Callable[[], int], environment: dict[str, str], storage: Path, tmp_path: Path
) -> None:
    assert "No session of garden was given advice yet." in run("why").stdout
    ObservationCollector(Journal(storage / "journal"), utc_now).add_open([ghap(project="garden")])
    start_hub()
    event = {"session_id": "one", "cwd": str(tmp_path), "hook_event_name": "SessionStart", "source": "startup"}
    hook = [sys.executable, "-m", "learning_memory_server", "hook"]
    env = {**os.environ, **environment}
    done = subprocess.run(hook, input=json.dumps(event).encode(), env=env, check=True, capture_output=True)
    assert b"Stop the checkout from timing out" in done.stdout
    for _ in range(2):
        answer = run("why").stdout
        assert answer.startswith("At its start: rules for every session, what is open")
        assert "Stop the checkout from timing out" in answer
        (shown,) = json.loads(run("why", "--json").stdout)["shown"]
        assert (shown["trigger"], [each["reason"] for each in shown["items"]]) == ("context", ["open"])
        assert json.loads(run("status", "--json").stdout)["last_session"] == {"project": "garden", "shown": [shown]}
        said = run("status").stdout
        assert "last given  1 item in the last session here, " in said
        assert "what is open, and lessons that name the branch, a changed file or the folder: Stop the checkout" in said
        (item,) = shown["items"]
        assert "given  1 time, the last one " in run("show", item["id"]).stdout
        assert json.loads(run("show", item["id"], "--json").stdout)["given"].startswith("1 time, the last one ")
        run("hub", "stop")


LISTENING_NOWHERE = """
import sys
from pathlib import Path
from learning_memory_server.system.locking import exclusive

with exclusive(Path(sys.argv[1]), "the memory hub", socket=Path(sys.argv[1], "none.sock")):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_a_hub_that_does_not_listen_is_described_and_can_be_stopped(run: Any, storage: Path) -> None:
    command = [sys.executable, "-c", LISTENING_NOWHERE, str(storage / "journal")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as hub:
        try:
            assert hub.stdout
            assert hub.stdout.readline() == b"locked\n"
            assert f"A hub (process {hub.pid}) is starting or ending" in run("status").stdout
            # What a process has written about itself is not enough to end it.
            lock = storage / "journal" / ".lock"
            written = lock.read_bytes()
            lock.write_bytes(written.replace(str(hub.pid).encode(), str(os.getpid()).encode()))
            assert run("hub", "stop").exit_code == 1
            assert hub.poll() is None
            lock.write_bytes(written)
            assert f"The hub (process {hub.pid}) ended" in run("hub", "stop").stdout
            assert hub.wait(60) == -signal.SIGTERM
        finally:
            hub.kill()


@pytest.mark.parametrize("command", ["status", "hub stop"])
def test_without_a_hub_the_process_that_locks_the_data_is_named_and_left_alone(
    command: str, run: Any, storage: Path
) -> None:
    assert "No hub is running; the next session starts one.\n" in run(*command.split()).stdout
    with exclusive(storage, "a server"):
        shown = run(*command.split())
    assert shown.exit_code == 0
    said = in_line(shown.stdout)
    assert f"no session can start until a server, process {os.getpid()}, has ended" in said


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_a_hook_has_a_help(option: str, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "learning_memory_server", "hook", option]
    done = subprocess.run(
        command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
    assert b"Answer a client's hook" in done.stdout


def test_hub_logs_shows_the_end_of_the_log_and_of_the_one_before(run: Any, storage: Path) -> None:
    assert "There is no log yet" in run("hub", "logs").stdout
    (storage / "hub.log.1").write_text("one\ntwo\n")
    (storage / "hub.log").write_text("three\n  fo\x1b[31mur\n")
    assert run("hub", "logs").stdout == "one\ntwo\nthree\n  fo\N{REPLACEMENT CHARACTER}[31mur\n"
    assert run("hub", "logs", "-n", "1").stdout == "  fo\N{REPLACEMENT CHARACTER}[31mur\n"
    assert run("hub", "logs", "-n", "0").stdout == ""
