"""A session is of the project whose folder it ran in, whatever Claude Code calls the folder of its transcript."""

import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.model.caller import session_hash
from learning_memory_server.model.failure import failure_id
from tests.client_folders import folder_name
from tests.command_line import Run, printed
from tests.lessons.errors.written import NOON, failed, ran, write_transcript

EARLIER = NOON - timedelta(days=2)
MENDED = (failed("python -m pytest -q"), ran("python3 -m pytest -q"))
SEPARATORS = ("-", "_", ".", " ", "@", "/", "+", "é")


@pytest.fixture
def learn(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Run the command in a folder and return its document."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)

    def invoke(here: Path, *arguments: str, **more: str) -> Any:
        monkeypatch.chdir(here)
        return json.loads(printed(run("learn-from", "--json", *arguments, **more)))

    return invoke


@pytest.fixture
def wrote(tmp_path: Path) -> Callable[..., Path]:
    """Write the transcript of a session where Claude Code keeps those of a folder, or of another one."""
    count = itertools.count()

    def write(cwd: object, kept_as: Path | None = None, *calls: Any, **more: Any) -> Path:
        name = f"s{next(count)}"
        file = tmp_path / "home/.claude/projects" / folder_name(kept_as or Path(str(cwd))) / f"{name}.jsonl"
        shown = str(cwd) if isinstance(cwd, Path) else cwd
        return write_transcript(file, *(calls or MENDED), session=name, folder=shown, **{"prompt": name, **more})

    return write


def repository(path: Path) -> Path:
    """Make a repository that is a day older than the sessions at NOON."""
    path.mkdir(parents=True, exist_ok=True)
    git(path, "init", "-q")
    made = (NOON - timedelta(days=1)).timestamp()
    for each in (path / ".git").iterdir():
        os.utime(each, (made, made))
    return path


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


def worktree(of: Path, place: Path) -> Path:
    git(of, "commit", "-q", "--allow-empty", "-m", "first")
    git(of, "worktree", "add", "-q", str(place))
    return place


def left_out(document: Any) -> dict[str, int]:
    return {name: number for name, number in document["left_out"].items() if number}


@pytest.mark.parametrize("is_repository", [True, False])
def test_folders_that_claude_code_calls_the_same_learn_nothing_of_each_other(
    learn: Any, wrote: Any, tmp_path: Path, is_repository: bool
) -> None:
    places = [tmp_path / f"foo{a}bar{b}project" for a in SEPARATORS for b in SEPARATORS]
    gone = places[1::2]
    for place in places[::2]:
        place.mkdir(parents=True)
    for place in places[::2] if is_repository else []:
        repository(place)
    sessions = {place: wrote(place) for place in places}
    assert len({file.parent for file in sessions.values()}) == 1
    for here in (places[0], places[18], places[40]):
        document = learn(here)
        (error,) = document["errors"]
        (failure,) = error["failures"]
        about = "garden", error["signature"], session_hash(sessions[here].stem), failure["command"]
        assert failure["id"] == failure_id(*about)
        assert document["transcripts"] == {"garden": 1}
        assert left_out(document) == {"other_projects": len(places) - len(gone) - 1, "gone_folders": len(gone)}
    assert len(learn(places[0], "--all")["transcripts"]) == len(places)


def test_names_that_differ_in_case_are_folders_of_their_own(learn: Any, wrote: Any, tmp_path: Path) -> None:
    lower, upper = tmp_path / "shop", tmp_path / "Shop"
    lower.mkdir()
    wrote(lower)
    wrote(upper, kept_as=lower)
    # Where a file system takes the two for one, they are one project.
    expected = (2, {}) if upper.exists() else (1, {"gone_folders": 1})
    document = learn(lower)
    assert (document["transcripts"]["garden"], left_out(document)) == expected


Situation = Callable[[Path], tuple[object, dict[str, Any]]]


def nested(here: Path) -> tuple[object, dict[str, Any]]:
    return repository(here / "vendor" / "other"), {}


def inside_of_it(here: Path) -> tuple[object, dict[str, Any]]:
    (here / "docs").mkdir()
    return here / "docs", {}


def linked(here: Path) -> tuple[object, dict[str, Any]]:
    (here.parent / "link").symlink_to(here)
    return here.parent / "link", {}


def linked_elsewhere(here: Path) -> tuple[object, dict[str, Any]]:
    (here / "link").symlink_to(repository(here.parent / "other"))
    return here / "link", {}


def made_again(here: Path) -> tuple[object, dict[str, Any]]:
    shutil.rmtree(here)
    here.mkdir()
    git(here, "init", "-q")
    return here, {}


def endless(here: Path) -> tuple[object, dict[str, Any]]:
    (here / "loop").symlink_to(here / "loop")
    return here.parent / "away" / "loop", {}


@pytest.mark.parametrize(
    ("situation", "why"),
    [
        (lambda here: (here, {}), None),
        (inside_of_it, None),
        (lambda here: (here / "gone", {}), None),
        (lambda here: (here / ".claude" / "worktrees" / "gone" / "src", {}), None),
        (lambda here: (worktree(here, here / ".claude" / "worktrees" / "feature"), {}), None),
        (lambda here: (worktree(here, here.parent / "feature"), {}), None),
        (linked, None),
        (linked_elsewhere, "other_projects"),
        (nested, "other_projects"),
        (lambda here: (here.parent, {}), "other_projects"),
        (lambda here: (repository(here.parent), {}), "other_projects"),
        (lambda here: (here.parent / "shop-feature", {}), "gone_folders"),
        (lambda here: (f"{here}x", {}), "gone_folders"),
        (lambda here: (f"{here}\0", {}), "gone_folders"),
        (lambda _: (f"/{'x' * 5_000}", {}), "gone_folders"),
        (lambda _: ("shop", {}), "gone_folders"),
        (lambda _: (r"C:\work\shop", {}), "gone_folders"),
        (endless, "gone_folders"),
        (lambda _: (None, {}), "without_folder"),
        (lambda _: ("", {}), "without_folder"),
        (lambda here: ([str(here)], {}), "without_folder"),
        (made_again, "earlier"),
        (lambda here: (here, {"at": EARLIER}), "earlier"),
        (lambda here: (here / "gone", {"at": EARLIER}), "earlier"),
        (lambda here: (here, {"is_undated": True}), "earlier"),
    ],
)
def test_the_folder_and_the_beginning_of_a_session_decide(
    learn: Any, wrote: Any, tmp_path: Path, situation: Situation, why: str | None
) -> None:
    here = repository(tmp_path / "work" / "shop")
    cwd, more = situation(here)
    is_undated = more.pop("is_undated", False)
    # All of them are kept where those of this folder are.
    file = wrote(cwd, here, *MENDED, **more)
    if is_undated:
        file.write_text(file.read_text("utf-8").replace('"timestamp"', '"time"'), "utf-8")
    document = learn(here)
    assert left_out(document) == ({} if why is None else {why: 1})
    assert document["transcripts"] == ({"garden": 1} if why is None else {})
    assert len(document["errors"]) == (why is None)
    assert learn(here, "--all")["left_out"].get("commands") == 0


def test_from_a_folder_inside_or_through_a_link_the_project_is_the_same(learn: Any, wrote: Any, tmp_path: Path) -> None:
    here = repository(tmp_path / "shop")
    (here / "docs").mkdir()
    (tmp_path / "link").symlink_to(here)
    wrote(here)
    for place in (here / "docs", tmp_path / "link", worktree(here, tmp_path / "feature")):
        assert learn(place, CLAUDE_PROJECT_DIR=str(place))["transcripts"] == {"garden": 1}
    nested = repository(here / "vendor" / "other")
    assert left_out(learn(nested, CLAUDE_PROJECT_DIR=str(nested))) == {"other_projects": 1}


def test_a_plain_folder_has_only_what_ran_in_it(learn: Any, wrote: Any, tmp_path: Path) -> None:
    here = tmp_path / "code"
    (here / "shop").mkdir(parents=True)
    wrote(here, at=EARLIER)
    wrote(here / "shop", here)
    wrote(here / "gone", here)
    document = learn(here)
    assert (document["transcripts"], left_out(document)) == ({"garden": 1}, {"other_projects": 1, "gone_folders": 1})


def test_commands_in_folders_of_others_are_left_out_of_a_session(learn: Any, wrote: Any, tmp_path: Path) -> None:
    here, other = repository(tmp_path / "shop"), repository(tmp_path / "other")
    in_other: dict[str, Any] = {"record": {"cwd": str(other)}}
    away: dict[str, Any] = {"record": {"cwd": "/gone/other"}}
    below: dict[str, Any] = {"record": {"cwd": str(here / "build" / "gone")}}
    wrote(here, None, failed("sh a.sh", "Exit code 1\nerror: a", **in_other), ran("sh b.sh", **in_other))
    wrote(here, None, failed("python -m pytest -q", **below), ran("python3 -m pytest -q", **below))
    document = learn(here)
    assert [each["command"] for each in document["errors"]] == ["python -m pytest -q"]
    assert (document["commands"], left_out(document)) == (2, {"commands": 2})
    named = wrote("/gone/shop", None, ran("sh a.sh", **away), ran("ls", record={"cwd": "/gone/shop/docs"}))
    assert left_out(learn(here, str(named))) == {"commands": 1}


def test_who_names_a_transcript_says_what_it_is_of_and_who_names_all_does_not(
    learn: Any, wrote: Any, tmp_path: Path
) -> None:
    here = repository(tmp_path / "shop")
    named = [wrote(here, at=EARLIER), wrote("/gone/shop"), wrote(None, here)]
    for file in named:
        assert learn(here, str(file))["transcripts"] == {"garden": 1}
    refused = wrote(repository(tmp_path / "other"), here)
    assert left_out(learn(here, str(refused))) == {"other_projects": 1}
    document = learn(here, str(tmp_path / "home" / ".claude"))
    assert left_out(document) == {"other_projects": 1, "gone_folders": 1, "earlier": 1, "without_folder": 1}


def test_gone_folders_of_one_name_are_projects_of_their_own(learn: Any, wrote: Any, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    wrote("/gone/one/app")
    wrote("/gone/two/app")
    assert sorted(learn(tmp_path / "shop", "--all")["transcripts"].values()) == [1, 1]


@pytest.mark.usefixtures("learn")
def test_people_are_told_how_many_were_left_out_and_why(
    run: Run, wrote: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, other = repository(tmp_path / "shop"), repository(tmp_path / "other")
    monkeypatch.chdir(here)
    wrote(other, here)
    wrote(here, at=EARLIER)
    wrote("/gone/shop")
    said = {
        (
            "Left out: 1 transcript of folders that are gone; only `learn-from PATH` takes them, PATH being one of these "
            "files or a folder of them."
        ),
        "Left out: 1 transcript of other projects; `learn-from --all` takes them.",
        (
            "Left out: 1 older session ran in this folder, before this clone. In a terminal, `report` asks once whether to "
            "read them; `learn-from FILE` reads one."
        ),
    }
    for command in ("learn-from", "start"):
        assert said <= set(run(command).stdout.splitlines())
    wrote(here, None, *MENDED, failed("sh a.sh", record={"cwd": str(other)}))
    said.add("Left out: 1 command in other folders than the session's project.")
    for command in ("learn-from", "start"):
        assert said <= set(run(command).stdout.splitlines())
