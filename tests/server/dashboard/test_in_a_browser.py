"""The page in a real Chromium: what each view draws, that it asks no network, and that stored text stays text."""

import json
import re
from collections.abc import Awaitable, Callable
from itertools import combinations
from operator import attrgetter
from pathlib import Path

import pytest

from learning_memory_server.lessons.calibration import bins, forecasts_of, score, verdict
from learning_memory_server.server.composition.services import Services
from tests.server.dashboard.conftest import IN_CHROMIUM, Look
from tests.server.dashboard.making import HOSTILE, THEMES, entry, fill_with_hostile_texts, learn, nothing
from tests.server.dashboard.seen import VIEWS, Seen, count

pytestmark = IN_CHROMIUM


def test_clusters_are_in_words_with_what_they_teach_and_what_can_be_done(seen: Seen) -> None:
    shown = seen.view("clusters")
    assert count(shown, "[data-cluster]") == 3
    assert count(shown, "figure.chart") == 0
    for number in range(3):
        card = shown.locator("[data-cluster]").nth(number).inner_text()
        for words in (
            "10 entries about ",
            "Watch for this: ",
            " confirmed\n",
            " falsified\n",
            "See the ten",
            "Make it a rule",
        ):
            assert words in card, card
    shown.get_by_role("link", name="See the ten").first.click()
    panel = shown.locator("dialog[open]").inner_text()
    assert "Members" in panel
    assert "Watch for this" in panel
    shown.keyboard.press("Escape")
    panels = []
    for number in range(3):
        shown.get_by_role("link", name="See the ten").nth(number).click()
        panels.append(shown.locator("dialog[open]").inner_text())
        shown.keyboard.press("Escape")
    # Both values were drawn from the same cluster.
    assert sorted(panel.count("Give each worker a file of its own") for panel in panels) == [0, 0, 2]


def test_an_entry_like_no_cluster_has_the_shape_and_colour_of_its_outcome(seen: Seen) -> None:
    shown = seen.view("clusters")
    shown.evaluate("LM.data.axes.full.alone = [0, 1, 10].map((at) => LM.data.entries.length - 1 - at); LM.render()")
    signs = shown.locator("section", has_text="New, and like no cluster").locator(".links li > svg path")
    looks = signs.evaluate_all("all => all.map((one) => `${one.getAttribute('d')} ${getComputedStyle(one).fill}`)")
    assert len(looks) == len(set(looks)) == 3
    # As the key beside the axes has them.
    key = shown.locator(".key path").evaluate_all(
        "all => all.map((one) => `${one.getAttribute('d')} ${getComputedStyle(one).fill}`)"
    )
    assert set(looks) == set(key)


def test_an_address_of_the_map_that_earlier_pages_drew_opens_the_clusters(seen: Seen) -> None:
    for address in ("map", "/map?axis=root_cause", "clusters?map=shown"):
        shown = seen.page
        shown.goto("about:blank")
        shown.goto(f"{seen.file.as_uri()}#{address}")
        shown.wait_for_selector('html[data-drawn="clusters"]', state="attached")
        assert count(shown, "[data-cluster]") >= 1
        assert count(shown, "figure.chart") == 0
        assert shown.get_by_role("button", name="Map").count() == 0
    assert count(seen.page, "[data-option=full][aria-pressed=true]") == 1


def test_calibration_has_the_figures_of_the_command(seen: Seen) -> None:
    shown = seen.view("calibration")
    entries = [entry(number) for number in range(30)]
    forecasts = forecasts_of(entries, attrgetter("last_confidence"))
    whole, expected = score(forecasts), bins(forecasts)
    assert whole is not None
    assert shown.locator(".sentence").inner_text().replace(" %", "%") == verdict(whole)
    assert f"{whole.brier:.3f}" in shown.locator(".figures").inner_text()
    assert count(shown, '[aria-label^="Stated confidence"] [data-mark="dot"] circle') == len(expected)
    found = json.loads(shown.evaluate("JSON.stringify(LM.bins(LM.forecasts(LM.found())))"))
    for drawn, computed in zip(found, (each.score for each in expected), strict=True):
        assert drawn["count"] == computed.count
        assert (drawn["low"], drawn["high"]) == pytest.approx(computed.interval)
        assert drawn["confidence"] == pytest.approx(computed.confidence)


def test_values_advice_memories_and_open_entries_are_listed(seen: Seen) -> None:
    shown = seen.view("values")
    assert count(shown, "[data-value]") == 2
    first = shown.locator("[data-value]").first.inner_text()
    assert "3 for, 1 against" in first
    assert "shown for 1 entry, 1 confirmed, misled 1" in first
    assert "superseded by" in shown.locator("[data-value]").last.inner_text()
    shown.get_by_text("What supports it: 3 entries").click()
    assert count(shown, "details[open] li") == 3
    shown.get_by_text("Where it was shown").click()
    assert "score 0.50: it says something similar" in shown.locator("details[open]").last.inner_text()
    advice = seen.view("advice").locator("main").inner_text()
    for words in (
        "Told 3 times, helped 1, misled 1, unknown 1 (as agents say)",
        "helped",
        "score 0.61: it says something similar, with some of the same rare terms",
        "misled",
        "no reason was recorded",
        f"Asked\n{THEMES[2]}, case 20\nBelieved: {THEMES[2]}\nSaid\nWatch for this: {THEMES[0]}",
        f"Then\nconfirmed {THEMES[2]}: it stopped",
    ):
        assert words in advice, words
    shown = seen.view("failures")
    shown.get_by_role("link", name="Missing script").click()
    error = shown.locator("dialog[open]").inner_text()
    assert "seen 2 times in 1 session" in error
    assert "docker compose build worked next in 1/1 sessions; the error stayed away in 0" in error
    assert "Next this worked: docker compose build" in error
    rules = seen.view("rules").locator("main").inner_text()
    for words in (
        "1 rule, the most broken first.",
        "Keep the desk clean",
        "at each session's start, in shop; from you",
        "3 followed, 1 reminded, 0 broken in 1 session",
        "before: 4 of 6 broken",
    ):
        assert words in rules, words
    assert "The backup runs at four." in seen.view("memories").locator("main").inner_text()
    assert "Draw the first page within a second" in seen.view("overview").locator("main").inner_text()


def test_a_search_filters_every_view_and_needs_no_mouse(seen: Seen) -> None:
    shown = seen.view("clusters")
    shown.keyboard.press("/")
    shown.keyboard.type("invoice PRICE")
    shown.get_by_text("10 of 30 entries match.").wait_for()
    counts = shown.eval_on_selector_all("nav .n", "all => all.map(one => one.textContent)")
    # Ten entries, all clusters; the entry that advice was shown for is about it, and nothing else is.
    assert counts[1:] == ["10", "0", "3", "0", "0", "1", "0"]
    for name in [each for each in VIEWS[1:] if each != "reviews"]:
        shown.locator(f"nav [data-view={name}]").focus()
        shown.keyboard.press("Enter")
        shown.wait_for_selector(f'html[data-drawn="{name}"]', state="attached")
        main = shown.locator("main").inner_text()
        assert ("Nothing matches." in main) == (name in {"failures", "rules", "values", "memories"}), name
        if name == "entries":
            assert count(shown, "[data-entry]") == 10
        if name == "calibration":
            assert "5 of 10" in shown.locator(".figures").inner_text()
        if name == "advice":
            assert count(shown, ".rows > li") == 1
    shown.locator("[aria-label^='Without words']").click()
    seen.wait_for("document.getElementById('search').value === ''")


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1280, "dark")])
def test_every_view_fits_its_window_in_light_and_dark(look: Look, filled: Path, width: int, scheme: str) -> None:
    seen = look(filled, width=width, scheme=scheme)
    for name in VIEWS:
        shown = seen.view(name)
        assert shown.evaluate("document.documentElement.scrollWidth") <= width, name
        paper = shown.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper))) < 200) == (scheme == "dark")


_TEXTS = """() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), parent = walker.currentNode.parentElement;
    const range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    const box = range.getBoundingClientRect();
    if (!text || !parent.checkVisibility({visibilityProperty: true}) || !box.width || parent.closest(".unseen, .skip, svg[aria-hidden]")) continue;
    const style = getComputedStyle(parent);
    let paper = "rgb(255, 255, 255)";
    for (let one = parent; one; one = one.parentElement) {
      const its = getComputedStyle(one).backgroundColor;
      // Opaque only: hovering and highlighting aside, nothing else is below text.
      if (its.startsWith("rgb(")) { paper = its; break; }
    }
    found.push({text: text.slice(0, 40), ink: parent.closest("svg") ? style.fill : style.color, paper, right: box.right, left: box.left});
  }
  return found;
}"""


def contrast(ink: str, paper: str) -> float:
    """The contrast of two colours as the accessibility guidelines (WCAG 2) define it, from 1 to 21."""

    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(ink), luminance(paper)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_its_paper(look: Look, filled: Path, scheme: str) -> None:
    seen = look(filled, scheme=scheme)
    for name in VIEWS:
        pale = [
            (each["text"], round(found, 1))
            for each in seen.view(name).evaluate(_TEXTS)
            if (found := contrast(each["ink"], each["paper"])) < 4.5
        ]
        assert pale == [], name
    areas = seen.page.evaluate(
        """() => Object.values(LM.outcomes).map((outcome) => {
          const probe = document.body.appendChild(document.createElement("i"));
          probe.style.color = outcome.area;
          return getComputedStyle(probe).color;
        })"""
    )
    assert len(areas) == 3
    # Bars have no shape, and some eyes and printers know no colour.
    assert all(contrast(one, other) > 1.5 for one, other in combinations(areas, 2))


def test_every_view_prints_black_on_white_and_whole(look: Look, filled: Path) -> None:
    # What somebody who works in the dark prints on A4: 794 pixels without margins.
    seen = look(filled, width=794, scheme="dark")
    seen.page.emulate_media(media="print", color_scheme="dark")
    for name in VIEWS:
        shown = seen.view(name)
        texts = shown.evaluate(_TEXTS)
        assert len(texts) > 5, name
        assert {each["paper"] for each in texts} <= {"rgb(255, 255, 255)"}, name
        assert [each["text"] for each in texts if contrast(each["ink"], "rgb(255, 255, 255)") < 4.5] == [], name
        assert [each["text"] for each in texts if each["left"] < 0 or each["right"] > 794] == [], name
        for hidden in ("nav", "#search", ".cursor", ".switch button"):
            assert not any(each.is_visible() for each in shown.locator(hidden).all()), (name, hidden)
    shown = seen.view("calibration")
    shown.set_viewport_size({"width": 1280, "height": 900})
    shown.evaluate(
        """() => {
          const width = () => document.querySelector("figure.chart svg").viewBox.baseVal.width;
          addEventListener("beforeprint", () => { window.onPaper = width(); });
          addEventListener("afterprint", () => { window.onScreen = width(); });
        }"""
    )
    assert shown.pdf(format="A4").startswith(b"%PDF")
    # Drawn anew for the paper, which is narrower.
    assert 0 < shown.evaluate("window.onPaper") <= 700
    assert shown.evaluate("window.onScreen") > 0
    shown.evaluate("LM.go({show: LM.data.entries[0].id})")
    shown.locator("dialog[open]").wait_for()
    assert "Hypothesis" in shown.locator("dialog").inner_text()
    assert not shown.locator("main").is_visible()


def test_hostile_texts_stay_texts_everywhere(look: Look, write: Callable[..., Path]) -> None:
    seen = look(write(fill_with_hostile_texts), width=390)
    for name in VIEWS:
        shown = seen.view(name)
        assert shown.evaluate("window.pwned") is None
        assert count(shown, "main script, main img, main iframe, main a[href^=javascript]") == 0
        assert shown.evaluate("document.documentElement.scrollWidth") <= 390, name
    for number in range(len(HOSTILE)):
        shown.evaluate(f"LM.reveal(LM.data.entries[{number}].id)")
        assert count(shown, "dialog[open] script, dialog[open] img, dialog[open] svg[onload]") == 0
        assert shown.evaluate("document.querySelector('dialog').scrollWidth") <= 390
    everything = shown.evaluate(
        "LM.data.entries.map(({id}) => (LM.reveal(id), document.querySelector('dialog').innerText)).join()"
    )
    assert "</script><script>window.pwned = 1</script>" in everything
    # What turns the direction of writing is shown, not obeyed.
    assert "\u202e" not in everything
    assert "[U+202E]gnp.exe" in everything
    assert shown.evaluate("window.pwned") is None


async def one_entry(services: Services) -> None:
    await learn(services, entry(0))


async def one_theme(services: Services) -> None:
    await learn(services, *(entry(3 * number) for number in range(24)))


@pytest.mark.parametrize(
    ("content", "words"), [(nothing, "Nothing recurs yet."), (one_entry, "1 of 20"), (one_theme, "24 entries about")]
)
def test_small_stores_look_meant(
    look: Look, write: Callable[..., Path], content: Callable[[Services], Awaitable[None]], words: str
) -> None:
    seen = look(write(content))
    assert words in seen.view("clusters").locator("main").inner_text()
    for name in VIEWS:
        main = seen.view(name).locator("main").inner_text()
        assert "undefined" not in main, name
        assert "NaN" not in main, name
