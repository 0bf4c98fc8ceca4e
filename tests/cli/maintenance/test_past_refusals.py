"""`learn-from` finds what the user refused in past sessions; `review` asks about it, and only a person keeps it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import Records
from learning_memory_server.model.memory import Memory
from tests.cli.maintenance.test_learning import learn, own, projects
from tests.command_line import printed
from tests.lessons.errors.imitations import imitations
from tests.lessons.errors.written import NOON, ran, refused, refused_earlier, write_transcript
from tests.support import MINUTES
from tests.terminals import on_a_terminal, read_until

__all__ = ["learn", "own", "projects"]

PUSHED = 'On 5 Jan 2026 the user refused `git push`: "pull rebase first"'
TESTED = 'On 5 Jan 2026 the user refused `go test -tags=integration ./...`: "too slow, leave the integration tests"'


@pytest.fixture
def past(own: Path, tmp_path: Path) -> Path:
    here = str(tmp_path / "shop")
    calls = [
        ran("ls"),
        refused("git push", "pull rebase first"),
        refused("git push"),
        refused("git pull", "one\ntwo"),
        refused_earlier("go test -tags=integration ./...", "too slow, leave the integration tests"),
    ]
    return write_transcript(own / "first.jsonl", *calls, folder=here)


def memories(storage: Path) -> list[Memory]:
    return Records[Memory](Journal(storage / "journal").memories).all()


def waiting(run: Any) -> list[str]:
    found = json.loads(printed(run("review", "--json")))["results"]
    return sorted(each["text"] for each in found if each["kind"] == "preference")


def test_refusals_with_words_are_shown_and_wait_for_a_person(learn: Any, run: Any, storage: Path, past: Path) -> None:
    assert past.exists()
    assert [each["text"] for each in learn()["refusals"]] == [PUSHED, TESTED]
    assert waiting(run) == []
    learn("--yes")
    assert waiting(run) == [TESTED, PUSHED] or waiting(run) == [PUSHED, TESTED]
    # Not in the memory, and found once.
    assert memories(storage) == []
    assert learn("--yes")["refusals"] == []
    assert (storage / "refusals.json").stat().st_mode & 0o777 == 0o600


def test_a_damaged_file_is_set_aside_and_found_again_in_the_sessions(
    learn: Any, run: Any, storage: Path, past: Path
) -> None:
    assert past.exists()
    learn("--yes")
    damaged = (storage / "refusals.json").read_bytes()[:-9]
    (storage / "refusals.json").write_bytes(damaged)
    assert waiting(run) == []
    (aside,) = storage.glob("refusals.json.corrupt-*")
    assert aside.read_bytes() == damaged
    assert len(learn("--yes")["refusals"]) == len(waiting(run)) == 2


def test_refusals_that_wait_follow_the_name_of_their_project(learn: Any, run: Any, storage: Path, past: Path) -> None:
    assert past.exists()
    learn("--yes")
    for before, after in (("garden", "orchard"), ("orchard", "field"), ("field", "garden")):
        Journal(storage / "journal").names.rename(before, after, [before], NOON)
        found = json.loads(printed(run("review", "--json", LEARNING_MEMORY_PROJECT=after)))["results"]
        assert [each["project"] for each in found] == [after, after]
        assert learn("--yes", LEARNING_MEMORY_PROJECT=after)["refusals"] == []


def test_imitations_and_the_setting_find_none(learn: Any, own: Path, tmp_path: Path) -> None:
    for number, (_, lines) in enumerate(imitations()):
        said = "".join(f"{line}\n" for line in lines).replace("/work/shop", str(tmp_path / "shop"))
        (own / f"s{number}.jsonl").write_text(said)
    assert learn()["refusals"] == []
    write_transcript(own / "first.jsonl", refused("git push", "no"), folder=str(tmp_path / "shop"))
    assert len(learn()["refusals"]) == 1
    assert learn(LEARNING_MEMORY_PREFERENCES="false")["refusals"] == []


@pytest.mark.slow
def test_a_person_s_yes_keeps_one_and_a_never_none(
    learn: Any, run: Any, storage: Path, environment: dict[str, str], past: Path
) -> None:
    assert past.exists()
    learn("--yes")
    first, second = (each["id"] for each in json.loads(printed(run("review", "--json")))["results"])
    for name, typed in ((first, b"y\n"), (second, b"never\n")):
        with on_a_terminal(environment, "review", name, output=True) as (process, terminal):
            shown = read_until(terminal, b"[later]: ")
            assert b"the user refused" in shown
            os.write(terminal, typed)
            read_until(terminal, b"lists all.")
            process.wait(MINUTES)
    (kept,) = memories(storage)
    assert kept.refusal is not None
    assert kept.source == "refusal"
    assert waiting(run) == []
    assert kept.text not in (storage / "refusals.json").read_text()
    assert learn("--yes")["refusals"] == []
    # A yes that is forgotten does not come back.
    printed(run("forget", kept.id, "--yes"))
    assert learn("--yes")["refusals"] == []
    assert waiting(run) == []
