"""The operation `rule` writes what a person has said, and nothing that is no rule."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.errors import InvalidInputError, NotFoundError
from learning_memory_server.journal.kinds import RULE
from learning_memory_server.model.rule import CallForm, Origin, OriginKind, Pattern, Rule, RuleState, When, new_rule_id
from learning_memory_server.server.composition.services import Services
from tests.services import run
from tests.support import NOON

ORIGIN = Origin(OriginKind.ADDED, at=NOON)
RULE_ = Rule(new_rule_id(), "Never push", "garden", RuleState.ACCEPTED, ORIGIN, NOON, NOON, When.CALL)
PUSH = replace(RULE_, pattern=Pattern((CallForm(("git", "push")),)))
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


async def kept(services: Services, *rules: Rule, **changes: Any) -> dict[str, Any]:
    return await run(services, "rule", rules=[{**RULE.encode(each), **changes} for each in rules])


async def test_a_rule_is_written_and_replaced(services: Services) -> None:
    assert (await kept(services, PUSH))["kept"] == [PUSH.id]
    await kept(services, replace(PUSH, text="Never push at all"))
    assert [each.text for each in services.rule_log.all()] == ["Never push at all"]


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "rule_1"},
        {"id": "ghap_20260301_120000_ffffff"},
        {"text": ""},
        {"text": "x" * 201},
        {"state": "maybe"},
        {"when": 3},
        {"pattern": {"broken": "git push"}},
        {"created_at": "soon"},
    ],
)
async def test_what_is_no_rule_is_refused(services: Services, changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=r"rules\[0\]"):
        await kept(services, PUSH, **changes)
    assert services.rule_log.all() == []


async def test_all_rules_are_written_or_none(services: Services) -> None:
    with pytest.raises(InvalidInputError):
        await kept(services, PUSH, replace(PUSH, id="rule_2"))
    assert services.rule_log.all() == []


async def test_secrets_go_and_ids_stay(services: Services) -> None:
    said = await kept(services, replace(PUSH, text=f"Never print {SECRET}", words=f"no {SECRET}"))
    (rule,) = services.rule_log.all()
    assert (SECRET in rule.text, SECRET in rule.words, rule.id) == (False, False, PUSH.id)
    assert sum(said["redacted"].values()) == 2


async def test_a_text_of_several_lines_becomes_one(services: Services) -> None:
    await kept(services, replace(PUSH, text="Never push\n\nignore\x1b[31m this\u202e"))
    assert "\n" not in services.rule_log.all()[0].text
    assert services.rule_log.all()[0].text.isprintable()


async def test_no_rule_is_imported_as_a_persons_own(services: Services) -> None:
    await kept(services, replace(PUSH, imported=True))
    assert not services.rule_log.all()[0].imported


async def test_what_agents_see_is_what_the_hook_says(services: Services) -> None:
    await kept(services, PUSH)
    where = {"name": PUSH.id, "folder": "", "file": "", "text": ""}
    seen = await run(services, "what_agents_see", **where, command="git push")
    assert seen["text"].startswith("Rule of your user")
    assert seen["asks"] is False
    assert (await run(services, "what_agents_see", **where, command="git status"))["text"] == ""
    assert (await run(services, "what_agents_see", **where, command=""))["text"] == seen["text"]
    await kept(services, replace(PUSH, is_enforced=True))
    assert (await run(services, "what_agents_see", **where, command="git push"))["asks"] is True
    await kept(services, replace(PUSH, state=RuleState.RETIRED))
    assert (await run(services, "what_agents_see", **where, command="git push"))["text"] == ""
    assert services.rule_counts.all() == []
    with pytest.raises(NotFoundError):
        await run(services, "what_agents_see", **{**where, "name": "rule_0"}, command="git push")


async def test_of_a_call_that_breaks_several_rules_each_is_seen(services: Services) -> None:
    enforced = replace(PUSH, id=new_rule_id(), text="Ask me before a push", is_enforced=True)
    await kept(services, PUSH, enforced)
    for each in (PUSH, enforced):
        asked = {"name": each.id, "folder": "", "file": "", "text": "", "command": "git push"}
        seen = await run(services, "what_agents_see", **asked)
        assert each.text in seen["text"]
        assert seen["asks"] is False


async def test_of_six_rules_for_a_start_agents_see_three(services: Services) -> None:
    rules = [replace(RULE_, id=new_rule_id(), text=f"rule {number}", when=When.SESSION) for number in range(6)]
    await kept(services, *rules)
    where = {"folder": "", "file": "", "text": "", "command": ""}
    seen = [(await run(services, "what_agents_see", name=each.id, **where))["text"] for each in rules]
    assert sum(map(bool, seen)) == 3
    assert {each for each in seen if each}.pop().count("- rule ") == 3


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (replace(RULE_, when=When.TOPIC, topic=("testing",)), '"Never push".'),
        (replace(RULE_, when=When.DONE), "Is it done?"),
        (replace(RULE_, when=When.DONE, pattern=Pattern(first=(CallForm(("make",)),))), "since the last edit."),
        (replace(PUSH, is_enforced=True), "Run it this once?"),
        (RULE_, ""),  # Without a pattern, nobody sees the call
    ],
)
async def test_a_rule_is_seen_at_its_own_trigger(services: Services, rule: Rule, words: str) -> None:
    await kept(services, rule)
    seen = await run(services, "what_agents_see", name=rule.id, folder="", file="", text="", command="")
    assert seen["text"].endswith(words)
    assert bool(seen["text"]) is bool(words)
    assert seen["asks"] is rule.is_enforced
    assert [*services.advice_log.all(), *services.rule_counts.all()] == []


async def test_a_file_is_tried_from_the_top_of_its_project(services: Services, tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (folder := tmp_path / "shop" / "app").mkdir()
    rule = replace(RULE_, when=When.FILE, pattern=Pattern(files=("live/**",)))
    await kept(services, rule)
    where = {"name": rule.id, "folder": str(folder), "text": "x", "command": ""}
    for file, is_seen in ((tmp_path / "shop" / "live" / "a", True), (folder / "live" / "a", False)):
        seen = await run(services, "what_agents_see", **where, file=str(file))
        assert bool(seen["text"]) is is_seen


async def test_only_a_person_forgets_a_rule(services: Services) -> None:
    await kept(services, PUSH)
    with pytest.raises(InvalidInputError, match="Only a person"):
        await run(services, "forget", ids=[PUSH.id], project=None, purge=False, preview=False)
    deletions = {"forgotten": {"rule": [PUSH.id]}, "existing_too": True}
    await run(services, "apply_deletions", **deletions)
    assert services.rule_log.all() == [PUSH]
