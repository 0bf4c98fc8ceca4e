"""`review`, where a person answers in a terminal, and where nobody does."""

import json
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from learning_memory_server.lessons.errors.cures import cure_id

from learning_memory_server.journal.answers import Answers
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.model.answer import Said
from learning_memory_server.model.failure import Failure, failure_id
from learning_memory_server.sharing.promote import LEARNED
from tests.command_line import printed, refusal
from tests.sharing.repositories import git
from tests.support import MINUTES, NOON
from tests.terminals import on_a_terminal, read_until

pytestmark = pytest.mark.slow

ERROR, FAILED = "build constraints exclude all Go files", "go test ./..."
CURE, PUSH = "go test -tags=e2e ./...", "git push --force"


def failure(session: int, command: str, remedy: str, error: str = ERROR) -> Failure:
    name, day = f"{session:016x}", NOON + timedelta(days=session)
    return Failure(failure_id("garden", error, name, command), "garden", name, error, command, day, remedy)


@pytest.fixture
def journal(storage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journal:
    (tmp_path / "garden").mkdir()
    git(tmp_path / "garden", "init", "-q", "-b", "main")
    monkeypatch.chdir(tmp_path / "garden")
    kept = Journal(storage / "journal")
    many = [failure(number, FAILED, CURE) for number in range(3)]
    pushes = [failure(number, "git push", PUSH, "! [rejected] main (non-fast-forward)") for number in range(2)]
    once = failure(9, "cargo run", "cargo run --bin shop", "error: could not determine which binary to run")
    FailureLog(kept.failures).add(*many, *pushes, once)
    return kept


@pytest.fixture
def review(environment: dict[str, str], journal: Journal) -> Callable[..., str]:
    """Return what a terminal shows of `review` where a person types these answers."""

    def answer(*typed: str, arguments: tuple[str, ...] = ()) -> str:
        with on_a_terminal(environment, "review", *arguments, output=True) as (process, terminal):
            shown = b""
            for each in typed:
                shown += read_until(terminal, b"[later]: " if "[y/N]" not in each else b"[y/N]: ")
                os.write(terminal, each.replace("[y/N]", "").encode() + b"\n")
            shown += read_until(terminal, b"lists all.")
            process.wait(MINUTES)
        assert journal.path.exists()
        return shown.decode()

    return answer


def said(journal: Journal) -> dict[str, Said]:
    return {each.id: each.said for each in Answers(Journal(journal.path).answers).all()}


def test_in_a_terminal_what_cost_most_is_asked_about_first(review: Any, journal: Journal) -> None:
    shown = review("y", "never")
    assert shown.index(CURE) < shown.index(PUSH)
    fared = "in 3 of 3 own sessions `go test -tags=e2e ./...` followed, and the error stayed away in 3"
    assert fared in " ".join(shown.split())
    # It was seen on one day.
    assert "cargo" not in shown
    assert list(said(journal).values()) == [Said.YES, Said.NEVER]


def test_undo_takes_the_answer_before_back_and_asks_again(review: Any, journal: Journal) -> None:
    review("never", "undo", "y", "later")
    assert list(said(journal).values()) == [Said.YES, Said.LATER]
    (first, _) = said(journal)
    review("undo", arguments=(first,))
    assert said(journal)[first] is Said.UNDO


def test_what_may_do_harm_needs_an_option_besides(review: Any, journal: Journal) -> None:
    shown = review("later", "y")
    assert "may destroy, publish, fetch and run" in shown
    (name,) = said(journal)
    assert Said.YES not in said(journal).values()
    pushes = next(each for each in _waiting(journal) if each != name)
    review("y", arguments=(pushes, "--anyway"))
    assert said(journal)[pushes] is Said.YES


def _waiting(journal: Journal) -> list[str]:
    return [cure_id(each) for known in FailureLog(journal.failures).errors() for each in known[-1:]]


def test_a_rule_is_written_into_the_file_that_clients_load_and_taken_back(review: Any, journal: Journal) -> None:
    review("rule", "[y/N]y", "later")
    rules = Path(LEARNED)
    assert f"- Instead of `{FAILED}`, run `{CURE}`.\n" in rules.read_text()
    name = next(each for each, answer in said(journal).items() if answer is Said.RULE)
    review("undo", "[y/N]y", arguments=(name,))
    assert not rules.exists()
    assert said(journal)[name] is Said.UNDO


def test_without_a_terminal_all_are_listed_and_nothing_is_answered(run: Any, journal: Journal) -> None:
    found = json.loads(printed(run("review", "--json")))
    assert [each["about"] for each in found["results"]] == [FAILED, "git push", "cargo run"]
    assert CURE in printed(run("review"))
    assert "3 for your yes" in printed(run("status"))
    name = found["results"][0]["id"]
    assert "needs a person's answer" in refusal(run("review", name))
    assert "needs a person's answer" in refusal(run("review", name, "--never"))
    assert said(journal) == {}


@pytest.mark.parametrize("variable", ["CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI", "CURSOR_AGENT"])
@pytest.mark.parametrize("command", [("review", "cure_"), ("join",)])
def test_a_terminal_that_a_client_has_opened_is_refused(
    environment: dict[str, str], journal: Journal, variable: str, command: tuple[str, ...]
) -> None:
    with on_a_terminal({**environment, variable: "1"}, *command, output=True) as (process, terminal):
        assert b"needs a person's answer" in read_until(terminal, b"no client has opened")
        assert process.wait(MINUTES) == 1
    assert said(journal) == {}


@pytest.mark.parametrize("target", ["learned.md", "../../../elsewhere.md"])
def test_a_link_in_place_of_the_file_of_rules_keeps_no_answer_away(review: Any, journal: Journal, target: str) -> None:
    Path(LEARNED).parent.mkdir(parents=True)
    Path(LEARNED).symlink_to(target)
    shown = review("never", "later", arguments=())
    assert Said.NEVER in said(journal).values()
    (first, *_) = said(journal)
    assert "is a link" in review("rule", arguments=(first,))
    assert said(journal)[first] is Said.NEVER
    assert "unexpected" not in shown
