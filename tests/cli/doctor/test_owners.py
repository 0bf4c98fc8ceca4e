"""Data of one user in the hands of another: nothing is written there, and one sentence says what helps."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import pytest

from learning_memory_server.system.locking import exclusive
from tests.command_line import in_line
from tests.forked import Forked
from tests.forked_otherwise import NOBODY, AsNobody

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can be two users"),
]

Play = Callable[..., subprocess.CompletedProcess[str]]

CALL: list[dict[str, Any]] = [
    {
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}},
    },
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call", "params": {"name": "list_ghap_entries", "arguments": {}}},
]
SESSION = "".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in CALL)
START = json.dumps({"hook_event_name": "SessionStart", "session_id": "one", "source": "startup"})


@pytest.fixture
def home() -> Iterator[Path]:
    """The home of a user who is not root."""
    with TemporaryDirectory(prefix="lms-", dir="/tmp") as path:
        os.chown(path, NOBODY, NOBODY)
        yield Path(path)


@pytest.fixture
def data(home: Path) -> Path:
    """That user's data."""
    folder = home / ".local" / "share" / "learning-memory-server"
    for name in ("journal/entries", "journal/open", "index/one", "backups"):
        (folder / name).mkdir(parents=True, mode=0o700)
    for name in (
        ".lock",
        "hub.log",
        "journal/.lock",
        "journal/advice.jsonl",
        "journal/entries/2026-01.jsonl",
        "index/one/a",
    ):
        (folder / name).touch(mode=0o600)
    for path in (home / ".local", *(home / ".local").rglob("*")):
        os.chown(path, NOBODY, NOBODY)
        path.chmod(0o700 if path.is_dir() else 0o600)
    return folder


@pytest.fixture
def play(home: Path) -> Play:
    """Run a command with that home: as its user, or as root as `sudo -E` does."""

    def run(kind: type[Forked], *arguments: str, given: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        variables = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "LEARNING_MEMORY_EMBEDDING_BACKEND": "hashing",
            **more,
        }
        with TemporaryFile("w+") as said, TemporaryFile("w+") as shown, TemporaryFile("w+") as errors:
            said.write(given)
            said.seek(0)
            status = kind(arguments, variables, (said.fileno(), shown.fileno(), errors.fileno()), home).wait(60)
            assert status is not None
            shown.seek(0)
            errors.seek(0)
            return subprocess.CompletedProcess(arguments, status, shown.read(), errors.read())

    return run


PLACES = [
    "",
    "journal",
    ".lock",
    "journal/.lock",
    "journal/entries",
    "journal/entries/2026-01.jsonl",
    "index",
    "index/one/a",
]


@pytest.mark.parametrize("place", PLACES)
def test_a_file_of_roots_is_reported_as_that_at_once(place: str, data: Path, play: Play) -> None:
    os.chown(data / place, 0, 0)
    owned = f"{data / place} belongs to root, and nobody runs this"
    helps = f"sudo chown -R nobody {data / 'journal' if place == 'journal' else data}"
    answered = play(AsNobody, given=SESSION)
    assert owned in answered.stdout
    assert helps in answered.stdout
    checked = play(AsNobody, "doctor", "--quick")
    assert checked.returncode == 1
    assert owned in in_line(checked.stdout)
    assert helps in in_line(checked.stdout)
    for never in ("This check failed", "chmod", "--direct", "sandbox"):
        assert never not in checked.stdout


@pytest.mark.parametrize("place", ["", "journal", "journal/entries", "journal/entries/2026-01.jsonl"])
@pytest.mark.parametrize("command", ["list", "status"])
def test_a_command_that_reads_names_the_owner(command: str, place: str, data: Path, play: Play) -> None:
    os.chown(data / place, 0, 0)
    refused = play(AsNobody, command)
    assert refused.returncode == 1
    assert f"{data / place} belongs to root, and nobody runs this" in in_line(refused.stderr)
    assert f"sudo chown -R nobody {data}" in in_line(refused.stderr)


@pytest.mark.parametrize(
    "arguments", [(), ("--direct",), ("hook",), ("hub", "run"), ("backup",), ("status",), ("context",), ("reindex",)]
)
@pytest.mark.parametrize("is_there", [True, False], ids=["with data", "without data"])
def test_root_leaves_nothing_in_the_home_of_another_user(
    arguments: tuple[str, ...], is_there: bool, request: pytest.FixtureRequest, home: Path, play: Play
) -> None:
    if is_there:
        request.getfixturevalue("data")
    said = play(Forked, *arguments, given=START if "hook" in arguments else SESSION)
    assert [path for path in home.rglob("*") if path.stat().st_uid == 0] == []
    if arguments in {(), ("--direct",), ("hub", "run"), ("reindex",)}:
        words = said.stdout + said.stderr
        assert "belongs to nobody, and root runs this" in in_line(words)
        assert "`sudo -u nobody -H learning-memory-server`" in in_line(words)


@pytest.mark.parametrize("place", ["lost+found", "backups/copied.tar.gz", "journal/entries/2026-01.jsonl"])
def test_what_is_in_nobodys_way_is_no_reason_to_stop(place: str, data: Path, play: Play) -> None:
    path = data / place
    path.touch()
    os.chown(path, 0, 0)
    # What the user may change, whoever owns it, and what is none of this program's files.
    path.chmod(0o666 if place.startswith("journal") else 0o600)
    assert "belongs to" not in play(AsNobody, "doctor", "--quick").stdout


def test_a_hub_of_roots_that_still_runs_is_named_with_the_command_that_ends_it(data: Path, play: Play) -> None:
    with (
        TemporaryDirectory(prefix="lms-", dir="/tmp") as sockets,
        # As a hub of an earlier version does, which asks nobody whose the data is.
        exclusive(data / "journal", "the memory hub", socket=Path(sockets) / "hub.sock"),
    ):
        answered = play(AsNobody, given=SESSION)
    assert "A hub of root uses the data" in answered.stdout
    assert f"sudo kill {os.getpid()}" in answered.stdout


def test_a_settings_file_of_roots_is_reported_as_that(home: Path, play: Play) -> None:
    file = home / ".config" / "learning-memory-server" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('log_level = "info"\n')
    file.chmod(0o600)
    refused = in_line(play(AsNobody, "list").stderr)
    assert f"{file} belongs to root, and nobody runs this" in refused
    assert f"sudo chown -R nobody {file.parent}" in refused
