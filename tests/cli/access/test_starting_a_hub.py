"""Commands start a hub and work through it, and sessions are served while they do."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.cli.access import HubClient, find_hub
from learning_memory_server.cli.app import app
from learning_memory_server.journal.journal import Journal
from learning_memory_server.system import timeouts
from learning_memory_server.system.ipc import discovery, programs
from tests.acceptance.hubs import (
    ENTRY,
    Memory,
    copy_of_the_package,
    end_hub,
    entries_in,
    hub_for,
    is_alive,
    state_of,
    until,
)
from tests.acceptance.wire import COMMAND, environment
from tests.command_line import in_line, in_process
from tests.forked_otherwise import StoppingHub
from tests.index.engines.stub import Stub, stub_serving
from tests.journal.archive.making import archived
from tests.support import MINUTES, TickingClock, about

pytestmark = pytest.mark.slow

MANY: Final = 1_000
SOME: Final = 120
"""More than a command sends a hub at once."""
FEW: Final = 20

Command = subprocess.Popen[str]
Start = Callable[..., Command]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def started(memory: Memory) -> Iterator[Start]:
    """Start a command, in an environment whose hub ends by itself. Any command left at the end is ended."""
    commands: list[Command] = []

    def start(*arguments: str | Path, **settings: str) -> Command:
        process = subprocess.Popen(
            [COMMAND, *arguments],
            env=variables_of(memory, **settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        commands.append(process)
        return process

    yield start
    for process in commands:
        process.kill()
        process.communicate()


@pytest.fixture
def run(memory: Memory) -> Run:
    """Run a command here, and return its exit status, its output and its notices."""

    def invoke(*arguments: str | Path) -> tuple[int, str, str]:
        done = in_process(app, *map(str, arguments), **variables_of(memory))
        return done.exit_code, done.stdout, done.stderr

    return invoke


@pytest.fixture
def server() -> Iterator[Stub]:
    """A Qdrant server that does not answer before it is released, and then fails."""
    with stub_serving() as stub:

        def answer(_method: str, _path: str) -> tuple[int, bytes]:
            stub.released.wait(MINUTES)
            return 500, b"{}"

        stub.answer = answer
        yield stub


def variables_of(memory: Memory, **settings: str) -> dict[str, str]:
    # The package under test may be a copy of the installed one.
    package = {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}
    return {**environment(memory.storage, **{"hub_idle_minutes": "1", **settings}), **memory.variables(), **package}


def ended(process: Command) -> tuple[int, str, str]:
    shown, noticed = process.communicate(timeout=MINUTES)
    return process.returncode, shown, noticed


def journal_of(folder: Path, count: int) -> Journal:
    journal = Journal(folder / "journal")
    collector = ObservationCollector(journal, TickingClock())
    collector.add_resolved([about(("pool", "cache", "types")[n % 3], n) for n in range(count)])
    return journal


def lines_of(folder: Path, count: int) -> Path:
    journal_of(folder, count)
    path = folder / "entries.jsonl"
    files = sorted((folder / "journal" / "entries").glob("*.jsonl"))
    path.write_bytes(b"".join(file.read_bytes() for file in files))
    return path


def resolved_in(memory: Memory) -> set[str]:
    return {data["id"] for data in entries_in(memory.storage)}


def hub_of(memory: Memory) -> HubClient:
    hub = find_hub(discovery.HubPaths(variables_of(memory)), hung_after=60.0)
    assert hub
    return hub


def compared(memory: Memory) -> dict[str, Any]:
    """Return the difference between index and journal, once the hub has completed the index."""
    hub = hub_of(memory)
    hub.control("complete")
    return hub.control("compare")


def use_a_session(memory: Memory) -> str:
    """Search and record an entry as an agent does, and return the entry's id."""
    front = memory.greeted()
    assert front.call("search_experiences", query="the cache")["mode"] in {"lexical", "hybrid"}
    ghap_id: str = front.call("start_ghap", **ENTRY)["id"]
    front.call("resolve_ghap", status="confirmed", result="totals match")
    return ghap_id


@pytest.mark.parametrize("name", ["import", "import of an archive", "reindex"])
def test_a_session_that_begins_during_a_long_command_is_served(
    name: str, memory: Memory, started: Start, tmp_path: Path
) -> None:
    arguments: list[str | Path] = [name.split(maxsplit=1)[0]]
    if name == "import":
        arguments.append(lines_of(tmp_path / "there", MANY))
    elif name == "import of an archive":
        there = journal_of(tmp_path / "there", MANY)
        arguments += [archived(there, tmp_path / "there.tar.gz")]
    else:
        journal_of(memory.storage, MANY)
    command = started(*arguments)
    until(memory.is_held, "the command started no hub", MINUTES)
    ghap_id = use_a_session(memory)
    assert command.poll() is None, "the command has ended before the session was served"
    status, shown, _ = ended(command)
    assert status == 0
    assert ("was rebuilt" if name == "reindex" else "imported") in shown
    assert len(resolved_in(memory)) == MANY + 1
    assert ghap_id in resolved_in(memory)
    difference = compared(memory)
    assert (difference["missing"], difference["superfluous"]) == (0, 0)


@pytest.fixture
def migrating(memory: Memory, started: Start, server: Stub) -> Command:
    """A command that waits for a server."""
    journal_of(memory.storage, FEW)
    command = started("migrate", "--to", server.url)
    until(lambda: server.asked, "the server was not asked", MINUTES)
    return command


def test_a_session_is_served_while_migrate_waits_for_a_server(memory: Memory, migrating: Command, server: Stub) -> None:
    ghap_id = use_a_session(memory)
    assert migrating.poll() is None
    server.released.set()
    status, _, noticed = ended(migrating)
    assert (status, noticed.startswith("error: ")) == (1, True)
    assert ghap_id in resolved_in(memory)
    assert compared(memory)["missing"] == 0


def test_ctrl_c_ends_the_command_and_the_hub_withdraws_its_work(memory: Memory, migrating: Command) -> None:
    migrating.send_signal(signal.SIGINT)
    status, _, noticed = ended(migrating)
    assert status == 130
    assert "Interrupted. What was finished stays; run the command again for the rest." in noticed
    assert "Traceback" not in noticed
    log = memory.storage / discovery.LOG
    until(lambda: "command.withdrawn" in log.read_text("utf-8"), "the hub did not notice", MINUTES)
    assert use_a_session(memory) in resolved_in(memory)


@pytest.fixture
def hub(memory: Memory) -> Iterator[int]:
    """The process of a hub that stops in the middle of an import."""
    pid = hub_for(variables_of(memory), StoppingHub)
    yield pid
    end_hub(pid)


@pytest.mark.parametrize("whom", ["command", "hub"])
def test_an_import_that_was_cut_short_is_completed_by_another(
    whom: str, memory: Memory, hub: int, started: Start, run: Run, tmp_path: Path
) -> None:
    path = lines_of(tmp_path / "there", SOME)
    command = started("import", path)
    until(lambda: state_of(hub) == "T", "the hub did not stop")
    assert command.poll() is None
    if whom == "command":
        command.send_signal(signal.SIGINT)
        expected = 130, "run the command again for the rest"
    else:
        os.kill(hub, signal.SIGKILL)
        expected = 1, "Run the command again: what is done already is not done twice"
    status, _, noticed = ended(command)
    assert status == expected[0]
    assert expected[1] in in_line(noticed)
    assert is_alive(hub) == (whom == "command")
    if whom == "command":
        os.kill(hub, signal.SIGCONT)
    status, shown, _ = run("import", path)
    assert status == 0
    (added,) = re.findall(r"imported +([\d,]+) entries", shown)
    assert 0 < int(added.replace(",", "")) < SOME
    names = [data["id"] for data in entries_in(memory.storage)]
    assert (len(names), len(set(names))) == (SOME, SOME)
    assert compared(memory)["missing"] == 0


def test_a_search_starts_a_hub_and_the_next_one_uses_it(memory: Memory, run: Run) -> None:
    journal_of(memory.storage, FEW)
    status, shown, noticed = run("search", "the cache")
    assert (status, noticed) == (0, "")
    assert "mode: hybrid" in shown
    hub = memory.hub()
    assert run("search", "the cache") == (0, shown, "")
    assert memory.hub() == hub
    os.kill(hub, signal.SIGSTOP)
    for command in (("search", "the cache"), ("search", "--only", "memories", "the cache"), ("status",)):
        begun = time.monotonic()
        status, shown, noticed = run(*command)
        # What is being started is waited for twice as long.
        assert time.monotonic() - begun < timeouts.CONNECT
        assert status == 0, noticed
        assert "lexical" in shown or "no sign of life" in shown


def test_commands_that_only_read_start_nothing(memory: Memory, run: Run, tmp_path: Path) -> None:
    journal_of(memory.storage, FEW)
    for command in (
        "list",
        "values",
        "status",
        "search cache --lexical",
        f"backup {tmp_path / 'all.tar.gz'}",
        "backup",
        f"import --dry-run {tmp_path / 'all.tar.gz'}",
        "hub stop",
    ):
        assert run(*command.split())[0] == 0
        assert memory.processes() == [], command


def test_a_recorded_program_that_fails_is_replaced_by_the_commands_own(
    memory: Memory, run: Run, tmp_path: Path
) -> None:
    journal_of(memory.storage, FEW)
    # One of a later version, which cannot be started.
    (tmp_path / "learning_memory_server").mkdir()
    later = {"version": "99.0", "fingerprint": "later", "executable": "/bin/false", "folder": str(tmp_path)}
    programs.record(memory.storage, {**programs.this_program(), **later})
    (memory.storage / programs.RECORD).chmod(0o600)
    status, shown, noticed = run("search", "the cache")
    assert (status, noticed) == (0, "")
    assert "mode: hybrid" in shown
    hub = memory.hub()
    # What has opened the journal is what the next session starts.
    (started,) = programs.to_start(memory.storage)
    assert started["folder"] == programs.this_program()["folder"]
    assert use_a_session(memory) in resolved_in(memory)
    assert memory.hub() == hub


def test_a_command_works_alone_and_says_so_where_no_hub_can_start(
    memory: Memory, started: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal_of(memory.storage, FEW)
    broken = copy_of_the_package(tmp_path, "99.0.0")
    (broken / "learning_memory_server" / "hub" / "main.py").write_text("raise SystemExit(1)\n")
    monkeypatch.setenv("PYTHONPATH", str(broken))
    status, shown, noticed = ended(started("search", "the cache"))
    assert status == 0
    assert "mode: hybrid" in shown
    assert noticed.startswith("The memory hub could not be started.")
    assert "This command works without a hub; sessions wait until it has ended." in noticed
    assert memory.processes() == []


def test_a_process_that_is_no_hub_is_named(memory: Memory, run: Run) -> None:
    direct = memory.front(command=(COMMAND, "--direct"))
    direct.handshake()
    direct.call("list_values")
    status, _, noticed = run("reindex")
    assert status == 1
    assert f"process {direct.process.pid}" in noticed
