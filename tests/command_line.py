"""The command line, run as a person would, over a temporary journal."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import pytest
import typer
from typer.testing import CliRunner, Result

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.cli import access
from learning_memory_server.cli.app import app
from learning_memory_server.errors import LockUnavailableError
from learning_memory_server.journal.archive.entries_importing import parse_entries
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.moment import utc_now
from learning_memory_server.server.composition import services
from learning_memory_server.system.locking import holder
from tests.acceptance.hubs import end_hub, hub_for
from tests.left_behind import restored
from tests.support import InProcessFitting

SUBJECTS = ("memory leak", "flaky test", "slow query")


class Run(Protocol):
    """Runs a command in this process."""

    def __call__(self, *arguments: str, **environment: str) -> Result: ...


def printed(result: Result, status: int = 0) -> str:
    """Return what a command printed, which ended with this status."""
    assert result.exit_code == status, result.output
    return result.stdout


def refusal(result: Result, status: int = 1) -> str:
    """Return what a command said on standard error, which ended with this status."""
    assert result.exit_code == status, result.output
    return result.stderr


def in_process(program: typer.Typer, *arguments: str, **environment: str | None) -> Result:
    """Run a command in this process, as if it were one of its own. A variable may be None, which removes it."""
    with restored():
        return CliRunner().invoke(program, arguments, env=environment)


def in_line(text: str) -> str:
    """Return the output without the line breaks of a narrow terminal."""
    return " ".join(text.split())


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Path]:
    """The storage folder; private, as it should be. Any hub left at the end is ended."""
    path = tmp_path / "storage"
    path.mkdir(mode=0o700)
    yield path
    # The lock itself is checked: its note outlives a hub that was killed. One that cannot be opened has no hub.
    with suppress(LockUnavailableError):
        if (who := holder(path / "journal")) and "socket" in who:
            end_hub(int(str(who["pid"])))


@pytest.fixture
def environment(storage: Path, tmp_path: Path, runtime: Path) -> dict[str, str]:
    """Settings for a command: a model that needs no weights, and no file or client of the user's."""
    (tmp_path / "config.toml").touch()
    (tmp_path / "home").mkdir()
    return {
        "HOME": str(tmp_path / "home"),
        **dict.fromkeys(("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME"), ""),
        "XDG_RUNTIME_DIR": str(runtime),
        "LEARNING_MEMORY_STORAGE_PATH": str(storage),
        "LEARNING_MEMORY_CONFIG": str(tmp_path / "config.toml"),
        "LEARNING_MEMORY_EMBEDDING_BACKEND": "hashing",
        "LEARNING_MEMORY_PROJECT": "garden",
        "LEARNING_MEMORY_HUB_IDLE_MINUTES": "1",
    }


@pytest.fixture
def run(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Run:
    # A test that wants a hub starts it.
    monkeypatch.setattr(access, "STARTS_HUB", False)
    # A child takes a second to start.
    monkeypatch.setattr(services, "ChildFitting", InProcessFitting)

    def invoke(*arguments: str, **more: str) -> Result:
        return in_process(app, *arguments, **{**environment, **more})

    return invoke


@pytest.fixture
def start_hub(environment: dict[str, str]) -> Callable[[], int]:
    """Start a hub, and return its process id."""
    return lambda: hub_for(environment)


def old_entry(number: int = 0, subject: str = "", **changes: Any) -> dict[str, Any]:
    """Make an entry in the predecessor's form."""
    subject = subject or SUBJECTS[number % len(SUBJECTS)]
    return {
        "id": f"ghap_20260101_0000{number:02}_abcdef",
        "session_id": "session_20260101_000000_123456",
        "created_at": f"2026-01-01T00:00:{number:02}Z",
        "domain": "debugging",
        "strategy": "check-assumptions",
        "goal": f"Fix the {subject}",
        "hypothesis": f"The {subject} comes from shared state in worker {number}",
        "action": f"Isolate the {subject}",
        "prediction": f"The {subject} is gone after the change",
        "history": [],
        "iteration_count": 1,
        "notes": ["[red]noted[/red]"],
        "outcome": {
            "status": "confirmed",
            "result": f"The {subject} is gone",
            "captured_at": f"2026-01-02T00:00:{number:02}Z",
            "auto_captured": False,
        },
        "lesson": {"what_worked": f"Isolating the {subject}", "takeaway": f"Isolate the {subject} first"},
        "confidence_tier": "gold",
        **changes,
    }


@pytest.fixture
def write_lines(tmp_path: Path) -> Callable[..., str]:
    """Write objects, or raw lines, to a file, and return its path."""

    def write(*lines: dict[str, Any] | str) -> str:
        path = tmp_path / "entries.jsonl"
        text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
        path.write_text(text, "utf-8")
        return str(path)

    return write


@pytest.fixture
def filled(run: Run, write_lines: Callable[..., str]) -> Result:
    """Twenty-four entries on three subjects, imported."""
    result = run("import", write_lines(*(old_entry(number) for number in range(24))))
    assert result.exit_code == 0
    return result


@pytest.fixture
def imported(storage: Path, write_lines: Callable[..., str]) -> Journal:
    """The same entries in the journal alone, for commands that look at nothing else: opening an index takes longest."""
    journal = Journal(storage / "journal")
    lines = Path(write_lines(*(old_entry(number) for number in range(24)))).read_bytes().splitlines()
    parsed = parse_entries(lines, project="garden").entries.values()
    ObservationCollector(journal, utc_now).add_resolved([replace(entry, imported=True) for entry in parsed])
    return journal
