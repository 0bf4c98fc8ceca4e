"""`review`, where a person answers in a terminal, and where nobody does."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.answers import Answers
from learning_memory_server.journal.journal import Journal
from learning_memory_server.lessons.values.log import ValueLog
from learning_memory_server.model.answer import Said
from learning_memory_server.model.entry import Lesson
from learning_memory_server.model.rule import OriginKind, RuleState
from learning_memory_server.rules.log import RuleLog
from learning_memory_server.rules.suggesting.suggestions import suggestion_id
from tests.command_line import in_line, printed, refusal
from tests.server.dashboard.making import entry, value
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
                shown += read_until(terminal, b": ")
                os.write(terminal, each.encode() + b"\n")
            shown += read_until(terminal, b"\0")
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


def test_after_the_last_answer_nothing_waits(review: Any) -> None:
    shown = review("y all")
    assert "Nothing waits any more." in shown
    assert "0 things" not in shown


@pytest.mark.parametrize("wrong", ["y", "y 3", "1 y", "e 1", "z 1", "y 1 n"])
def test_what_is_not_understood_is_asked_again(review: Any, journal: Journal, wrong: str) -> None:
    review(wrong, "y all")
    assert said(journal) == {IDS[0]: Said.YES, IDS[1]: Said.YES}


def test_answers_to_several_ids_are_shown_once_and_asked_about_once(review: Any, journal: Journal) -> None:
    named = ("yes", IDS[1], "no", IDS[0])
    shown = review("y", arguments=named)
    plain = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", shown)
    assert re.search(rf"1  yes +{LESSONS[1]}", plain)
    assert re.search(rf"2  no +{LESSONS[0]}", plain)
    assert shown.count("[y/N]") == 1
    assert said(journal) == {IDS[0]: Said.NEVER, IDS[1]: Said.YES}
    review("y", arguments=("later", IDS[0], "undo", IDS[1]))
    assert said(journal) == {IDS[0]: Said.NEVER, IDS[1]: Said.UNDO}


def test_enter_keeps_no_answer(review: Any, journal: Journal) -> None:
    # A command that was copied may end with a line feed.
    assert "Nothing was kept." in review("", arguments=("yes", *IDS))
    assert said(journal) == {}


def test_a_sentence_and_a_lesson_are_answered_together(review: Any, journal: Journal, tmp_path: Path) -> None:
    (tmp_path / "garden" / "CLAUDE.md").write_text("- Never push to main.\n", "utf-8")
    project = "garden"
    name = suggestion_id(OriginKind.FILE, "Never push to main.", project)
    shown = review("y", arguments=("yes", name[:20], IDS[0]))
    assert "1 rule kept" in shown
    assert [(each.text, each.state) for each in RuleLog(Journal(journal.path).rules).all()] == [
        ("Never push to main.", RuleState.ACCEPTED)
    ]
    assert said(journal) == {IDS[0]: Said.YES}
    assert "1 thing still waits" in shown


def test_a_value_is_retired_and_taken_back(review: Any, journal: Journal) -> None:
    retired = value(1, "Water at night", (IDS[0],))
    ValueLog(journal.values).add(replace(retired, project="garden"))
    review("y", arguments=("no", retired.id))
    assert said(journal) == {retired.id: Said.NEVER}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("yes",), "yes to which ids?"),
        ((IDS[0], "yes", IDS[1]), "An answer comes before its ids"),
        (("yes", "no", IDS[0]), "yes to which ids?"),
        (("--never", "yes", IDS[0]), "either --never or an answer"),
        (("yes", "suggestion_0"), "No suggestions of this project"),
        (("yes", "ghap_0"), "No lessons of this project"),
    ],
)
def test_answers_that_cannot_be_read_are_refused_with_the_right_form(
    environment: dict[str, str], journal: Journal, arguments: tuple[str, ...], words: str
) -> None:
    with on_a_terminal(environment, "review", *arguments, output=True) as (process, terminal):
        assert words in in_line(read_until(terminal, b"\0").decode())
        assert process.wait(MINUTES) == 1
    assert said(journal) == {}


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
    assert f"review yes {IDS[0]} no {IDS[1]}" in in_line(refusal(run("review", "yes", IDS[0], "no", IDS[1])))
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
