"""`start`: each step after a question, and a report of mistakes that came back."""

import json
from pathlib import Path

import pytest

from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.system.locations import SILENT
from tests.client_folders import folder_name
from tests.command_line import Run, printed, refusal
from tests.lessons.errors.written import failed, ran, write_transcript

OTHER = "Exit code 1\nSyntaxError: invalid syntax"
LOST = "Exit code 1\n(eval):cd:1: no such file or directory: beds"
WAITS = "Exit code 1\nfatal: the shed is locked"


@pytest.fixture
def here(tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder, whose transcripts are where `transcripts` says."""
    path = tmp_path / "shop"
    path.mkdir()
    monkeypatch.chdir(path)
    monkeypatch.setenv("HOME", environment["HOME"])
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    environment["PATH"] = ""
    return path


@pytest.fixture
def transcripts(here: Path, environment: dict[str, str]) -> Path:
    path = Path(environment["HOME"], ".claude", "projects", folder_name(here))
    path.mkdir(parents=True)
    return path


def write_sessions(transcripts: Path) -> None:
    for number, name in enumerate(("a", "b", "c")):
        write_transcript(
            transcripts / f"{name}.jsonl",
            failed("python -m pytest -q"),
            ran("python3 -m pytest -q"),
            failed(f"python {name}.py", OTHER),
            ran(f"python3 {name}.py"),
            *((failed("cd beds && make"  , LOST), ran("make")) if number else ()),
            *((failed("sh open.sh", WAITS), ran("sh open.sh --now")) if number else ()),
            session=name,
            folder=str(Path.cwd()),
            hour=number,
        )  # fmt: skip


def test_without_a_terminal_nothing_is_changed(run: Run, transcripts: Path, storage: Path) -> None:
    write_sessions(transcripts)
    cursor = transcripts.parents[2] / ".cursor"
    cursor.mkdir()
    done = run("start")
    assert done.exit_code == 1
    assert "Skipped: Cursor. Nothing was changed, because there is no terminal to ask on." in done.stdout
    assert "In 3 sessions your agents ran 20 commands, of which 10 failed." in done.stdout
    assert "Nothing was kept. To keep it, add --yes." in done.stderr
    assert (list(cursor.iterdir()), (storage / "journal").exists()) == ([], False)


def test_the_account_of_the_past_comes_first(run: Run, transcripts: Path) -> None:
    write_sessions(transcripts)
    done = run("start")
    lines = [line.strip() for line in done.stdout.splitlines() if " sessions  " in line]
    assert lines[0].startswith("1  3 sessions  `python -m pytest -q`: /usr/bin/python: No module named pytest;")
    assert "`python3 -m pytest -q` worked next in 3/3" in printed(done)
    assert len(lines) == 2
    document = json.loads(run("start", "--json").stdout)
    assert [(each["sessions"], each["followed_in"]) for each in document["figures"]] == [(3, 3), (2, 2)]


def test_on_a_build_server_nothing_is_learned(run: Run, transcripts: Path, storage: Path) -> None:
    write_sessions(transcripts)
    done = run("start", "--yes", CI="true")
    assert "no person reads along here" in done.stdout
    assert not (storage / "journal").exists()


def test_each_step_is_done_once_and_names_its_undo(run: Run, transcripts: Path) -> None:
    write_sessions(transcripts)
    file = transcripts.parents[2] / ".cursor" / "mcp.json"
    file.parent.mkdir()
    done = run("start", "--yes")
    assert "Undo: learning-memory-server setup cursor --remove" in done.stdout
    assert "Undo: learning-memory-server forget --project current" in done.stdout
    assert "learning-memory" in json.loads(file.read_text("utf-8"))["mcpServers"]
    again = run("start", "--yes")
    assert "Cursor already has this server. Nothing to change." in again.stdout
    assert "Kept" not in again.stdout


def test_where_something_is_stored_the_undo_names_what_was_kept(run: Run, transcripts: Path, kept: Journal) -> None:
    write_sessions(transcripts)
    before = {each.error for each in FailureLog(kept.failures).all()}
    done = run("start", "--yes")
    new = {each.error for each in FailureLog(Journal(kept.path).failures).all()} - before
    (undo,) = (line for line in done.stdout.splitlines() if line.startswith("Undo: learning-memory-server forget "))
    assert set(undo.split()[3:]) == new


@pytest.mark.usefixtures("transcripts")
def test_a_project_without_sessions_is_told_so(run: Run) -> None:
    done = run("start", "--yes")
    assert "Claude Code has kept no session of garden" in done.stdout
    # No client was found, so nothing has the plugin.
    assert "Once it has the plugin, hooks learn while agents work." in done.stdout
    assert "Not found, so skipped: Claude Code, Cursor," in done.stdout
    assert "No transcripts of this project in" in run("learn-from", "--report").stdout


@pytest.mark.slow
def test_uninstalling_leaves_the_clients_and_keeps_the_data_unless_it_is_named(
    run: Run, transcripts: Path, storage: Path, tmp_path: Path
) -> None:
    write_sessions(transcripts)
    cursor = transcripts.parents[2] / ".cursor"
    cursor.mkdir()
    copilot = transcripts.parents[2] / ".copilot"
    copilot.mkdir()
    assert run("start", "--yes").exit_code == 0
    (storage / "mine.txt").touch()
    (storage / "hub.log.2").touch()
    (storage / "map").mkdir()
    (storage / "map" / "CACHEDIR.TAG").touch()
    (storage / SILENT).touch()
    (storage / "refusals.json").touch()
    (storage / "refusals.json.corrupt-1").touch()
    (storage / "shared.json").write_text("{}")
    # The client's own command has taken out the server, and left its hooks.
    (copilot / "mcp-config.json").unlink()
    assert run("uninstall", "--data").exit_code == 1
    assert (cursor / "mcp.json").exists()
    mine = (cursor / "mcp.json").read_bytes()
    (cursor / "mcp.json").write_text("{", "utf-8")
    assert "cannot be edited" in refusal(run("uninstall", "--yes"))
    (cursor / "mcp.json").write_bytes(mine)
    done = printed(run("uninstall", "--yes"))
    assert "Cursor no longer has this server." in done
    assert f"Your data stays in {storage / 'journal'}." in done
    (others,) = (line for line in done.splitlines() if line.startswith(f"In {storage} stay, too: "))
    assert "shared.json" in others
    assert "refusals.json" in others
    assert list(cursor.iterdir()) == []
    assert list(copilot.rglob("*.*")) == []
    assert not (storage / "index").exists()
    assert not (storage / "map").exists()
    refused = run("uninstall", "--yes", "--data", "--export", str(storage / "backups"))
    assert (refused.exit_code, "is removed with the data" in refused.stderr) == (1, True)
    assert "No data is left." in run("uninstall", "--yes", "--data", "--export", str(tmp_path / "safe")).stdout
    assert [each.name for each in storage.iterdir()] == ["mine.txt"]
    (archive,) = (tmp_path / "safe").iterdir()
    assert run("import", str(archive)).exit_code == 0
    assert "SyntaxError" in run("failures").stdout
