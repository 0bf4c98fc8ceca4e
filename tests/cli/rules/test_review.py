"""`review`, where a person answers in a terminal, and where nobody does."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.answers import Answers
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.answer import Said
from learning_memory_server.model.entry import Lesson
from tests.command_line import printed, refusal
from tests.server.dashboard.making import entry
from tests.sharing.repositories import git
from tests.support import MINUTES, NOON
from tests.terminals import on_a_terminal, read_until

pytestmark = pytest.mark.slow

LESSONS = ("Start the shop before its tests", "Migrate before you seed")
IDS = [entry(number).id for number in range(2)]


@pytest.fixture
def journal(storage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journal:
    """Two lessons that an archive of somebody else brought."""
    (tmp_path / "garden").mkdir()
    git(tmp_path / "garden", "init", "-q", "-b", "main")
    monkeypatch.chdir(tmp_path / "garden")
    kept = Journal(storage / "journal")
    for number, text in enumerate(LESSONS):
        made, at = entry(number), NOON + timedelta(days=number)
        end = replace(made.outcome, resolved_at=at, lesson=Lesson("it", text))
        imported = replace(made, project="garden", created_at=at, imported=True, resolution=end)
        ObservationCollector(kept, lambda: NOON).add_resolved([imported])
    return kept


@pytest.fixture
def review(environment: dict[str, str], journal: Journal) -> Callable[..., str]:
    """Return what a terminal shows of `review` where a person types these answers."""

    def answer(*typed: str, arguments: tuple[str, ...] = ()) -> str:
        with on_a_terminal(environment, "review", *arguments, output=True) as (process, terminal):
            shown = b""
            for each in typed:
                shown += read_until(terminal, b"): ")
                os.write(terminal, each.encode() + b"\n")
            shown += read_until(terminal, b"lists all.")
            process.wait(MINUTES)
        assert journal.path.exists()
        return shown.decode()

    return answer


def said(journal: Journal) -> dict[str, Said]:
    return {each.id: each.said for each in Answers(Journal(journal.path).answers).all()}


def test_in_a_terminal_the_oldest_comes_first(review: Any, journal: Journal) -> None:
    shown = review("y 1 n 2")
    assert shown.index(LESSONS[0]) < shown.index(LESSONS[1])
    assert said(journal) == {IDS[0]: Said.YES, IDS[1]: Said.NEVER}


def test_what_is_put_off_or_left_out_is_not_shown(review: Any, journal: Journal) -> None:
    assert "1 thing still waits" in review("l 1")
    assert said(journal) == {IDS[0]: Said.LATER}
    assert "1 thing still waits" in review("")
    assert said(journal) == {IDS[0]: Said.LATER}


@pytest.mark.parametrize("wrong", ["y", "y 3", "1 y", "e 1", "z 1", "y 1 n"])
def test_what_is_not_understood_is_asked_again(review: Any, journal: Journal, wrong: str) -> None:
    review(wrong, "y all")
    assert said(journal) == {IDS[0]: Said.YES, IDS[1]: Said.YES}


def test_an_answer_is_taken_back(review: Any, journal: Journal) -> None:
    review("n 1 y 2")
    review("u", arguments=(IDS[0],))
    assert said(journal) == {IDS[0]: Said.UNDO, IDS[1]: Said.YES}


def test_without_a_terminal_all_are_listed_and_nothing_is_answered(run: Any, journal: Journal) -> None:
    found = json.loads(printed(run("review", "--json")))
    assert [each["text"] for each in found["results"]] == list(LESSONS)
    assert LESSONS[0] in printed(run("review"))
    assert "  2 in garden for your yes: `learning-memory-server review`\n" in printed(run("status"))
    assert "Only you can do this" in refusal(run("review", IDS[0]))
    assert "Only you can do this" in refusal(run("review", IDS[0], "--never"))
    assert said(journal) == {}


@pytest.mark.parametrize("variable", ["CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI", "CURSOR_AGENT"])
@pytest.mark.parametrize(
    ("command", "words"), [(("review", IDS[0]), b"Only you can do this"), (("join",), b"needs a person's answer")]
)
def test_a_terminal_that_a_client_has_opened_is_refused(
    environment: dict[str, str], journal: Journal, variable: str, command: tuple[str, ...], words: bytes
) -> None:
    with on_a_terminal({**environment, variable: "1"}, *command, output=True) as (process, terminal):
        assert words in read_until(terminal, b"\0")
        assert process.wait(MINUTES) == 1
    assert said(journal) == {}
