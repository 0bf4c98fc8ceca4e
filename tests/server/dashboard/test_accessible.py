"""The page as axe-core sees it: no finding in any view and panel, in light and dark, wide and narrow."""

from pathlib import Path

import axe_playwright_python
import pytest

from tests.server.dashboard.conftest import IN_CHROMIUM, Look
from tests.server.dashboard.seen import VIEWS

pytestmark = IN_CHROMIUM
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
_FIRST = "Object.values(LM.data).filter(Array.isArray).map((things) => things[0]?.id).filter(Boolean)"


# No rule of the style and no script asks for both: a colour depends on the scheme alone, and a place on the width.
@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
def test_axe_has_no_finding(look: Look, whole: Path, width: int, scheme: str) -> None:
    seen = look(whole, width=width, scheme=scheme)
    shown = seen.view("overview")
    shown.evaluate(AXE.read_text("utf-8"))
    panels = [f"overview?show={name}" for name in [*shown.evaluate(_FIRST), "root_cause_0", "nothing"]]
    assert len(panels) >= 8
    for address in (*VIEWS, "search?q=invoice", "search?q=nothing+has+this", "entries?outcome=falsified", *panels):
        seen.go(address)
        found = shown.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == [], address
    # With decisions chosen, and a field to type a rule in.
    for address in ("reviews", "values", "clusters", panels[0]):
        seen.go(address)
        place = shown.locator("dialog[open]" if "show=" in address else "main")
        for summary in place.locator(".maker summary").all()[:1]:
            summary.click()
        place.locator(".choices button, .maker button").first.click()
        found = shown.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == [], address
    assert shown.locator(".tray").first.is_visible()
