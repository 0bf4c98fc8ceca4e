"""A page in a browser, and what tests ask of it."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

VIEWS = (
    *("overview", "reviews", "entries", "failures", "clusters"),
    *("values", "rules", "advice", "memories", "calibration"),
)


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
        """Show a view by its address."""
        self.page.goto(f"{self.file.as_uri()}#{name}")
        self.page.wait_for_selector(f'html[data-drawn="{name.partition("?")[0]}"]', state="attached")
        return self.page

    def wait_for(self, condition: str) -> None:
        """Wait until an expression is true. Playwright's own way is an `eval`, which the page's policy forbids."""
        for _ in range(600):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(condition)

    def go(self, address: str) -> Page:
        """Go to an address of the page that is shown."""
        self.page.evaluate("(address) => { location.hash = address; }", address)
        view, _, query = address.partition("?")
        self.page.wait_for_selector(f'html[data-drawn="{view}"]', state="attached")
        if "show=" in query:
            self.page.locator("dialog[open]").wait_for()
        return self.page

    def require_quiet(self) -> None:
        """Require that nothing but the file was asked for, and that nothing went wrong."""
        asked = {url.partition("#")[0] for url in self.requests}
        assert asked == {self.file.as_uri()}, asked
        assert self.complaints == [], self.complaints
        self.page.close()


def count(page: Page, selector: str) -> int:
    return int(page.locator(selector).count())


def commands(page: Page) -> list[str]:
    """The commands that a view offers."""
    return page.locator(".act code").all_text_contents()
