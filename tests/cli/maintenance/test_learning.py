"""`learn-from`: shown first, kept after a yes, and never twice."""

import json
import os
import random
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmarks.secrets_made import ALNUM, drawn
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.server.claims import Claims
from tests.client_folders import folder_name
from tests.command_line import in_line, printed, refusal
from tests.lessons.errors.written import NOON, Call, failed, ran, refused, write_transcript
from tests.terminals import on_a_terminal, read_until

MENDED = (failed("python -m pytest -q"), ran("python3 -m pytest -q"))


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    path = tmp_path / "home" / ".claude" / "projects"
    path.mkdir(parents=True)
    return path


@pytest.fixture
def own(projects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the transcripts of this folder's project."""
    here = tmp_path / "shop"
    here.mkdir()
    monkeypatch.chdir(here)
    path = projects / folder_name(here)
    path.mkdir()
    return path


@pytest.fixture
def learn(run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Run the command and return its document."""
    # Path.home() reads this process's environment.
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)

    def invoke(*arguments: str, **more: str) -> Any:
        return json.loads(printed(run("learn-from", "--json", *arguments, **more)))

    return invoke


def write_here(path: Path, *calls: Call, **more: Any) -> Path:
    """Write the transcript of a session in this folder."""
    return write_transcript(path, *calls, folder=str(Path.cwd()), **more)


def log_in(storage: Path) -> FailureLog:
    return FailureLog(Journal(storage / "journal").failures)


def name_of(folder: Path) -> str:
    """Return what the project of a folder without a remote is called."""
    return Claims(folder / "none").find(folder).project


def test_it_is_shown_first_and_nothing_is_written(learn: Any, run: Any, own: Path, storage: Path) -> None:
    write_here(own / "first.jsonl", *MENDED)
    document = learn()
    assert (document["new"], document["kept"], document["transcripts"]) == (1, 0, {"garden": 1})
    assert document["errors"][0]["followed"] == "python3 -m pytest -q"
    done = run("learn-from")
    assert "1 time  1 session  2026-01-05  garden  `python -m pytest -q`: /usr/bin/python: No module" in printed(done)
    assert "`python3 -m pytest -q` worked next in 1 of 1 session" in printed(done)
    assert "to keep      1 error of 1 failing command\n" in done.stdout
    assert "add --yes" in done.stderr
    assert not list(storage.iterdir())


def test_a_report_says_what_failed_and_keeps_nothing(learn: Any, run: Any, own: Path, storage: Path) -> None:
    refusal = refused("make push", "don't push on Fridays")
    write_here(own / "first.jsonl", *MENDED, refusal)
    write_here(own / "second.jsonl", *MENDED, session="second", hour=1)
    done = run("learn-from", "--report")
    assert "In 2 sessions your agents ran 4 commands, of which 2 failed." in done.stdout
    assert "2 sessions `python -m pytest -q`: /usr/bin/python: No module named pytest" in in_line(printed(done))
    assert "`python3 -m pytest -q` worked next in 2/2" in printed(done)
    assert 'you refused  "don\'t push on Fridays" (5 Jan 2026, `make push`)' in printed(done)
    assert "Keep" not in done.output
    document = learn("--report", "--yes")
    assert (document["kept"], document["refused"], document["figures"][0]["followed_in"]) == (0, 1, 2)
    assert not list(storage.iterdir())


def test_a_failure_behind_a_pipe_is_counted_among_those_that_failed(run: Any, own: Path) -> None:
    write_here(own / "first.jsonl", ran("python -m pytest | tail -3", "bash: line 1: python: command not found"))
    assert "In 1 session your agents ran 1 command, of which 1 failed." in run("learn-from", "--report").stdout


def test_what_was_learned_is_shown_when_the_error_comes_again(learn: Any, own: Path, storage: Path) -> None:
    write_here(own / "first.jsonl", *MENDED)
    assert learn("--yes")["kept"] == 1
    (kept,) = log_in(storage).all()
    assert (kept.project, kept.created_at) == ("garden", NOON)
    assert {path.stat().st_mode & 0o777 for path in (storage / "journal").rglob("*.jsonl")} == {0o600}
    again = learn("--yes")
    assert (again["new"], again["kept"], again["known"]) == (0, 0, 1)
    assert log_in(storage).all() == [kept]


def test_no_secret_reaches_the_screen(run: Any, learn: Any, own: Path) -> None:
    token = "gh" + "p_" + drawn(random.Random(3), ALNUM, 36)
    error = f"Exit code 1\nValueError: {token} is wrong"
    write_here(own / "first.jsonl", failed(f"T={token} python a.py", error), ran(f"T={token} python3 a.py"))
    assert learn()["new"] == 1
    done = run("learn-from")
    assert "[redacted: github token]" in done.stdout
    assert token not in done.output + json.dumps(learn())


def test_only_this_project_unless_all_wanted(learn: Any, own: Path, projects: Path, tmp_path: Path) -> None:
    other = tmp_path / "site"
    other.mkdir()
    write_here(own / "a.jsonl", *MENDED)
    write_here(own / "a" / "subagents" / "agent-1.jsonl", ran("ls"))
    write_transcript(projects / folder_name(other) / "b.jsonl", *MENDED, session="b", folder=str(other))
    write_transcript(projects / "-gone-shed" / "c.jsonl", *MENDED, session="c", folder="/gone/shed")
    (projects / "-gone-shed" / "d.jsonl").touch()
    document = learn()
    assert (document["transcripts"], document["left_out"]["other_projects"]) == ({"garden": 2}, 1)
    document = learn("--all")
    site = name_of(other)
    shed = name_of(Path("/gone/shed"))
    assert document["transcripts"] == {"garden": 2, shed: 1, site: 1}
    assert {each["project"] for each in document["errors"]} == {"garden", shed, site}
    assert document["left_out"]["without_folder"] == 1


def test_worktrees_and_subfolders_are_of_the_same_project(learn: Any, own: Path, projects: Path) -> None:
    here = Path.cwd()
    subprocess.run(["git", "init", "-q", str(here)], check=True)
    (here / "docs").mkdir()
    later = datetime.now(UTC) + timedelta(hours=1)
    write_transcript(projects / folder_name(here / "docs") / "a.jsonl", *MENDED, folder=str(here / "docs"), at=later)
    assert own.is_dir()
    assert learn()["transcripts"] == {"garden": 1}
    assert learn(CLAUDE_PROJECT_DIR=str(here / "docs"))["transcripts"] == {"garden": 1}


def test_a_person_says_what_named_transcripts_are_of(learn: Any, own: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "from another machine"
    first = write_transcript(elsewhere / "a.jsonl", *MENDED, folder="/Users/ann/shop")
    other = tmp_path / "site"
    other.mkdir()
    write_transcript(elsewhere / "b.jsonl", *MENDED, session="b", folder=str(other))
    assert own.is_dir()
    assert learn(str(first))["transcripts"] == {"garden": 1}
    # A folder that is here, and another project's, says so itself.
    document = learn(str(elsewhere))
    assert (document["transcripts"], document["left_out"]["other_projects"]) == ({"garden": 1}, 1)
    assert learn(str(elsewhere), "--all")["transcripts"] == {name_of(Path("/Users/ann/shop")): 1, name_of(other): 1}


@pytest.mark.usefixtures("learn")
def test_nothing_to_read_is_said(run: Any, own: Path) -> None:
    assert "No transcripts of this project in " in run("learn-from").stdout
    own.rmdir()
    own.parent.rmdir()
    assert printed(run("learn-from")).startswith("No transcripts of this project in ")
    assert run("learn-from", "/nowhere").exit_code == 2


@pytest.mark.usefixtures("learn")
def test_a_pipe_is_refused(run: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert "neither a file nor a folder" in refusal(run("learn-from", str(tmp_path / "pipe.jsonl")))


def test_damage_is_reported_and_the_rest_is_learned(run: Any, learn: Any, own: Path) -> None:
    path = write_here(own / "a.jsonl", *MENDED)
    path.write_bytes(b'{"tool_use"\n' + path.read_bytes())
    (own / "b.jsonl.gz").write_bytes(b"not packed")
    (own / "c.jsonl").symlink_to("/etc/passwd")
    document = learn()
    over = document["passed_over"]
    assert (document["new"], over["lines"], over["links"]) == (1, 1, 1)
    assert [name.partition(":")[0] for name in over["files"]] == ["b.jsonl.gz"]
    said = run("learn-from").stdout
    assert "1 line damaged or too long" in said
    assert "1 link to other folders" in said


def test_what_was_interrupted_is_finished_the_next_time(learn: Any, own: Path, storage: Path) -> None:
    first = write_here(own / "0.jsonl", *MENDED, session="s0")
    assert learn(str(first), "--yes")["kept"] == 1
    for number in range(1, 3):
        write_here(own / f"{number}.jsonl", *MENDED, session=f"s{number}", hour=number)
    rest = learn("--yes")
    assert (rest["known"], rest["new"], rest["kept"]) == (1, 2, 2)
    assert sorted(each.times for each in log_in(storage).all()) == [1, 2, 3]


@pytest.mark.slow
def test_on_a_terminal_a_person_is_asked(environment: dict[str, str], own: Path, storage: Path) -> None:
    write_here(own / "first.jsonl", *MENDED)
    with on_a_terminal(environment, "learn-from") as (process, terminal):
        assert b"Keep 1 error of 1 failing command?" in read_until(terminal, b"[y/N]")
        os.write(terminal, b"n\n")
        read_until(terminal, b"never shown, so until the end")
        assert process.wait() == 0
    assert not log_in(storage).all()
