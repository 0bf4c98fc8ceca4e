"""Fronts, and a hub that ends with its test."""

import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import CompletedProcess
from types import MappingProxyType
from typing import Any, Final

import pytest

import learning_memory_server
from learning_memory_server.cli.access import find_hub
from learning_memory_server.system.ipc.discovery import HubPaths
from learning_memory_server.version import VERSION
from tests.acceptance.wire import COMMAND, Era, Wire, environment
from tests.forked import Forked
from tests.support import MINUTES

ENTRY: Final[dict[str, Any]] = {
    "domain": "debugging",
    "strategy": "read-the-error",
    "goal": "make the checkout page load",
    "hypothesis": "the price cache returns stale totals after a deploy",
    "action": "clear the cache and load the page",
    "prediction": "totals match the database again",
}
"""The arguments of a start_ghap call."""


TOPICS: Final = (
    "the price cache returns stale totals after every deploy",
    "session cookies vanish when users open a second browser window",
)


def apart(number: int) -> str:
    """Return words of this number alone: experiences of one topic are similar, not equal."""
    return " ".join(f"case{number}detail{part}" for part in range(8))


IN_PROC: Final = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are looked at in /proc"),
]
"""The marks of tests that look at processes."""


OF_VALUES: Final = (
    *("CLUSTERS", "VALUE_MODEL", "VALIDATING", "VALIDATING_CLUSTERS", "STORING", "STORING_CLUSTERS"),
    *("CLOSEST_READ", "CLOSEST_MODEL"),
)
"""How long tools wait for clusters, values and their vectors; see `unhurried`."""


def unhurried(folder: Path, *waits: str) -> dict[str, str]:
    """Return the variable with which Python's processes wait for minutes, so that no machine is too slow for a test.

    Args:
        folder: Keeps what Python imports at its start.
        waits: The names in `system/timeouts.py`.
    """
    folder.mkdir(exist_ok=True)
    lines = [
        "from contextlib import suppress",
        "with suppress(ImportError):  # Another Python has no such package",
        "    from learning_memory_server.system import timeouts",
        *(f"    timeouts.{wait} = {MINUTES}" for wait in waits),
    ]
    (folder / "sitecustomize.py").write_text("\n".join(lines))
    return {"PYTHONPATH": str(folder)}


def learn(front: Wire, result: str = "totals match", **changes: str) -> str:
    """Start an entry, resolve it as confirmed, and return its id."""
    ghap_id: str = front.call("start_ghap", **{**ENTRY, **changes})["id"]
    assert front.call("resolve_ghap", status="confirmed", result=result, ghap_id=ghap_id)["id"] == ghap_id
    return ghap_id


def hub_for(environment: Mapping[str, str], kind: type[Forked] = Forked) -> int:
    """Start a hub for commands in an environment, wait until it serves, and return its process id."""
    variables = {**os.environ, **environment}
    with Path(os.devnull).open("r+b") as nowhere:
        kind(("hub", "run"), variables, (nowhere.fileno(),) * 3, Path("/"))
    client = until(lambda: find_hub(HubPaths(variables)), "the hub did not start")
    pid: int = client.control("status")["pid"]
    return pid


def end_hub(pid: int) -> None:
    """Kill a hub, and wait until it is gone."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    os.kill(pid, signal.SIGKILL)
    select.select([process], [], [])
    os.close(process)


class Memory:
    """A storage folder, the runtime directory of its hub, and the fronts that a test starts.

    Attributes:
        more: Further variables of what is started from now on.
    """

    def __init__(self, storage: Path, runtime: Path) -> None:
        self.storage = storage
        self.runtime = runtime
        self.fronts: list[Wire] = []
        self.more: dict[str, str] = {}
        self._forked: list[int] = []

    def front(
        self,
        session: str = "one session",
        era: Era = "2025-11-25",
        *,
        command: Sequence[str | Path] = (COMMAND,),
        package: Path | None = None,
        **settings: str,
    ) -> Wire:
        """Start a front without a handshake.

        Args:
            session: The agent session that it belongs to.
            era: The client's protocol; for the newer one, its hub imports the SDK, which takes half a second.
            command: What to start instead of the installed command.
            package: A folder with a copy of the package to start.
            settings: Of the front, and of the hub if it starts one.
        """
        here = self.variables(session)
        if package:
            here["PYTHONPATH"] = str(package)

        class Front(Wire):
            variables = MappingProxyType(here)

        Front.command = (sys.executable, "-m", "learning_memory_server") if package else command
        # A hub that a failing test leaves behind ends on its own.
        self.fronts.append(Front(self.storage, era, **{"hub_idle_minutes": "1", **settings}))
        return self.fronts[-1]

    def environment(self, **settings: str) -> dict[str, str]:
        """Return all variables of a program that is to use this memory."""
        return {**environment(self.storage, **settings), **self.variables()}

    def place(self, **settings: str) -> HubPaths:
        """Return where such a program finds the hub."""
        return HubPaths(self.environment(**settings))

    def run(
        self, *arguments: str | Path, given: str = "", check: bool = True, **settings: str
    ) -> CompletedProcess[str]:
        """Run Python with these variables to its end."""
        return subprocess.run(
            [sys.executable, *arguments],
            input=given,
            env=self.environment(**settings),
            capture_output=True,
            text=True,
            timeout=MINUTES,
            check=check,
        )

    def command(self, *arguments: str, given: str = "", check: bool = True, **settings: str) -> CompletedProcess[str]:
        """Run a command of ours to its end."""
        return self.run("-m", "learning_memory_server", *arguments, given=given, check=check, **settings)

    def variables(self, session: str = "one session") -> dict[str, str]:
        """Return the variables of a front that are not settings."""
        return {"XDG_RUNTIME_DIR": str(self.runtime), "CLAUDE_CODE_SESSION_ID": session, **self.more}

    def greeted(
        self, session: str = "one session", era: Era = "2025-11-25", *, forks: bool = True, **settings: Any
    ) -> Wire:
        """Start a front, shake hands, and wait until it has a hub, which the older protocol spares the SDK's import.

        If there is no hub, one is forked, which takes half the time. The front starts it if `forks` is false, or if it
        is of a kind of its own.
        """
        if forks and not (self.is_held() or settings.keys() & {"command", "package"}):
            self._forked.append(hub_for(self.environment(**{"hub_idle_minutes": "1", **settings})))
        front = self.front(session, era, **settings)
        front.handshake()
        front.reach_hub()
        return front

    @property
    def lock(self) -> Path:
        return self.storage / "journal" / ".lock"

    @property
    def sockets(self) -> list[Path]:
        return list(self.runtime.glob("*/*"))

    def hub(self) -> int:
        """Return the process id of the running hub."""
        until(self.is_held, "there is no hub")
        return int(until(self._written, "the hub did not write its lock")["pid"])

    def is_held(self) -> bool:
        """Return whether a process has locked the journal."""
        try:
            with self.lock.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def processes(self) -> list[int]:
        """Return every process of this store, except zombies, which have no variables."""
        wanted = f"LEARNING_MEMORY_STORAGE_PATH={self.storage}".encode()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
        return found + [pid for pid in self._forked if is_alive(pid)]

    def end_hub(self) -> None:
        """Ask the hub to shut down, and wait for it."""
        pid = self.hub()
        os.kill(pid, signal.SIGTERM)
        until(lambda: not is_alive(pid), "the hub did not end")

    def kill_hub(self) -> int:
        """Kill the hub, wait for its end, and return which process it was."""
        pid = self.hub()
        os.kill(pid, signal.SIGKILL)
        until(lambda: not is_alive(pid), "the hub did not end")
        return pid

    def end(self) -> None:
        """End every process that was started, whatever its state."""
        for front in self.fronts:
            if front.process.returncode is None:
                front.kill()
        for pid in self._forked:
            end_hub(pid)
        deadline = time.monotonic() + MINUTES
        while (left := self.processes()) and time.monotonic() < deadline:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        assert not left, f"processes {left} do not end"

    def _written(self) -> dict[str, Any] | None:
        try:
            written: dict[str, Any] = json.loads(self.lock.read_bytes())
        except ValueError:
            return None
        return written


@contextmanager
def memory_in(storage: Path) -> Iterator[Memory]:
    """Use a storage folder, and leave no process behind."""
    # pytest's own directories have names that are too long for a socket.
    with tempfile.TemporaryDirectory(prefix="lms-") as runtime:
        memory = Memory(storage, Path(runtime))
        try:
            yield memory
        finally:
            memory.end()


def until(condition: Callable[[], Any], otherwise: str, seconds: float = MINUTES) -> Any:
    """Poll until a condition of another process holds."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)
    return value


def is_alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    return state_of(pid) not in {None, "Z", "X"}


def state_of(pid: int) -> str | None:
    """Return the letter of a process's state; None if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def parents() -> dict[int, int]:
    """Return the parent of every process."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    return found


def entries_in(storage: Path) -> list[dict[str, Any]]:
    """Return the data of every line about an entry."""
    files = sorted((storage / "journal" / "entries").glob("*.jsonl"))
    return [json.loads(line)["data"] for file in files for line in file.read_bytes().splitlines()]


def copy_of_the_package(folder: Path, version: str) -> Path:
    """Copy the package, with another version, and return the folder that it can be imported from.

    What is compiled already stays so: its time and size are those of the sources.
    """
    source = Path(learning_memory_server.__file__ or "").parent
    copy = folder / version / "learning_memory_server"
    shutil.copytree(source, copy)
    named = (copy / "version.py").read_text("utf-8")
    (copy / "version.py").write_text(named.replace(f'"{VERSION}"', f'"{version}"'), "utf-8")
    return copy.parent


def package_of(process: int) -> str:
    """Return the folder that a hub imports the package from."""
    variables = dict(line.partition(b"=")[::2] for line in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"))
    return variables[b"PYTHONPATH"].decode().split(os.pathsep)[0]
