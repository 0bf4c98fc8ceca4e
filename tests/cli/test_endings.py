"""How commands and servers end: on Ctrl-C, and when nobody can take what they write."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.system.locking import holder
from tests.acceptance.hubs import until
from tests.support import MINUTES
from tests.terminals import PROGRAM, on_a_terminal, read_until

pytestmark = pytest.mark.slow

FULL = Path("/dev/full")


def interrupted(arguments: list[str], environment: dict[str, str], expected: bytes) -> bytes:
    """Run a command until it shows what is expected, end it with Ctrl-C, and return what it showed before that."""
    with on_a_terminal(environment, *arguments) as (process, terminal):
        shown = read_until(terminal, expected)
        assert expected in shown
        # A signal in the microseconds between a question and the call that waits for its answer would not end it.
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert b"Traceback" not in read_until(terminal, b"Traceback")
        assert process.wait(MINUTES) == 130
    return shown


@pytest.mark.parametrize("arguments", [[], ["--direct"]], ids=["front", "direct"])
def test_a_server_on_a_terminal_says_what_it_waits_for_and_ends_on_ctrl_c(
    arguments: list[str], environment: dict[str, str]
) -> None:
    assert b"waiting for an MCP client" in interrupted(arguments, environment, b"Ctrl-C ends it.")


def test_ctrl_c_ends_a_server_alike_where_a_library_turns_it_into_its_own_error(
    environment: dict[str, str], tmp_path: Path
) -> None:
    lines = "import signal", "try: signal.raise_signal(signal.SIGINT)", "except KeyboardInterrupt: raise ValueError"
    (tmp_path / "anyio.py").write_text("\n".join(lines))
    variables = {**os.environ, **environment, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([*PROGRAM, "--direct"], env=variables, input=b"", capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (130, b"")


def test_a_server_whose_input_is_a_pipe_says_nothing(environment: dict[str, str]) -> None:
    done = subprocess.run(PROGRAM, input=b"", env={**os.environ, **environment}, capture_output=True, check=True)
    assert done.stderr == b""


@pytest.mark.usefixtures("imported")
def test_ctrl_c_at_a_question_changes_nothing_and_leaves_130(environment: dict[str, str], run: Any) -> None:
    interrupted(["forget", "ghap_20260101_000001_abcdef"], environment, b"[y/N]")
    assert "ghap_20260101_000001_abcdef" in run("list", "--limit", "100").stdout


@pytest.mark.usefixtures("imported")
def test_a_question_breaks_between_words(environment: dict[str, str]) -> None:
    narrow = {**environment, "COLUMNS": "30"}
    with on_a_terminal(narrow, "forget", "ghap_20260101_000001_abcdef") as (_process, terminal):
        *_, question = read_until(terminal, b"[y/N]:").decode().split("\x1b[")
    assert max(map(len, question.splitlines())) <= 30


@pytest.mark.usefixtures("imported")
def test_what_the_output_cannot_encode_is_a_question_mark(environment: dict[str, str]) -> None:
    variables = {**os.environ, **environment, "PYTHONIOENCODING": "cp1252"}
    done = subprocess.run([*PROGRAM, "list"], env=variables, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b" ? " in done.stdout


def test_ctrl_c_ends_a_process_whose_threads_go_on() -> None:
    program = (
        "import threading\n"
        "from learning_memory_server.system.ending import end_on_interrupt\n"
        "end_on_interrupt()\n"
        "stay = threading.Event()\n"
        "threading.Thread(target=stay.wait).start()\n"
        "try:\n"
        "    print('ready', flush=True)\n"
        "    stay.wait()\n"
        "except KeyboardInterrupt:\n"
        "    print('unwound', flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == b"unwound\n"
        assert process.wait(MINUTES) == 130


def test_a_hub_in_the_foreground_ends_on_ctrl_c(environment: dict[str, str], storage: Path) -> None:
    log = storage / "hub.log"
    with on_a_terminal(environment, "hub", "run") as (process, _):
        until(lambda: log.exists() and "hub.started" in log.read_text("utf-8"), "the hub does not start")
        process.send_signal(signal.SIGINT)
        assert process.wait(MINUTES) == 130
    assert "hub.ended" in log.read_text("utf-8")
    assert holder(storage / "journal") is None


def writing_to(output: int, argument: str, environment: dict[str, str]) -> tuple[int, bytes]:
    """Return how a command ends whose output goes there, and what it says on standard error."""
    env = {**os.environ, **environment}
    done = subprocess.run([*PROGRAM, argument], stdout=output, stderr=subprocess.PIPE, env=env, check=False)
    return done.returncode, done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has /dev/full")
@pytest.mark.parametrize("argument", ["status", "--help", "--version"])
def test_a_full_disk_behind_the_output_is_one_sentence(argument: str, environment: dict[str, str]) -> None:
    with FULL.open("wb") as full:
        status, said = writing_to(full.fileno(), argument, environment)
    assert status == 1
    assert said.startswith(b"error: The output could not be written (No space left on device).")
    assert b"Traceback" not in said
    assert b"Exception" not in said


@pytest.mark.parametrize("argument", ["status", "--help", "--version"])
def test_a_reader_that_is_gone_ends_a_command_in_silence(argument: str, environment: dict[str, str]) -> None:
    end, start = os.pipe()
    os.close(end)
    assert writing_to(start, argument, environment) == (141, b"")
    os.close(start)
