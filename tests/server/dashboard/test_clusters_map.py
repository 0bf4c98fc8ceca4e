"""The map beside the clusters: names cover nothing, each cluster has its number, and each entry is in its own area."""

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.server.composition.services import Services
from tests.server.dashboard.conftest import IN_CHROMIUM, Look
from tests.server.dashboard.making import HOSTILE, entry, learn
from tests.server.dashboard.seen import MAP, count

pytestmark = IN_CHROMIUM

_DRAWN = """() => {
  const box = (one) => { const {left, top, right, bottom} = one.getBoundingClientRect(); return [left, top, right, bottom]; };
  const svg = document.querySelector("figure.chart svg");
  const areas = [...svg.querySelectorAll("[data-area]")].map((one) => [one.dataset.area, one.querySelector(".area-fill")]);
  const dots = [...svg.querySelectorAll('[data-mark="dot"] path')].map((one) => {
    const {left, top, right, bottom} = one.getBoundingClientRect(), frame = svg.getBoundingClientRect();
    const point = new DOMPoint((left + right) / 2 - frame.left, (top + bottom) / 2 - frame.top);
    return {box: [left, top, right, bottom], areas: [...new Set(areas.filter(([, fill]) => fill.isPointInFill(point)).map(([name]) => name))]};
  });
  const names = [...svg.querySelectorAll("[data-name]")].map((one) => ({number: Number(one.dataset.name), box: box(one), lines: [...one.querySelectorAll(".name-text")].map((line) => line.textContent)}));
  return {dots, names, frame: box(svg)};
}"""


_MIXED = """() => {
  // Three spirals that lie in one another, each of the members of a cluster: these are among each other.
  const axis = LM.data.axes[LM.axis()], middles = [[-0.3, 0.2], [0.3, 0.15], [0.05, -0.3]];
  axis.clusters.forEach((cluster, which) => cluster.members.forEach((member, at) => {
    const far = 0.62 * Math.sqrt((at + 0.5) / cluster.members.length), turn = 2.4 * at + which;
    axis.places[axis.of.indexOf(member)] = [middles[which][0] + far * Math.cos(turn), middles[which][1] + far * Math.sin(turn)];
  }));
  LM.render();
}"""


def overlap(one: list[float], other: list[float]) -> bool:
    """Whether two boxes have more than a rounded pixel in common."""
    return all(min(one[far], other[far]) - max(one[near], other[near]) > 1 for near, far in ((0, 2), (1, 3)))


@pytest.mark.parametrize("axis", ["full", "root_cause"])
@pytest.mark.parametrize("width", [1280, 390])
def test_names_cover_no_mark_and_no_name_and_every_entry_is_in_its_area(
    look: Look, whole: Path, width: int, axis: str
) -> None:
    shown = look(whole, width=width).view(f"{MAP}&axis={axis}")
    shown.evaluate(_MIXED)
    drawn: dict[str, Any] = shown.evaluate(_DRAWN)
    clusters = shown.evaluate("LM.data.axes[LM.axis()].clusters.map((one) => one.members.length)")
    assert {each["number"] for each in drawn["names"]} == set(range(1, len(clusters) + 1))
    boxes = [each["box"] for each in drawn["names"]]
    assert not any(overlap(one, other) for one, other in combinations(boxes, 2))
    for each in drawn["dots"]:
        assert not any(overlap(each["box"], box) for box in boxes)
        # Areas never cross: an entry is in one at most.
        assert len(each["areas"]) <= 1
    assert sum(len(each["areas"]) for each in drawn["dots"]) == sum(clusters)
    left, top, right, bottom = drawn["frame"]
    assert all(box[0] >= left and box[1] >= top and box[2] <= right and box[3] <= bottom for box in boxes)
    # What is shortened ends with a whole word.
    whole_names = shown.evaluate("LM.data.axes[LM.axis()].clusters.map(LM.clusterName)")
    for each in filter(lambda name: name["lines"], drawn["names"]):
        text = " ".join(each["lines"]).removesuffix("…")
        assert whole_names[each["number"] - 1].startswith(text)
        assert whole_names[each["number"] - 1][len(text) :][:1] in {"", " ", ",", ";", ":", "."}


async def hostile_themes(services: Services) -> None:
    """Twenty-four entries on two themes, each with a hostile takeaway."""
    await learn(services, *(entry(number, goal=HOSTILE[number % 2] + f" {number % 2} " * 9) for number in range(24)))


def test_hostile_texts_stay_texts_in_cards_and_on_the_map(look: Look, write: Callable[..., Path]) -> None:
    shown = look(write(hostile_themes)).view(MAP)
    shown.evaluate(
        "(texts) => { Object.values(LM.data.axes).forEach((axis) => axis.clusters.forEach((one, at) => { one.takeaway = one.label = texts[at % texts.length]; })); LM.render(); }",
        list(HOSTILE),
    )
    assert count(shown, "[data-cluster]") >= 1
    assert count(shown, "[data-name]") >= 1
    assert count(shown, "main script, main img, main iframe, main a[href^=javascript], main svg [onload]") == 0
    assert shown.evaluate("window.pwned") is None
    shown.locator("summary").first.click()
    shown.get_by_role("button", name="Add to the decisions").first.click()
    assert count(shown, ".tray script, .tray img") == 0
    assert shown.evaluate("window.pwned") is None


def test_texts_are_shortened_at_words(look: Look, filled: Path) -> None:
    shown = look(filled).view("overview")
    for text, most, expected in (
        ("Build the cache key in one place", 20, "Build the cache key…"),
        ("Build the cache key, in one place", 21, "Build the cache key…"),
        ("short", 20, "short"),
        ("x" * 40, 20, "x" * 19 + "…"),
    ):
        assert shown.evaluate("([text, most]) => LM.short(text, most)", [text, most]) == expected
