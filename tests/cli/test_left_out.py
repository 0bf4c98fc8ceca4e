"""Commands in a folder that a person leaves out: those about the folder refuse, those that look at it say so."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import in_line, printed, refusal


@pytest.fixture
def clients(tmp_path: Path) -> Path:
    folder = tmp_path / "clients" / "acme" / "src"
    folder.mkdir(parents=True)
    return tmp_path / "clients"


COMMANDS = ["report", "learn-from", "start --yes", "review", "import {} --yes", "share a", "join"]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_about_the_folder_reads_it(
    command: str, clients: Path, tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.jsonl"
    file.touch()
    (tmp_path / "config.toml").write_text(f'exclude = ["{clients}/*"]\n')
    monkeypatch.chdir(clients / "acme" / "src")
    refused = in_line(refusal(run(*command.format(file).split())))
    assert "is left out of the memory" in refused
    assert f"edit `exclude` in {tmp_path / 'config.toml'}" in refused


@pytest.mark.parametrize("command", ["status", "context", "doctor --quick"])
def test_what_looks_at_the_folder_says_so(
    command: str, clients: Path, tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.toml").write_text(f'exclude = ["{clients}/*"]\n')
    for folder, is_said in ((clients / "acme", True), (tmp_path, False), (clients / "acme" / "src", True)):
        monkeypatch.chdir(folder)
        assert ("is left out of the memory" in in_line(printed(run(*command.split())))) is is_said


def test_past_sessions_there_are_left_out(clients: Path, tmp_path: Path, run: Any, environment: dict[str, str]) -> None:
    (tmp_path / "config.toml").write_text(f'exclude = ["{clients}/*"]\n')
    folder = Path(environment["HOME"]) / ".claude" / "projects" / "some"
    folder.mkdir(parents=True)
    line = {"type": "user", "cwd": str(clients / "acme"), "timestamp": "2026-01-01T00:00:00Z", "sessionId": "s"}
    (folder / "s.jsonl").write_text(json.dumps(line) + "\n")
    for option in ("--all", "--report"):
        found = printed(run("learn-from", option))
        assert "1 transcript of folders that the setting `exclude` leaves out" in in_line(found)
    named = json.loads(printed(run("learn-from", str(folder), "--json")))
    assert (named["left_out"]["excluded"], named["transcripts"]) == (1, {})
