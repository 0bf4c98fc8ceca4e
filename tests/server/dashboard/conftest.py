"""A browser, and pages for it.

Tests with it are skipped where there is no Chromium: install the system's package `chromium`.
"""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.dashboard.page import as_text, page
from tests.server.dashboard.making import fill, fill_more, store
from tests.server.dashboard.seen import Seen

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
IN_CHROMIUM = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as started:
        # A container has no user namespaces for Chromium's own sandbox.
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


Look = Callable[..., Seen]
"""Shows a page, which must be quiet until the end of the test."""


@pytest.fixture
def look(browser: Browser) -> Iterator[Look]:
    pages: list[Seen] = []

    def shown(file: Path, **how: Any) -> Seen:
        pages.append(Seen(browser, file, **how))
        return pages[-1]

    yield shown
    for each in pages:
        each.require_quiet()


@pytest.fixture
def seen(look: Look, filled: Path) -> Seen:
    """The page of a filled store."""
    return look(filled)


@pytest.fixture(scope="session")
def write(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Callable[[Services], Awaitable[None]]], Path]:
    """Write the page of a new store that something was stored in."""

    def written(fill: Callable[[Services], Awaitable[None]]) -> Path:
        folder = tmp_path_factory.mktemp("page")

        async def make() -> str:
            async with store(folder / "storage") as services:
                await services.index.open()
                await fill(services)
                return as_text(await services.dashboard.document())

        file = folder / "page.html"
        with ThreadPoolExecutor(1) as other:
            # Playwright has an event loop in this thread.
            file.write_text(page(other.submit(lambda: asyncio.run(make())).result()), "utf-8")
        return file

    return written


@pytest.fixture(scope="session")
def filled(write: Callable[..., Path]) -> Path:
    return write(fill)


@pytest.fixture(scope="session")
def whole(write: Callable[..., Path]) -> Path:
    return write(fill_more)
