"""Nothing leaves the machine, and nothing but our own folders changes."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from tests.acceptance.hubs import TOPICS, learn, until
from tests.acceptance.tracing import Traced, following, traced
from tests.acceptance.wire import COMMAND, Wire
from tests.support import MINUTES

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")]

USER_DATABASE: Final = Path("/var/run/nscd/socket")
"""What the C library asks for the home folder of a user, and then reads /etc/passwd."""
NOTHING: Final = Traced(frozenset(), frozenset(), frozenset())
SECRET: Final = "ghp_" + "x7Rk2Vq9Lm4Tz8Wc1Yp5Bn3Gd6Hf0Js2Ka7E"
"""Has the form of a token that its vendor could be asked about."""
WITHOUT_SWITCH: Final = """
import sys
import onnxruntime
sys.stdin.read()
"""
"""Only what loading the model's runtime does by itself."""


class Home:
    """A new user's home, whose variables are only those that any login sets.

    So there is none by which libraries recognise a CI system, where some of them are silent by themselves.
    """

    def __init__(self, folder: Path, runtime: Path) -> None:
        self.folder = folder
        self.data = folder / ".local" / "share" / "learning-memory-server"
        self.runtime = runtime
        self.traces = folder.with_name("traces")
        self.traces.mkdir()
        folder.mkdir()
        variables = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_RUNTIME_DIR": str(runtime)}
        self._environment = ["env", "-i", *(f"{name}={value}" for name, value in variables.items())]

    def followed(self, name: str, *command: str | Path) -> list[str | Path]:
        """Return a command line that runs the command in this home, and follows it."""
        return [*self._environment, *following(self.traces / name), *command]

    def run(self, name: str, *arguments: str, given: str = "") -> str:
        """Run a command of ours to its end, and return what it printed."""
        done = subprocess.run(
            self.followed(name, COMMAND, *arguments),
            cwd=self.folder,
            input=given,
            capture_output=True,
            text=True,
            timeout=MINUTES,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def end(self) -> None:
        """End what a failed test has left."""
        wanted = f"HOME={self.folder}".encode()
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if wanted in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)

    def seen(self, name: str) -> Traced:
        """Return what was seen of a command."""
        return traced(self.traces / name)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    # A socket's path must be short.
    with tempfile.TemporaryDirectory(prefix="lms-") as runtime:
        home = Home(tmp_path / "home", Path(runtime))
        try:
            yield home
        finally:
            home.end()


def strangers(home: Home, name: str) -> Traced:
    """Return what a process of ours may not do: sockets of a network, and changes outside our own folders."""
    seen = home.seen(name)
    own = (home.data, home.runtime)
    return Traced(
        seen.families - {"AF_UNIX"},
        frozenset(path for path in seen.reached if not path.is_relative_to(home.runtime) and path != USER_DATABASE),
        frozenset(
            path
            for path in seen.changed
            if not any(path.is_relative_to(folder) or folder.is_relative_to(path) for folder in own)
            and "__pycache__" not in (path.name, path.parent.name)
        ),
    )


def work(wire: Wire) -> None:
    """Do what uses the model, the index, the detectors of secrets, and the process that fits clusters."""
    wire.handshake()
    wire.answer(wire.send_call("add_memory", text=f"The build needs GITHUB_TOKEN={SECRET}"))
    for number in range(20):
        topic = TOPICS[number % 2]
        learn(wire, f"case {number}: {topic}", goal=f"understand case {number}", hypothesis=topic)
    wire.call("get_clusters", axis="full")
    until(lambda: wire.call("get_stats")["index"]["complete"], "the index is not complete")
    assert wire.call("search_experiences", query="outdated amounts")["mode"] == "hybrid"
    wire.answer(wire.send_call("show_dashboard"))


def test_nothing_leaves_the_machine(home: Home, tmp_path: Path) -> None:
    session = Wire(tmp_path, "2026-07-28", command=home.followed("session", COMMAND))
    work(session)
    # What the runtime of the model does by itself, some seconds after it was loaded. That is later than in the hub, so
    # what is seen of it would by then have been seen of the hub.
    bare = subprocess.Popen(home.followed("bare", sys.executable, "-c", WITHOUT_SWITCH), stdin=subprocess.PIPE)
    commands = {
        "search": "search cookies",
        "page": "dashboard --no-open",
        "clusters": "clusters full",
        "doctor": "doctor",
        "status": "status",
        "list": "list",
        "backup": "backup",
        "context": "context",
    }
    for name, arguments in commands.items():
        home.run(name, *arguments.split())
    home.run("hook", "hook", given='{"hook_event_name": "SessionStart", "session_id": "s"}')
    until(lambda: strangers(home, "bare").families, "nothing is sent without the switch")
    bare.communicate()
    home.run("stop", "hub", "stop")
    assert session.close() == 0

    direct = Wire(tmp_path, "2026-07-28", command=home.followed("direct", COMMAND, "--direct"))
    work(direct)
    assert direct.close() == 0

    without = strangers(home, "bare")
    assert without.families
    assert home.folder / ".cache" / "Microsoft" in without.changed
    followed = {path.name for path in home.traces.iterdir()} - {"bare"}
    assert followed >= {"session", "direct", "stop", "hook", *commands}
    for name in followed:
        assert strangers(home, name) == NOTHING, name
