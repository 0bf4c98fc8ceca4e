"""The commands about the hub itself: looking at it, ending it, reading its log."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from learning_memory_server.journal.lock import exclusive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from typer.testing import Result


pytestmark = pytest.mark.slow


def test_hub_status_tells_what_runs_and_hub_stop_ends_it(
    run: Any, filled: Result, start_hub: Callable[[], int], storage: Path
) -> None:
    assert filled.exit_code == 0
    pid = start_hub()
    assert "not open yet" in run("hub", "status").stdout
    run("search", "leak")
    shown = run("hub", "status").stdout
    expected = (
        rf"process +{pid}\n",
        r"version +\d",
        r"uptime +\d+ s\n",
        r"sessions +0\n",
        r"model +ready \(hashing\)",
        r"index +48 points",
        r"experiences_full +24\n",
        r"pending +0 points",
        rf"journal +{storage}/journal \(\d",
        r"settings +the present ones",
        rf"log +{storage}/hub.log",
    )
    for pattern in expected:
        assert re.search(pattern, shown), pattern
    assert "others than these" in run("hub", "status", LEARNING_MEMORY_MIN_EXPERIENCES="7").stdout
    stopped = run("hub", "stop")
    assert re.fullmatch(rf"The hub \(process {pid}\) has ended, after \d+\.\d s\.\n", stopped.stdout)
    with exclusive(storage / "journal", "a test"), exclusive(storage, "a test"):
        pass
    assert run("hub", "stop").stdout == "No hub runs; the next session starts one.\n"
    assert run("hub", "stop").exit_code == 0


@pytest.mark.parametrize("command", ["status", "stop"])
def test_without_a_hub_the_holder_is_named_and_left_alone(command: str, run: Any, storage: Path) -> None:
    assert run("hub", command).stdout == "No hub runs; the next session starts one.\n"
    with exclusive(storage, "a server"):
        beside = run("hub", command)
    assert beside.exit_code == 0
    said = " ".join(beside.stdout.split())
    assert f"no session can start until a server, process {os.getpid()}, has ended" in said
    with exclusive(storage / "journal", "the memory hub", socket=storage / "none.sock"):
        assert f"A hub (process {os.getpid()}) is starting or ending" in run("hub", command).stdout


def test_hub_logs_shows_the_end_of_the_log_and_of_what_was_set_aside(run: Any, storage: Path) -> None:
    assert "There is no log yet" in run("hub", "logs").stdout
    (storage / "hub.log.1").write_text("one\ntwo\n")
    (storage / "hub.log").write_text("three\n  fo\x1b[31mur\n")
    assert run("hub", "logs").stdout == "one\ntwo\nthree\n  fo\N{REPLACEMENT CHARACTER}[31mur\n"
    assert run("hub", "logs", "-n", "1").stdout == "  fo\N{REPLACEMENT CHARACTER}[31mur\n"
    assert run("hub", "logs", "-n", "0").stdout == ""


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let children be interrupted, also where this runs in the background of a shell, which ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_hub_logs_follows_also_when_the_log_is_set_aside(environment: dict[str, str], storage: Path) -> None:
    log = storage / "hub.log"
    log.write_text("one\ntwo\n")
    command = [sys.executable, "-m", "learning_memory_server", "hub", "logs", "-n", "1", "--follow"]
    env = {**os.environ, **environment}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout
            assert process.stderr
            assert process.stdout.readline() == b"two\n"
            with log.open("a") as file:
                file.write("three\n")
            assert process.stdout.readline() == b"three\n"
            with log.open("a") as file:
                file.write("four\n")
            log.rename(storage / "hub.log.1")
            log.write_text("five\n")
            assert [process.stdout.readline() for _ in range(2)] == [b"four\n", b"five\n"]
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 0
            assert process.stderr.read() == b""
        finally:
            # Else a failure would wait for it.
            process.kill()
