"""The overview in a real Chromium: this week against last, and what there is to decide, with its commands."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from learning_memory_server.model.answer import Answer, Said
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.failure import Failure, failure_id
from learning_memory_server.server.composition.services import Services
from tests.server.dashboard.conftest import IN_CHROMIUM, Look
from tests.server.dashboard.making import CALLER, entry, learn
from tests.server.dashboard.seen import Seen, commands
from tests.support import NOON

pytestmark = IN_CHROMIUM


@pytest.fixture
def seen(look: Look, whole: Path) -> Seen:
    return look(whole)


def aged(number: int, now: datetime, days: int) -> Ghap:
    """A lesson of some days ago."""
    made = entry(number)
    at = now - timedelta(days=days)
    return replace(made, created_at=at, resolution=replace(made.outcome, resolved_at=at))


def test_the_overview_asks_for_decisions_each_with_its_command(seen: Seen) -> None:
    shown = seen.view("overview")
    assert shown.evaluate("location.hash") == "#overview"
    main = shown.locator("main").inner_text()
    for words in (
        "In all: 33 entries (16 confirmed, 15 falsified, 2 abandoned), 1 open; 2 command errors in 4 failed commands",
        "Told 4 times, helped 1, misled 2, unknown 1 (as agents say)",
        "Helped most, 1 time: Watch for this",
        "Open: 1 entry",
        "Draw the first page within a second",
        "since today",
        "Wrong for the same reason 6 times",
        "Failed 2 times: ",
        "Stale: 1 lesson",
    ):
        assert words in main, words
    offered = commands(shown)
    (still_open,) = shown.evaluate("LM.data.open.map((entry) => entry.id)")
    for command in (f"resolve {still_open} abandoned", f"share {entry(0).id}", f"review {entry(4).id} --never"):
        assert f"learning-memory-server {command}" in offered
    # What is read here is not offered once more, and no command quotes a stored text.
    assert all(
        re.fullmatch(r"learning-memory-server (?!show)[a-z-]+( [\w-]+)?( --never| abandoned)?", each)
        for each in offered
    ), offered


def test_this_week_is_compared_with_the_last_one(look: Look, write: Callable[..., Path]) -> None:
    async def fill(services: Services) -> None:
        now = services.clock()
        await learn(services, *(aged(number, now, days) for number, days in enumerate((1, 2, 8, 9, 10, 20))))
        for number, days in enumerate((20, 10, 6, 5)):
            name = failure_id(CALLER.project, "Missing script", f"{number}" * 16, "npm tset")
            failure = Failure(name, CALLER.project, f"{number}" * 16, "Missing script", "npm tset", NOON)
            services.failure_log.add(replace(failure, created_at=now - timedelta(days=days), times=number + 1))

    seen = look(write(fill))
    shown = seen.view("overview")
    figures = {
        each.locator("dt").inner_text(): [int(number) for number in re.findall(r"\d+", each.locator("dd").inner_text())]
        for each in shown.locator(".figures > div").all()
    }
    assert figures == {"New lessons this week": [2, 3], "Command errors": [2, 1], "Of these, seen before": [2, 1]}
    assert "2 this week, 1 last week." in shown.locator("main").inner_text()
    label = seen.view("failures").locator(".bars").get_attribute("aria-label")
    assert label == "Failed commands of the last six weeks, oldest first: 0, 0, 0, 1, 1, 2"


def test_reasons_that_differ_are_not_called_the_same(look: Look, whole: Path, tmp_path: Path) -> None:
    text = whole.read_text("utf-8")
    assert '"is_one_text":true' in text
    page = tmp_path / "page.html"
    page.write_text(text.replace('"is_one_text":true', '"is_one_text":false'), "utf-8")
    main = look(page).view("overview").locator("main").inner_text()
    assert "6 wrong guesses about " in main
    assert "same reason" not in main


def test_what_worked_next_is_shown_as_figures(look: Look, write: Callable[..., Path]) -> None:
    async def fill(services: Services) -> None:
        for session in ("e" * 16, "f" * 16):
            name = failure_id(CALLER.project, "It is locked", session, "apt-get update")
            services.failure_log.add(
                Failure(name, CALLER.project, session, "It is locked", "apt-get update", NOON, "sudo apt-get update")
            )

    seen = look(write(fill))
    for name in ("overview", "failures"):
        main = seen.view(name).locator("main").inner_text()
        assert "sudo apt-get update worked next in 2/2 sessions; the error stayed away in 2" in main


def test_what_waits_for_a_yes_is_shown_with_its_command(look: Look, write: Callable[..., Path]) -> None:
    async def fill(services: Services) -> None:
        await learn(services, replace(entry(1), imported=True))
        await learn(services, entry(0))
        services.answers.add(Answer(entry(0).id, CALLER.project, Said.NEVER, NOON))

    seen = look(write(fill))
    shown = seen.view("overview")
    main = shown.locator("main").inner_text()
    assert "Waiting for your yes: 1" in main
    assert f"learning-memory-server review {entry(1).id}" in commands(shown)
    assert "never told" in seen.view("entries").locator("main").inner_text()
    seen.go(f"entries?show={entry(0).id}")
    assert "Told to no agent, as you said:" in shown.locator("dialog[open]").inner_text()
    assert f"learning-memory-server review {entry(0).id}" in commands(shown)
