"""The page: one file in which stored text is data, whatever it says, and whose scripts are known."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib import resources

import pytest

from learning_memory_server.server.dashboard.page import OWN, VENDORED, as_text, page
from learning_memory_server.system.invisible import shown
from tests.server.dashboard.making import HOSTILE

ASSETS = resources.files("learning_memory_server.server.dashboard").joinpath("assets")


class Elements(HTMLParser):
    """The elements of a page, with their attributes and what is in them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), []))

    def handle_data(self, data: str) -> None:
        if self.found:
            self.found[-1][2].append(data)

    def named(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attributes, "".join(parts)) for name, attributes, parts in self.found if name == tag]


def policy_of(text: str) -> dict[str, list[str]]:
    (content,) = (
        attributes["content"] or ""
        for attributes, _ in Elements(text).named("meta")
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    return {words[0]: words[1:] for words in (part.split() for part in content.split(";"))}


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@pytest.mark.parametrize("text", HOSTILE)
def test_stored_text_cannot_leave_the_data(text: str) -> None:
    plain, hostile = Elements(page(as_text({"said": "x"}))), Elements(page(as_text({"said": text, text: 1})))
    assert [name for name, _, _ in hostile.found] == [name for name, _, _ in plain.found]
    (data,) = (content for about, content in hostile.named("script") if about.get("id") == "data")
    assert json.loads(data) == {"said": shown(text), shown(text): 1}
    assert "<" not in data


def test_a_lone_surrogate_does_not_break_the_page() -> None:
    assert json.loads(as_text({"said": "a\ud800b"})) == {"said": "a?b"}
    page(as_text({"said": "a\ud800b"})).encode()


def test_only_the_known_scripts_run_and_nothing_is_asked_of_a_network() -> None:
    text = page(as_text({}))
    policy = policy_of(text)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == len(VENDORED) + len(OWN)
    assert policy["script-src"] == [digest(script) for script in scripts]
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert digest(style) in policy["style-src"]
    assert policy["default-src"] == policy["connect-src"] == policy["base-uri"] == policy["form-action"] == ["'none'"]


def test_the_page_names_no_address_that_a_browser_would_fetch() -> None:
    for tag, attributes, _ in Elements(page(as_text({}))).found:
        assert not {"src", "srcset", "data", "poster", "action"} & attributes.keys(), tag
        assert (attributes.get("href") or "#").startswith("#")
    style = ASSETS.joinpath("page.css").read_text("utf-8")
    assert "url(" not in style
    assert "@import" not in style


def test_our_scripts_never_parse_text_as_html_or_code() -> None:
    forbidden = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\.html\(")
    for name in OWN:
        script = ASSETS.joinpath(name).read_text("utf-8")
        assert not forbidden.search(script), name
        assert len(script.splitlines()) < 400, name


def test_the_scripts_of_others_are_as_published() -> None:
    vendor = ASSETS.joinpath("vendor")
    sums = dict(line.split()[::-1] for line in vendor.joinpath("SHA256SUMS").read_text().splitlines())
    assert set(VENDORED) < sums.keys()
    for name, expected in sums.items():
        assert hashlib.sha256(vendor.joinpath(name).read_bytes()).hexdigest() == expected, name
    for name in ("d3.LICENSE", "plot.LICENSE"):
        assert "Permission to use, copy, modify, and/or distribute" in vendor.joinpath(name).read_text("utf-8")
