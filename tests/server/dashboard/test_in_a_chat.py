"""The page in a chat that renders it: what both tell each other, and that it fits in."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.server.dashboard.chat import Chat
from tests.server.dashboard.conftest import IN_CHROMIUM

pytestmark = IN_CHROMIUM
SIZE = "ui/notifications/size-changed"


def is_dark(chat: Chat) -> bool:
    paper = chat.app.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(map(int, re.findall(r"\d+", paper))) < 200


@pytest.mark.parametrize("width", [390, 1280])
def test_it_greets_the_chat_and_works_in_its_frame(browser: Browser, filled: Path, width: int) -> None:
    chat = Chat(browser, filled.read_text("utf-8"), width)
    chat.wait_for_said(SIZE)
    assert [each["method"] for each in chat.said[1:3]] == ["ui/initialize", "ui/notifications/initialized"]
    asked = chat.said[1]["params"]
    assert asked["protocolVersion"] == "2026-01-26"
    assert asked["appInfo"].keys() == {"name", "version"}
    assert asked["appCapabilities"] == {"availableDisplayModes": ["inline", "fullscreen"]}
    chat.show("clusters")
    assert chat.app.locator("[data-cluster]").count() == 3
    assert chat.app.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [width, width]
    chat.app.locator("#search").fill("invoice")
    chat.app.get_by_text("10 of 30 entries match").wait_for()
    chat.app.evaluate("scrollTo(0, 400)")
    chat.show("values")
    # As a link to another page would.
    assert chat.app.evaluate("scrollY") == 0
    chat.require_quiet()


def test_it_has_the_theme_of_the_chat_not_of_the_system(browser: Browser, filled: Path) -> None:
    chat = Chat(browser, filled.read_text("utf-8"), theme="dark")
    chat.app.locator("html[style*='color-scheme: dark']").wait_for(state="attached")
    assert is_dark(chat)
    chat.change(theme="light")
    chat.app.locator("html[style*='color-scheme: light']").wait_for(state="attached")
    assert not is_dark(chat)
    chat.require_quiet()


def test_its_frame_is_as_high_as_a_low_view_and_no_higher_than_the_chat_allows(browser: Browser, filled: Path) -> None:
    chat = Chat(browser, filled.read_text("utf-8"), containerDimensions={"maxHeight": 700})
    chat.wait_for_said(SIZE)
    chat.show("memories")
    chat.wait_for_said(SIZE, 2)
    low = chat.app.evaluate("Math.ceil(document.body.getBoundingClientRect().height)")
    chat.show("clusters")
    chat.wait_for_said(SIZE, 3)
    assert 200 < low < 700
    assert chat.sizes == [(900, 700), (900, low), (900, 700)]
    # The panel lies in the part of the page that is in view.
    chat.app.evaluate("scrollTo(0, document.body.scrollHeight)")
    chat.app.locator("[data-cluster] .actions a").last.click()
    assert chat.app.locator("dialog[open] .close").bounding_box()["y"] < 700  # type: ignore[index]
    chat.require_quiet()


def test_a_high_view_scrolls_in_its_frame_where_a_chat_sets_no_limit(browser: Browser, filled: Path) -> None:
    chat = Chat(browser, filled.read_text("utf-8"))
    chat.wait_for_said(SIZE)
    chat.show("entries")
    assert chat.app.evaluate("document.body.offsetHeight") > 1000
    assert chat.sizes == [(900, 800)]
    chat.require_quiet()


def test_it_fills_the_screen_if_the_chat_offers_that(browser: Browser, filled: Path) -> None:
    chat = Chat(browser, filled.read_text("utf-8"), availableDisplayModes=["inline", "fullscreen"])
    chat.wait_for_said(SIZE)
    chat.app.get_by_role("button", name="Full screen").click()
    # Not `wait_for_function`: it waits with eval, which the page's policy forbids.
    while chat.app.evaluate("innerHeight") != 900:
        chat.app.page.wait_for_timeout(50)
    assert not chat.app.get_by_role("button", name="Full screen").is_visible()
    chat.show("memories")
    assert chat.sizes == [(900, 800)]
    chat.change(displayMode="inline")
    chat.wait_for_said(SIZE, 2)
    chat.app.get_by_role("button", name="Full screen").wait_for()
    chat.require_quiet()


def test_it_leaves_a_frame_of_a_given_height_alone_and_answers_what_the_chat_asks(
    browser: Browser, filled: Path
) -> None:
    chat = Chat(browser, filled.read_text("utf-8"), containerDimensions={"height": 400})
    chat.show("memories")
    assert chat.ask("ui/resource-teardown")["result"] == chat.ask("ping")["result"] == {}
    assert chat.ask("tools/list")["error"]["code"] == -32601
    assert chat.sizes == []
    assert not chat.app.get_by_role("button", name="Full screen").is_visible()
    chat.require_quiet()
