"""The keyboard in the page's charts: one tab stop each, and every sign can be reached and is read out."""

import re

from playwright.sync_api import Locator

from tests.server.dashboard.conftest import IN_CHROMIUM
from tests.server.dashboard.seen import Seen

pytestmark = IN_CHROMIUM


def place(locator: Locator) -> tuple[float, float]:
    """Where something is on the screen."""
    found = locator.bounding_box()
    assert found
    return found["x"], found["y"]


def test_the_keyboard_reaches_each_sign_of_a_chart_with_one_tab_stop(seen: Seen) -> None:
    shown = seen.view("calibration")
    chart = shown.locator("figure.chart").first
    assert chart.locator(":is(button, a, [tabindex])").count() == 1
    cursor = chart.locator("button.cursor")
    cursor.focus()
    said = [cursor.get_attribute("aria-label")]
    while True:
        shown.keyboard.press("PageDown")
        if cursor.get_attribute("aria-label") == said[-1]:
            break
        said.append(cursor.get_attribute("aria-label"))
    bins = shown.evaluate("LM.bins(LM.forecasts(LM.found())).length")
    assert len(set(said)) == bins >= 2
    assert cursor.evaluate("one => getComputedStyle(one).outlineWidth") == "3px"
    assert chart.locator(".cursor-tip").inner_text() == said[-1]
    # It lies on the sign that it names.
    drawn = shown.evaluate(
        """() => {
          const box = document.querySelector(".cursor").getBoundingClientRect();
          const under = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
          return under.closest('[data-mark="dot"]') !== null;
        }"""
    )
    assert drawn
    shown.keyboard.press("Home")
    assert cursor.get_attribute("aria-label") == said[0]
    moved = []
    for key, axis, sign in (("ArrowRight", 0, 1), ("ArrowLeft", 0, -1), ("ArrowUp", 1, -1), ("ArrowDown", 1, 1)):
        before = place(cursor)
        shown.keyboard.press(key)
        moved.append(sign * (place(cursor)[axis] - before[axis]))
    # At an edge there is nowhere to go.
    assert min(moved) >= 0
    assert sum(far > 0 for far in moved) >= 2


def test_the_keyboard_reads_out_every_chart(seen: Seen) -> None:
    shown = seen.view("calibration")
    charts = shown.locator("figure.chart")
    assert charts.count() >= 1
    for number in range(charts.count()):
        chart = charts.nth(number)
        chart.locator("button.cursor").focus()
        shown.keyboard.press("End")
        said = chart.locator("button.cursor").get_attribute("aria-label") or ""
        assert re.search(r"\d", said), said
        # It lies on the chart.
        inside = chart.evaluate(
            """one => {
              const cursor = one.querySelector(".cursor").getBoundingClientRect();
              const svg = one.querySelector("svg").getBoundingClientRect();
              return cursor.x > svg.x - 12 && cursor.right < svg.right + 12 && cursor.y > svg.y - 12 && cursor.bottom < svg.bottom + 12;
            }"""
        )
        assert inside, said
