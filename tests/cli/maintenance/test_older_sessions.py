"""Sessions that ran in a folder before this clone of it: only a person lets them in, asked once for each clone."""

import shutil
from pathlib import Path

import pytest

from tests.cli.maintenance.test_whose_sessions import EARLIER, repository
from tests.cli.persons import Typed
from tests.client_folders import folder_name
from tests.lessons.errors.written import failed, ran, write_transcript

pytestmark = pytest.mark.slow

QUESTION = "2 older sessions ran in this folder, before this clone. Read them?"


@pytest.fixture
def cloned(shop: Path, environment: dict[str, str]) -> Path:
    """A repository that is newer than two sessions in its folder, one of which had a subagent."""
    repository(shop)
    place = Path(environment["HOME"]) / ".claude" / "projects" / folder_name(shop)
    for name, session in (("one", "one"), ("two", "two"), ("agent-a", "two")):
        write_transcript(
            place / f"{name}.jsonl",
            failed("python -m pytest -q"),
            ran("python3 -m pytest -q"),
            session=session,
            folder=str(shop),
            at=EARLIER,
        )
    return shop


@pytest.mark.parametrize("command", [("report",), ("start",), ("learn-from", "--report")])
@pytest.mark.usefixtures("cloned")
def test_a_person_is_asked_and_a_yes_reads_them(command: tuple[str, ...], person: Typed) -> None:
    shown = person(*command, typed=("y", *("",) * (3 if command == ("start",) else 0)))
    assert QUESTION in shown
    for never in ("has kept no session", "No past session", "Left out", "name one to take it"):
        assert never not in shown
    # What was said holds for this clone.
    again = person("learn-from", "--report")
    assert QUESTION not in again
    assert "6 commands, of which 3 failed" in again


@pytest.mark.usefixtures("cloned")
def test_a_no_leaves_them_out_and_says_what_reads_one(person: Typed) -> None:
    shown = person("report", typed=("n",))
    assert "No past session of this clone was found" in shown
    assert "Left out: 2 older sessions ran in this folder, before this clone." in shown
    assert QUESTION not in person("report")


def test_another_clone_is_asked_about_again(cloned: Path, person: Typed) -> None:
    person("report", typed=("n",))
    shutil.rmtree(cloned / ".git")
    repository(cloned)
    assert QUESTION in person("report", typed=("n",))
