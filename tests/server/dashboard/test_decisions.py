"""Decisions in a real Chromium: several are chosen on the page, and a bar has the commands that carry them out."""

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.cli.rules.review import ANSWERS
from learning_memory_server.model.answer import Answer, Said
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.dashboard.page import as_text
from tests.server.dashboard.conftest import IN_CHROMIUM, Look
from tests.server.dashboard.making import CALLER, HOSTILE, entry, fill, learn
from tests.server.dashboard.seen import Seen, commands, count
from tests.support import NOON

pytestmark = IN_CHROMIUM
SENTENCE: dict[str, Any] = {
    "id": f"suggestion_{'0123456789abcdef' * 2}",
    "kind": "rule",
    "project": CALLER.project,
    "text": "Use `uv`, not `pip`",
    "about": "before `pip install`",
    "fared": "CLAUDE.md",
    "where": "in shop",
    "is_told": False,
}
LINE = {
    "project": CALLER.project,
    "label": "2 sessions",
    "text": "`docker-compose build` failed",
    "error": "Missing script",
    "command": "docker-compose build",
    "suggestion": SENTENCE["id"],
}


def with_data(page: Path, folder: Path, **parts: list[dict[str, Any]]) -> Path:
    """A page whose data has something else in some of its lists."""
    text = page.read_text("utf-8")
    before, rest = text.split('<script type="application/json" id="data">')
    data, after = rest.split("</script>", 1)
    file = folder / "changed.html"
    changed = as_text(json.loads(data) | parts)
    file.write_text(f'{before}<script type="application/json" id="data">{changed}</script>{after}', "utf-8")
    return file


async def waiting(services: Services) -> None:
    """Three lessons that were imported, of two projects."""
    others = replace(entry(4), project="acme/blog")
    await learn(services, *(replace(each, imported=True) for each in (entry(1), entry(2), others)), entry(0))


@pytest.fixture
def seen(look: Look, write: Callable[..., Path], tmp_path: Path) -> Seen:
    page = write(waiting)
    data = json.loads(page.read_text("utf-8").split('id="data">')[1].split("</script>")[0])
    return look(with_data(page, tmp_path, waiting=[SENTENCE, *data["waiting"]]))


def choose(shown: Any, name: str, verb: str) -> None:
    shown.locator(f"main [data-decide={name}][data-verb={verb}]").click()


def test_several_answers_are_one_command_in_the_words_of_review(seen: Seen) -> None:
    shown = seen.view("reviews")
    assert count(shown, "[data-waiting]") == 4
    assert not shown.locator("body > .tray").is_visible()
    row = shown.locator(f"[data-waiting={SENTENCE['id']}]").inner_text()
    assert "before `pip install`; in shop; from CLAUDE.md" in row
    choose(shown, SENTENCE["id"], "yes")
    choose(shown, entry(1).id, "no")
    choose(shown, entry(2).id, "yes")
    expected = f"review yes suggestion_0123456789ab {entry(2).id} no {entry(1).id}"
    assert commands(shown) == [f"learning-memory-server {expected}"]
    assert shown.get_by_role("status").inner_text() == "3 decisions: 2 yes, 1 no"
    # A second click takes it back, another one changes it, and another view forgets nothing.
    choose(shown, SENTENCE["id"], "yes")
    choose(shown, entry(1).id, "later")
    seen.go("overview")
    assert commands(shown) == [f"learning-memory-server review yes {entry(2).id} later {entry(1).id}"]
    pressed = shown.locator(f"main [data-decide={entry(1).id}][aria-pressed=true]")
    assert pressed.all_inner_texts() == ["Later"]
    shown.get_by_role("button", name="Clear").click()
    assert not shown.locator("body > .tray").is_visible()
    assert pressed.count() == 0
    words = shown.evaluate("Object.values(LM.verbs).map((verb) => verb.word).filter(Boolean)")
    assert set(words) == set(ANSWERS)


def test_each_project_has_its_own_command_with_its_folder(seen: Seen) -> None:
    shown = seen.view("reviews")
    shown.get_by_role("button", name="No to all 4").click()
    assert [each.partition(" review ")[2] for each in commands(shown)] == [
        f"no suggestion_0123456789ab {entry(1).id} {entry(2).id}",
        f"no {entry(4).id}",
    ]
    tray = shown.locator("body > .tray").inner_text()
    assert "In the folder of acme/shop" in tray
    assert "In the folder of acme/blog" in tray
    # What is long can be read to its end, and hides nothing for good.
    shown.evaluate("scrollTo(0, document.body.scrollHeight)")
    last = shown.locator("[data-waiting]").last.evaluate("one => one.getBoundingClientRect().bottom")
    assert last <= shown.locator("body > .tray").evaluate("one => one.getBoundingClientRect().top")


def test_a_value_is_retired_or_reworded_as_a_rule(look: Look, filled: Path) -> None:
    seen = look(filled)
    shown = seen.view("values")
    value = shown.locator("[data-value]").first
    name = value.get_attribute("data-value") or ""
    value.get_by_role("button", name="Retire").click()
    assert commands(shown) == [f"learning-memory-server review no {name}"]
    shown.get_by_role("button", name="Clear").click()
    value.get_by_text("Reword it, as a rule of yours in its place").click()
    assert value.locator("textarea").input_value() == "Give each worker a file of its own, named after its number"
    value.locator("textarea").fill("One file a worker; don't share")
    value.get_by_role("button", name="Add to the decisions").click()
    assert commands(shown) == [
        f"learning-memory-server review no {name}",
        "learning-memory-server rule add 'One file a worker; don\N{RIGHT SINGLE QUOTATION MARK}t share'",
    ]


def test_a_retired_value_is_shown_as_such(look: Look, write: Callable[..., Path]) -> None:
    async def retired(services: Services) -> None:
        await fill(services)
        name = services.value_log.all()[-1].id
        services.answers.add(Answer(name, CALLER.project, Said.NEVER, NOON))

    shown = look(write(retired)).view("values")
    value = shown.locator("[data-value]").first
    assert "retired" in value.inner_text()
    assert value.get_by_role("button", name="Tell it again").is_visible()


def test_an_error_has_the_decision_that_past_sessions_suggest(look: Look, filled: Path, tmp_path: Path) -> None:
    seen = look(with_data(filled, tmp_path, waiting=[SENTENCE], past=[LINE]))
    shown = seen.view("failures")
    row = shown.locator("[data-error]")
    assert row.locator(".choices button").all_inner_texts() == ["Yes", "No", "Later", "Forget"]
    row.get_by_role("button", name="Yes").click()
    assert commands(shown) == ["learning-memory-server review yes suggestion_0123456789ab"]
    row.get_by_role("link").click()
    assert "Remind agents: 2 sessions: `docker-compose build` failed" in shown.locator("dialog[open]").inner_text()
    rules = seen.view("rules").locator("main")
    # What was chosen is chosen in every view.
    assert rules.get_by_role("button", name="Yes").get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("width", [1280, 390])
def test_an_error_has_one_line_however_long_it_is(look: Look, filled: Path, tmp_path: Path, width: int) -> None:
    page = filled.read_text("utf-8")
    (error,) = json.loads(page.split('id="data">')[1].split("</script>")[0])["errors"]
    long = [{**error, "line": "No module named 'shop' " * 20, "followed": "uv run pytest " * 20}]
    shown = look(with_data(filled, tmp_path, errors=long), width=width).view("failures")
    row = shown.locator("[data-error]")
    height = row.evaluate("one => one.getBoundingClientRect().height")
    assert height < (46 if width > 620 else 150)
    # The real line, with its names.
    assert row.locator(".failed").inner_text().startswith("No module named 'shop'")
    assert shown.evaluate("document.documentElement.scrollWidth") <= width


def test_hostile_texts_stay_texts_in_reviews_and_commands(look: Look, filled: Path, tmp_path: Path) -> None:
    hostile = [*HOSTILE, "'; touch pwned #", "a\\' ; b", '$(x) `y` "z" %PATH% & | <', "\n\r- --everywhere"]
    items = [
        {**SENTENCE, "id": f"suggestion_{number:032x}", **dict.fromkeys(("text", "about", "fared", "where"), text)}
        for number, text in enumerate(hostile)
    ]
    past = [{**LINE, **dict.fromkeys(("label", "text"), item["text"]), "suggestion": item["id"]} for item in items]
    seen = look(with_data(filled, tmp_path, waiting=items, past=past), width=390)
    for view in ("reviews", "overview", "rules", "failures", "search?q=script"):
        shown = seen.view(view)
        assert shown.evaluate("window.pwned") is None
        assert count(shown, "main script, main img, .tray script, .tray img") == 0
        assert shown.evaluate("document.documentElement.scrollWidth") <= 390, view
    shown = seen.view("reviews")
    shown.get_by_role("button", name="Later to all").click()
    (command,) = commands(shown)
    assert re.fullmatch(r"learning-memory-server review later( suggestion_[0-9a-f]{12})+", command)
    for text in hostile:
        (quoted,) = shown.evaluate("(text) => [LM.command('rule', 'add', LM.plainSentence(text))]", text)
        # One word between quotes that no shell reads, or nothing at all.
        assert re.fullmatch(
            r"learning-memory-server rule add ('[^'\"\\$`!%&|<>^\n\r-][^'\"\\$`!%&|<>^\n\r]*'|\w+|'')", quoted
        ), quoted
        assert len(shlex.split(quoted)) == 4
