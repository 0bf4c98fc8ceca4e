"""The overview in a real Chromium: this week against last, and what there is to decide, with one bar of commands."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from learning_memory_server.model.advice import Advice, AdviceKind, Item, Reason, TriggerKind
from learning_memory_server.model.answer import Answer, Said
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.failure import Failure, failure_id
from learning_memory_server.server.composition.services import Services
from tests.server.dashboard.conftest import IN_CHROMIUM, Look
from tests.server.dashboard.making import CALLER, entry, learn
from tests.server.dashboard.seen import Seen, commands, count
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


def test_the_overview_asks_for_decisions_and_one_bar_has_their_commands(seen: Seen) -> None:
    shown = seen.view("overview")
    assert shown.evaluate("location.hash") == "#overview"
    main = shown.locator("main").inner_text()
    for words in (
        "In all: 33 entries (16 confirmed, 15 falsified, 2 abandoned), 1 open; 2 command errors in 4 failed commands",
        "Told 4 times, helped 1, misled 2, unknown 1 (as agents say)",
        "All 3 clusters of reasons",
        "Helped most, 1 time: Watch for this",
        "Open: 1 entry",
        "Draw the first page within a second",
        "since today",
        "Wrong for the same reason 6 times",
        "Failed 2 times: ",
        "Stale: 1 lesson",
    ):
        assert words in main, words
    (still_open,) = shown.evaluate("LM.data.open.map((entry) => entry.id)")
    decisions = {still_open: "close", entry(0).id: "share", entry(4).id: "never"}
    assert count(shown, ".tray code") == 0
    for name, verb in decisions.items():
        shown.locator(f"main [data-decide={name}][data-verb={verb}]").first.click()
    assert commands(shown) == [
        f"learning-memory-server review no {entry(4).id}",
        f"learning-memory-server share {entry(0).id}",
        f"learning-memory-server resolve {still_open} abandoned",
    ]


def test_the_overview_says_nothing_twice_and_its_columns_end_together(seen: Seen) -> None:
    shown = seen.view("overview")
    texts = shown.locator("main li > div:first-child").all_inner_texts()
    assert len(texts) == len(set(texts))
    assert shown.locator("main").inner_text().count("as agents say") == 1
    ends = shown.eval_on_selector_all(
        ".columns > .card",
        "all => all.map((one) => one.getBoundingClientRect()).map(({top, bottom}) => [top, bottom].map(Math.round))",
    )
    assert len(ends) >= 4
    for top, bottom in ends:
        assert {other for start, other in ends if start == top} == {bottom}


def test_what_came_again_although_shown_stands_first_until_it_is_split(look: Look, write: Callable[..., Path]) -> None:
    session = "b" * 16
    later = [replace(entry(number), agent_session=session, same_as=entry(0).id) for number in (3, 6)]

    async def fill(services: Services) -> None:
        await learn(services, entry(0), later[0], replace(later[1], split=True))
        item = Item(entry(0).id, AdviceKind.EXPERIENCE, reason=Reason.SIMILAR)
        shown = Advice(TriggerKind.PROMPT, (item,), CALLER.project, NOON + timedelta(hours=2), session=session)
        services.advice_log.record(shown)

    seen = look(write(fill))
    shown = seen.view("overview")
    first = shown.locator("main .card").first
    assert first.locator("h3").inner_text() == "Came again although shown: 1"
    lesson = entry(0).outcome.lesson
    assert lesson
    assert first.locator("li").all_inner_texts() == [f"{lesson.takeaway}\nAgain in {later[0].id}"]
    first.get_by_role("link", name=later[0].id).click()
    said = shown.locator("dialog[open]").inner_text()
    assert f"The same as {entry(0).goal}, according to its agent. `split` takes that back." in said


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
    # The shapes of the outcomes are explained where they are.
    assert shown.locator(".columns .key").inner_text().split() == ["confirmed", "falsified", "abandoned"]
    # Tiles say which direction is good, and lead to what they count.
    tiles = shown.locator(".figures .tile").all_inner_texts()
    assert [re.findall(r"worse|better", each) for each in tiles] == [
        ["worse", "better"],
        ["worse", "better"],
        ["worse", "better"],
    ]
    assert shown.locator(".figures a").evaluate_all("all => all.map((one) => one.getAttribute('href'))") == [
        "#/entries?days=7",
        "#/failures",
        "#/failures",
    ]
    shown = seen.view("failures")
    shown.get_by_role("link", name="Missing script").click()
    label = shown.locator("dialog .bars").get_attribute("aria-label")
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
    main = seen.view("overview").locator("main").inner_text()
    assert "sudo apt-get update worked next in 2/2 sessions; the error stayed away in 2" in main
    row = seen.view("failures").locator("[data-error]")
    assert row.locator(".followed").inner_text().split("\n") == ["sudo apt-get update", "2/2"]


def test_what_waits_for_a_yes_is_shown_with_its_command(look: Look, write: Callable[..., Path]) -> None:
    async def fill(services: Services) -> None:
        await learn(services, replace(entry(1), imported=True))
        await learn(services, entry(0))
        services.answers.add(Answer(entry(0).id, CALLER.project, Said.NEVER, NOON))

    seen = look(write(fill))
    shown = seen.view("overview")
    main = shown.locator("main").inner_text()
    assert "Waiting for your yes: 1" in main
    shown.locator(f"[data-decide={entry(1).id}][data-verb=yes]").click()
    assert commands(shown) == [f"learning-memory-server review yes {entry(1).id}"]
    assert "never told" in seen.view("entries").locator("main").inner_text()
    seen.go(f"entries?show={entry(0).id}")
    panel = shown.locator("dialog[open]")
    assert "Told to no agent, as you said." in panel.inner_text()
    panel.get_by_role("button", name="Tell it again").click()
    both = f"learning-memory-server review yes {entry(1).id} undo {entry(0).id}"
    assert panel.locator(".tray code").all_inner_texts() == [both]
