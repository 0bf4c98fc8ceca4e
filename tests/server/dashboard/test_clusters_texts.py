"""The texts of cluster cards: hostile ones stay texts, and long ones end with a whole word."""

from collections.abc import Callable
from pathlib import Path

from learning_memory_server.server.composition.services import Services
from tests.server.dashboard.conftest import IN_CHROMIUM, Look
from tests.server.dashboard.making import HOSTILE, entry, learn
from tests.server.dashboard.seen import count

pytestmark = IN_CHROMIUM


async def hostile_themes(services: Services) -> None:
    """Twenty-four entries on two themes, each with a hostile takeaway."""
    await learn(services, *(entry(number, goal=HOSTILE[number % 2] + f" {number % 2} " * 9) for number in range(24)))


def test_hostile_texts_stay_texts_in_cards(look: Look, write: Callable[..., Path]) -> None:
    shown = look(write(hostile_themes)).view("clusters")
    shown.evaluate(
        "(texts) => { Object.values(LM.data.axes).forEach((axis) => axis.clusters.forEach((one, at) => { one.takeaway = one.label = texts[at % texts.length]; })); LM.render(); }",
        list(HOSTILE),
    )
    assert count(shown, "[data-cluster]") >= 1
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
