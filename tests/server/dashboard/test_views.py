"""The table of entries, addresses and the search of all kinds, in a real Chromium."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from learning_memory_server.cli.app import declared
from learning_memory_server.model.entry import Lesson, Resolution
from learning_memory_server.model.vocabulary import OutcomeStatus
from learning_memory_server.server.composition.services import Services
from tests.server.dashboard.conftest import IN_CHROMIUM, Look
from tests.server.dashboard.making import CALLER, entry, learn, nothing
from tests.server.dashboard.seen import VIEWS, Seen, commands, count
from tests.support import NOON
from tests.tool_names import NAMES

pytestmark = IN_CHROMIUM


@pytest.fixture
def seen(look: Look, whole: Path) -> Seen:
    return look(whole)


def test_an_empty_page_has_one_tab_and_says_what_to_do_with_commands_that_exist_and_no_tool(
    look: Look, write: Callable[..., Path]
) -> None:
    seen = look(write(nothing))
    assert seen.view("overview").locator("nav a").all_inner_texts() == ["Overview"]
    for name in VIEWS:
        shown = seen.view(name)
        offered = commands(shown)
        assert offered, name
        for command in offered:
            assert command.split()[1] in declared(), command
        text = shown.locator("main").inner_text()
        assert not [tool for tool in NAMES if tool in text], name


def test_the_picker_shows_one_project_everywhere(seen: Seen) -> None:
    shown = seen.view("overview")
    shown.select_option("#project", "acme/blog")
    shown.get_by_text("In all: 3 entries (2 confirmed").wait_for()
    shown.locator("nav [data-view=failures]").click()
    shown.wait_for_selector('html[data-drawn="failures"]', state="attached")
    assert "fixture" in shown.locator("main").inner_text()
    assert "Missing script" not in shown.locator("main").inner_text()
    shown.go_back()
    shown.go_back()
    shown.get_by_text("In all: 33 entries").wait_for()
    assert shown.locator("#project").input_value() == ""


def test_the_table_has_what_was_believed_happened_and_learned_and_facets_and_sorts(seen: Seen) -> None:
    shown = seen.view("entries")
    assert count(shown, "[data-entry]") == 33
    assert shown.locator("thead th").all_inner_texts()[:3] == ["Believed", "Happened", "Learned"]
    believed, happened, learned = shown.locator("[data-entry]").first.locator("td").all_inner_texts()[:3]
    assert believed.startswith(("The nightly import", "The invoice"))
    assert happened.endswith((": it stopped", ": it went on"))
    assert learned.startswith("Watch for this: ")
    assert shown.locator("[aria-sort]").inner_text() == "Resolved ↓"
    shown.select_option("[data-facet=outcome]", "falsified")
    shown.get_by_text("15 of 33 entries match.").wait_for()
    assert count(shown, "[data-entry]") == 15
    domains = shown.locator("[data-facet=domain] option").all_text_contents()
    # Each choice says how many it would show.
    assert sum(int(found[1]) for each in domains if (found := re.search(r"\((\d+)\)", each))) == 15
    # Projects are chosen in one place.
    assert count(shown, "[data-facet=project]") == 0
    shown.select_option("#project", CALLER.project)
    shown.select_option("[data-facet=days]", "90")
    shown.get_by_role("button", name="Sure").click()
    # The page draws its table after the click.
    shown.locator("[aria-sort=descending]", has_text="Sure").wait_for()
    sure = [int(text.split()[0]) for text in shown.locator("td.confidence").all_text_contents()]
    assert sure == sorted(sure, reverse=True)
    shown.get_by_role("button", name="Sure").click()
    assert shown.locator("[aria-sort=ascending]").inner_text() == "Sure ↑"
    address = shown.evaluate("location.hash")
    for part in ("outcome=falsified", "project=acme%2Fshop", "days=90", "sort=confidence-turned"):
        assert part in address
    again = seen.view(f"clusters?{address.partition('?')[2]}")
    assert again.get_by_text(f"{len(sure)} of 33 entries match.").is_visible()
    shown = seen.view("entries?state=stale")
    (row,) = shown.locator("[data-entry]").all()
    assert "stale" in row.inner_text()
    row.get_by_role("link").click()
    assert "a later entry contradicts it" in shown.locator("dialog[open]").inner_text()


def test_no_column_shows_another_in_its_place_and_the_most_relevant_is_first(
    look: Look, write: Callable[..., Path]
) -> None:
    async def fill(services: Services) -> None:
        bare = Resolution(OutcomeStatus.CONFIRMED, "The parser took it", NOON, lesson=Lesson("Reading the grammar"))
        by_the_way = Resolution(
            OutcomeStatus.CONFIRMED, "A parser was slow on the way", NOON, lesson=Lesson("x", "Ask")
        )
        taught = Resolution(OutcomeStatus.CONFIRMED, "It stopped", NOON, lesson=Lesson("x", "A parser needs a limit"))
        given = {"goal": "Read the file", "hypothesis": "It has a mark"}
        await learn(
            services, *(entry(number, resolution=end, **given) for number, end in enumerate((taught, bare, by_the_way)))
        )

    seen = look(write(fill))
    shown = seen.view("entries")
    cells = shown.locator("[data-entry]", has_text="The parser took it").locator("td").all_inner_texts()
    assert cells[:3] == ["It has a mark\nRead the file", "The parser took it", ""]
    shown.fill("#search", "parsers")
    shown.get_by_text("The most relevant first.").wait_for()
    assert shown.locator("td.learned").first.inner_text() == "A parser needs a limit"
    assert shown.locator("[aria-sort]").count() == 0


def test_failures_are_by_project_with_figures_and_trend(seen: Seen) -> None:
    shown = seen.view("failures")
    assert shown.locator("h3.group").all_inner_texts() == ["acme/shop", "acme/blog"]
    first = shown.locator("[data-error]").first
    assert first.locator("td").all_inner_texts()[1:3] == ["2", "21 Mar 2026"]
    assert first.locator(".followed").inner_text().split("\n") == ["docker compose build", "1/1"]
    assert shown.locator("[data-error]").last.locator(".followed").inner_text() == "nothing"


def test_everything_has_an_address_and_details_begin_with_the_takeaway(seen: Seen) -> None:
    first = entry(1)
    shown = seen.view(f"entries?show={first.id}")
    panel = shown.locator("dialog[open]")
    assert panel.locator("h2").inner_text().startswith("Watch for this: The product page")
    for verb, command in (("share", "share {}"), ("forget", "forget {}"), ("never", "review no {}")):
        panel.locator(f"[data-decide={first.id}][data-verb={verb}]").click()
        assert panel.locator(".tray code").all_inner_texts() == [f"learning-memory-server {command.format(first.id)}"]
    panel.locator("[data-verb=never]").click()
    panel.get_by_role("link", name="product").first.click()
    seen.wait_for("location.hash.includes('show=full_')")
    assert "Members" in panel.inner_text()
    shown.go_back()
    shown.get_by_text("Hypothesis").wait_for()
    shown.keyboard.press("Escape")
    seen.wait_for("!location.hash.includes('show')")
    assert count(shown, "dialog[open]") == 0
    assert count(shown, "[data-entry]") == 33
    ids = shown.evaluate(
        "[LM.data.values, LM.data.memories, LM.data.errors, LM.data.open, LM.data.shared].map((some) => some[0].id)"
    )
    for name in ids:
        seen.go(f"overview?show={name}")
        assert name[:20] in shown.locator("#detail-title").inner_text()
        assert not any(" show " in each for each in commands(shown))
    seen.go("overview?show=ghap_of_another_page")
    assert "This page does not have it" in shown.locator("dialog[open]").inner_text()


def test_a_search_lists_hits_of_all_kinds_in_other_forms_of_the_words(seen: Seen) -> None:
    shown = seen.view("overview")
    shown.keyboard.press("/")
    shown.keyboard.type("files")
    # A slow page shows what it finds for the first letters, too.
    seen.wait_for(
        "[...document.querySelectorAll('[data-kind]')].map((one) => one.dataset.kind).join() === 'entries,values'"
    )
    assert "file" in shown.locator("mark").all_text_contents()
    for typed, kind in (
        ("pytests", "failures"),
        ("docker", "failures"),
        ("ben", "shared"),
        ("backups", "memories"),
        ("fonts", "open"),
    ):
        shown.fill("#search", typed)
        shown.locator(f"[data-kind={kind}]").wait_for()
    shown.fill("#search", "invoices emptying")
    shown.locator("[data-kind=entries]").get_by_role("link", name="All 11 in Entries").click()
    shown.get_by_text("11 of 33 entries match.").wait_for()
    assert count(shown, "[data-entry]") == 11
    shown.fill("#search", "")
    seen.wait_for("document.querySelectorAll('[data-entry]').length === 33")
    same = shown.evaluate(
        """() => [["cache", "caching", "cached", "caches"], ["query", "queries"], ["run", "running", "runs"],
          ["invalidate", "invalidates", "invalidation"], ["flaky", "flakiness"], ["deploy", "deployed", "deployment"], ["class", "classes"]]
          .filter((words) => new Set(words.map(LM.stem)).size > 1)"""
    )
    assert same == []
    apart = shown.evaluate(
        "[['list', 'listen'], ['test', 'text'], ['string', 'strong'], ['process', 'procedure']].filter(([one, other]) => LM.stem(one) === LM.stem(other))"
    )
    assert apart == []


def test_an_address_that_means_nothing_shows_a_page_all_the_same(seen: Seen) -> None:
    names = ("project", "q", "outcome", "domain", "days", "state", "axis", "sort", "show")
    for word in ("constructor", "__proto__", "<img src=x onerror=window.pwned=1>", "%ff", "'"):
        query = "&".join(f"{name}={word}" for name in names)
        for name in VIEWS:
            shown = seen.view(f"{name}?{query}")
            assert shown.locator("main h2").inner_text()
            assert shown.evaluate("window.pwned") is None
    assert shown.evaluate("LM.parse('nowhere?project=x').view") == "overview"


def test_there_are_at_most_ten_tabs_also_in_a_search(seen: Seen) -> None:
    names = "all => all.map((one) => one.dataset.view)"
    assert seen.view("overview").eval_on_selector_all("nav a", names) == list(VIEWS)
    assert seen.view("search?q=import").eval_on_selector_all("nav a", names) == ["search", *VIEWS[1:]]


def test_shared_lessons_are_the_other_half_of_the_entries(seen: Seen) -> None:
    shown = seen.view("entries")
    shown.get_by_role("button", name="shared").click()
    shown.locator("[data-shared]").first.wait_for()
    assert count(shown, "[data-shared]") == 2
    assert "2 lessons by 2 authors" in shown.locator("main").inner_text()
    assert "of=shared" in shown.evaluate("location.hash")


def test_the_clusters_say_how_many_entries_they_are_of(look: Look, whole: Path, tmp_path: Path) -> None:
    text = whole.read_text("utf-8")
    assert '"wanted":33' in text
    assert "compared" not in look(whole).view("clusters").locator("main").inner_text()
    page = tmp_path / "page.html"
    page.write_text(text.replace('"wanted":33', '"wanted":5000'), "utf-8")
    assert "33 of 5,000 compared" in look(page).view("clusters").locator("main").inner_text()


async def few(services: Services) -> None:
    await learn(services, *(entry(number) for number in range(3)))


def test_three_entries_are_too_few_for_a_verdict(look: Look, write: Callable[..., Path]) -> None:
    calibration = look(write(few)).view("calibration")
    assert "Too few predictions to say (3; 10 are needed)." in calibration.locator("main").inner_text()
    assert "2 of 3" in calibration.locator(".figures").inner_text()
