"""The page in a real Chromium: what each view draws, that it asks no network, and that stored text stays text.

Skipped where there is no Chromium or no playwright: install the system's package `chromium`.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from learning_memory_server.calibration.scores import last_stated, score
from learning_memory_server.dashboard.page import as_text, page
from learning_memory_server.dashboard.serving import served
from tests.dashboard.making import HOSTILE, dashboard_of, entry, fill, fill_with_hostile_texts, learn, store

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from learning_memory_server.composition.services import Services

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
VIEWS = ("map", "timeline", "calibration", "values", "advice", "memories", "open", "health")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        # A container has no user namespaces for Chromium's own sandbox.
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


class Seen:
    """A page, and what it asked for and complained of."""

    def __init__(self, browser: Browser, file: Path, *, width: int = 1280, scheme: Any = "light") -> None:
        self.page: Page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page.set_default_timeout(60_000)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.file = file

    def view(self, name: str) -> Page:
        """Show a view by its own link."""
        self.page.goto(f"{self.file.as_uri()}#{name}")
        self.page.wait_for_selector(f'html[data-drawn="{name}"]', state="attached")
        return self.page

    def require_quiet(self) -> None:
        """Require that nothing but the file was asked for, and that nothing went wrong."""
        assert {url.partition("#")[0] for url in self.requests} == {self.file.as_uri()}
        assert self.complaints == []
        self.page.close()


def count(page: Page, selector: str) -> int:
    return int(page.locator(selector).count())


@pytest.fixture(scope="module")
def write(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[Callable[[Services], Awaitable[None]]], Path]:
    """Write the page of a new store that something was stored in."""

    def written(fill: Callable[[Services], Awaitable[None]]) -> Path:
        folder = tmp_path_factory.mktemp("page")

        async def make() -> str:
            async with store(folder / "storage") as services:
                await services.index.open()
                await fill(services)
                return as_text(await dashboard_of(services).document())

        file = folder / "page.html"
        with ThreadPoolExecutor(1) as other:
            # Playwright has an event loop in this thread.
            file.write_text(page(other.submit(lambda: asyncio.run(make())).result()), "utf-8")
        return file

    return written


@pytest.fixture(scope="module")
def filled(write: Callable[..., Path]) -> Path:
    return write(fill)


def test_the_map_draws_each_experience_with_its_outcome_and_names_clusters(
    browser: Browser, filled: Path
) -> None:
    seen = Seen(browser, filled)
    shown = seen.view("map")
    assert count(shown, '[aria-label="dot"] path') == 30
    # A circle, a diamond and a triangle.
    shapes = shown.eval_on_selector_all(
        '[aria-label="dot"] path', "all => all.map(one => one.getAttribute('d'))"
    )
    assert len(set(shapes)) == 3
    assert count(shown, '[aria-label="hull"] path') == 3
    assert count(shown, "[data-cluster]") == 3
    names = shown.locator('[aria-label="text"] text').all_text_contents()
    assert names
    assert all(name.split(",")[0] in shown.locator(".clusters").inner_text() for name in names)
    shown.locator('[aria-label="dot"] path').last.hover()
    tip = shown.locator('[aria-label="tip"]')
    tip.get_by_text("case").first.wait_for()
    assert re.search(r"held|proved wrong|abandoned", tip.text_content() or "")
    shown.locator('[aria-label="dot"] path').last.click()
    assert "Hypothesis" in shown.locator("dialog[open]").inner_text()
    shown.keyboard.press("Escape")
    shown.locator("[data-cluster]").first.click()
    panel = shown.locator("dialog[open]").inner_text()
    assert "Members" in panel
    assert "Lesson" in panel
    shown.keyboard.press("Escape")
    shown.get_by_role("button", name="Root cause").click()
    assert count(shown, '[aria-label="dot"] path') == 15
    seen.require_quiet()


def test_the_timeline_draws_entries_growth_and_lives_of_values(browser: Browser, filled: Path) -> None:
    seen = Seen(browser, filled)
    shown = seen.view("timeline")
    # One a day, each of one outcome.
    assert count(shown, '[aria-label="rect"] rect') == 30
    assert count(shown, '[aria-label="line"] path') == 3
    assert count(shown, '[aria-label="When values were in force"] [aria-label="rule"] line') == 2
    assert "Give each worker" in shown.locator('[aria-label="When values were in force"]').inner_html()
    shown.locator('[aria-label="rect"] rect').nth(4).hover()
    shown.locator('[aria-label="tip"]').get_by_text("1 entry").first.wait_for()
    seen.require_quiet()


def test_calibration_has_the_figures_of_the_command(browser: Browser, filled: Path) -> None:
    seen = Seen(browser, filled)
    shown = seen.view("calibration")
    entries = [entry(number) for number in range(30)]
    expected = score(last_stated(entries))
    assert expected.brier is not None
    assert f"{expected.brier:.3f}" in shown.locator(".figures").inner_text()
    assert count(shown, '[aria-label^="Stated confidence"] [aria-label="dot"] circle') == len(expected.bins)
    found = json.loads(shown.evaluate("JSON.stringify(LM.bins(LM.forecasts(LM.found())))"))
    for drawn, computed in zip(found, expected.bins, strict=True):
        assert (drawn["count"], drawn["held"]) == (len(computed.forecasts), computed.held)
        assert (drawn["low"], drawn["high"]) == pytest.approx(computed.interval)
        assert drawn["confidence"] == pytest.approx(computed.confidence)
    assert count(shown, '[aria-label="Brier score over time"] [aria-label="line"] path') == 1
    for field in ("domain", "strategy"):
        names = {getattr(each, field).value for each in entries}
        assert count(shown, f'[aria-label="Share that held by {field}"] [aria-label="dot"] circle') == len(
            names
        )
    seen.require_quiet()


def test_values_advice_memories_open_entries_and_health_are_listed(browser: Browser, filled: Path) -> None:
    seen = Seen(browser, filled)
    shown = seen.view("values")
    assert count(shown, "[data-value]") == 2
    first = shown.locator("[data-value]").first.inner_text()
    assert "3 for, 1 against" in first
    assert "shown for 1 entry, 1 held, misled 1" in first
    assert "superseded by" in shown.locator("[data-value]").last.inner_text()
    shown.get_by_text("What supports it: 3 entries").click()
    assert count(shown, "details[open] li") == 3
    advice = seen.view("advice").locator("main").inner_text()
    for words in ("1 time shown, 1 withheld", "helped", "misled", "not mended", "npm run build:web"):
        assert words in advice
    assert "The backup runs at four." in seen.view("memories").locator("main").inner_text()
    assert "Draw the first page within a second" in seen.view("open").locator("main").inner_text()
    health = seen.view("health").locator("main").inner_text()
    for words in ("everything can be found", "the journal is sound", "30 resolved entries", "qdrant-edge-py"):
        assert words in health
    seen.require_quiet()


def test_a_search_filters_every_view_and_needs_no_mouse(browser: Browser, filled: Path) -> None:
    seen = Seen(browser, filled)
    shown = seen.view("map")
    shown.keyboard.press("/")
    shown.keyboard.type("invoice PRICE")
    shown.get_by_text("10 of 30 entries match.").wait_for()
    assert count(shown, '[aria-label="dot"] path') == 10
    for name, left in (("timeline", 10), ("calibration", None), ("values", 0)):
        shown.locator(f'nav a[href="#{name}"]').focus()
        shown.keyboard.press("Enter")
        shown.wait_for_selector(f'html[data-drawn="{name}"]', state="attached")
        if left == 0:
            assert "Nothing was found." in shown.locator("main").inner_text()
        elif left:
            assert count(shown, '[aria-label="rect"] rect') == left
    seen.require_quiet()


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1280, "dark")])
def test_every_view_fits_its_window_in_light_and_dark(
    browser: Browser, filled: Path, width: int, scheme: str
) -> None:
    seen = Seen(browser, filled, width=width, scheme=scheme)
    for name in VIEWS:
        shown = seen.view(name)
        assert shown.evaluate("document.documentElement.scrollWidth") <= width, name
        paper = shown.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper))) < 200) == (scheme == "dark")
    seen.require_quiet()


def test_hostile_texts_stay_texts_everywhere(browser: Browser, write: Callable[..., Path]) -> None:
    seen = Seen(browser, write(fill_with_hostile_texts), width=390)
    for name in VIEWS:
        shown = seen.view(name)
        assert shown.evaluate("window.pwned") is None
        assert count(shown, "main script, main img, main iframe, main a[href^=javascript]") == 0
        assert shown.evaluate("document.documentElement.scrollWidth") <= 390, name
    shown = seen.view("map")
    for number in range(len(HOSTILE)):
        shown.evaluate(f"LM.openEntry({number})")
        assert count(shown, "dialog[open] script, dialog[open] img, dialog[open] svg[onload]") == 0
        assert shown.evaluate("document.querySelector('dialog').scrollWidth") <= 390
    everything = shown.evaluate(
        "LM.data.entries.map((_, n) => (LM.openEntry(n), document.querySelector('dialog').innerText)).join()"
    )
    assert "</script><script>window.pwned = 1</script>" in everything
    # What turns the direction of writing is shown, not obeyed.
    assert "\u202e" not in everything
    assert "[U+202E]gnp.exe" in everything
    assert shown.evaluate("window.pwned") is None
    seen.require_quiet()


async def nothing(_services: Services) -> None:
    """Store nothing."""


async def one_entry(services: Services) -> None:
    await learn(services, entry(0))


async def one_theme(services: Services) -> None:
    await learn(services, *(entry(3 * number) for number in range(24)))


@pytest.mark.parametrize(
    ("content", "words", "signs"),
    [
        (nothing, "Nothing is on the map yet.", 0),
        (one_entry, "needs", 1),
        (one_theme, "1 cluster", 24),
    ],
)
def test_small_stores_look_meant(
    browser: Browser,
    write: Callable[..., Path],
    content: Callable[[Services], Awaitable[None]],
    words: str,
    signs: int,
) -> None:
    seen = Seen(browser, write(content))
    shown = seen.view("map")
    assert words in shown.locator("main").inner_text()
    assert count(shown, '[aria-label="dot"] path') == signs
    for name in VIEWS:
        main = seen.view(name).locator("main").inner_text()
        assert "undefined" not in main, name
        assert "NaN" not in main, name
    seen.require_quiet()


def test_a_live_page_shows_changes_by_itself_and_asks_nobody_else(browser: Browser, filled: Path) -> None:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', filled.read_text("utf-8"))
    assert found
    before = json.loads(found[1])
    after = {**before, "stamp": "later", "open": []}
    with served(
        lambda: page(as_text(before), is_live=True),
        lambda stamp: None if stamp == "later" else as_text(after),
    ) as address:
        shown = browser.new_page()
        asked, complaints = set[str](), list[str]()
        shown.on("request", lambda request: asked.add(request.url.partition("?")[0]))
        shown.on("console", lambda message: complaints.append(message.text))
        shown.on("pageerror", lambda error: complaints.append(str(error)))
        shown.goto(f"{address}#open")
        shown.get_by_text("Nothing is open.").wait_for()
        assert {url.partition("#")[0] for url in asked} == {address, f"{address}data"}
        assert complaints == []
        shown.close()


def test_in_a_chat_it_greets_its_host_and_changes_views_without_an_address(
    browser: Browser, filled: Path
) -> None:
    host = browser.new_page(viewport={"width": 900, "height": 900})
    complaints: list[str] = []
    host.on("console", lambda message: complaints.append(message.text))
    host.on("pageerror", lambda error: complaints.append(str(error)))
    host.evaluate(
        """(page) => {
          const frame = document.createElement("iframe");
          frame.sandbox = "allow-scripts";
          Object.assign(frame.style, {width: "800px", height: "800px"});
          window.said = [];
          addEventListener("message", ({data}) => {
            window.said.push(data.method);
            if (data.method === "ui/initialize") frame.contentWindow.postMessage({jsonrpc: "2.0", id: data.id, result: {}}, "*");
          });
          frame.srcdoc = page;
          document.body.append(frame);
        }""",
        filled.read_text("utf-8"),
    )
    host.wait_for_function("window.said.includes('ui/notifications/size-changed')")
    said = host.evaluate("window.said")
    assert said[:2] == ["ui/initialize", "ui/notifications/initialized"]
    frame = host.frame_locator("iframe")
    frame.locator('nav a[href="#values"]').click()
    frame.locator('html[data-drawn="values"]').wait_for(state="attached")
    assert frame.locator("[data-value]").count() == 2
    assert complaints == []
    host.close()
