"""`rules` and `rule`: a person makes, changes, enforces, tries and exports rules."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.model.rule import CallForm, OriginKind, Rule, RuleState, Unattended, When
from learning_memory_server.sharing.promote import LEARNED
from tests.cli.persons import Typed
from tests.command_line import Run, in_line, printed, refusal
from tests.terminals import on_a_terminal, read_until

pytestmark = pytest.mark.slow


def test_enter_accepts_a_rule_for_this_project(person: Typed, log: Any) -> None:
    shown = person("rule", "add", "We use pnpm, not npm", typed=("",))
    assert "before `npm`" in shown.split("[Y/n]")[0]
    assert "from the next call on in running sessions that have the hooks, and in every new one" in shown
    (rule,) = log()
    assert (rule.text, rule.project, rule.state) == ("We use pnpm, not npm", "garden", RuleState.ACCEPTED)
    assert (rule.when, rule.is_everywhere, rule.origin.kind) == (When.CALL, False, OriginKind.ADDED)
    assert f"rule test {rule.id[5:11]} 'COMMAND'" in shown
    # The same words again are no second rule.
    assert "You have this rule already" in person("rule", "add", "we use pnpm, not npm.")
    assert len(log()) == 1


def test_a_near_copy_is_no_second_rule_and_a_contradiction_is_retired(person: Typed, log: Any) -> None:
    person("rule", "add", "Never use tabs in tests", typed=("y",))
    assert "You have this rule already" in person("rule", "add", "never use any tabs in tests!")
    shown = person("rule", "add", "Always use tabs in tests", typed=("y",))
    assert '"Never use tabs in tests": a yes retires that.' in shown.split("[Y/n]")[0]
    old, new = log()
    assert (old.state, new.state, new.replaces) == (RuleState.RETIRED, RuleState.ACCEPTED, old.id)
    assert f'replaces {old.id[5:11]}, "Never use tabs in tests"' in person("rule", "show", new.id)
    assert "This rule is retired" in person("rule", "edit", old.id, "Be kind", status=1)


def test_a_sentence_and_a_command_are_typed_without_quotes(person: Typed, log: Any, run: Run) -> None:
    person(*"rule add we use pnpm, not npm --everywhere".split(), typed=("",))
    (rule,) = log()
    assert (rule.text, rule.is_everywhere) == ("we use pnpm, not npm", True)
    assert "so nothing of it was run" in printed(
        run("rule", "test", rule.id, "npm", "install", "--save-dev", "-f", "x y")
    )
    assert "does not break" in printed(run("rule", "test", rule.id, "echo", "a; npm ci"))
    assert "so nothing of it was run" in printed(run("rule", "test", rule.id, "echo a; npm ci"))
    person(*f"rule edit {rule.id} we use yarn, not npm".split(), typed=("",))
    assert log()[0].text == "we use yarn, not npm"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Always push when done", "never push without me"),
        ("never push without me", "Always push when done"),
        ("Use npm, not pnpm", "Use pnpm, not npm"),
    ],
)
def test_a_rule_that_demands_what_another_forbids_retires_it(person: Typed, log: Any, old: str, new: str) -> None:
    person("rule", "add", old, typed=("y",))
    assert f'"{old}": a yes retires that.' in person("rule", "add", new, typed=("y",)).split("[Y/n]")[0]
    assert {each.text: each.state for each in log()} == {old: RuleState.RETIRED, new: RuleState.ACCEPTED}


def test_the_demand_of_a_sentence_that_also_forbids_contradicts_nothing(person: Typed, log: Any) -> None:
    person("rule", "add", "Always use pnpm", typed=("y",))
    assert "contradicts" not in person("rule", "add", "We use pnpm, not npm", typed=("y",))
    assert "contradicts" in person("rule", "add", "Always use npm", typed=("n",))
    assert {each.state for each in log()} == {RuleState.ACCEPTED}


def test_rules_are_never_shared(run: Run, kept: Rule) -> None:
    assert "There is no value" in refusal(run("share", kept.id, "--yes"))


def test_a_no_keeps_nothing(person: Typed, log: Any) -> None:
    assert "Nothing was kept." in person("rule", "add", "We use pnpm, not npm", typed=("n",))
    assert log() == []


def test_what_a_yes_cannot_do_stands_above_the_question(person: Typed, log: Any) -> None:
    shown = person("rule", "add", "Be kind in reviews", "--everywhere", typed=("y",))
    before, _, _ = shown.partition("[Y/n]")
    assert "Agents are shown it at each session's start, and nothing is counted." in before
    assert "Your projects: garden." in before
    (rule,) = log()
    assert (rule.when, rule.pattern, rule.is_everywhere) == (When.SESSION, None, True)


@pytest.mark.parametrize(
    ("options", "when"),
    [
        (("--call", "make deploy --prod"), When.CALL),
        (("--file", "migrations/*"), When.FILE),
        (("--topic", "billing", "--topic", "invoice"), When.TOPIC),
        (("--done",), When.DONE),
    ],
)
def test_an_option_says_when_agents_see_it(person: Typed, log: Any, options: tuple[str, ...], when: When) -> None:
    person("rule", "add", "Ask Ann first", *options, typed=("y",))
    (rule,) = log()
    assert rule.when is when
    if when is When.CALL:
        assert rule.pattern.broken == (CallForm(("make", "deploy", "--prod")),)
        assert "Ask Ann first" in person("rule", "test", rule.id, "cd x && make deploy --prod")
        assert "Nothing" in person("rule", "test", rule.id, "make deploy")
    if when is When.FILE:
        assert "Ask Ann first" in person("rule", "test", rule.id, "--file", "migrations/1.sql")
        assert "Nothing" in person("rule", "test", rule.id, "--file", "src/1.sql")
    if when is When.TOPIC:
        assert rule.topic == ("billing", "invoice")


def test_a_rule_of_a_folder_applies_there(person: Typed, shop: Path, log: Any) -> None:
    (shop / "web").mkdir()
    person("rule", "add", "We use pnpm, not npm", "--folder", "web", typed=("y",))
    assert log()[0].folder == "web"
    assert "no folder inside of this project" in person("rule", "add", "Be kind", "--folder", "..", status=1)


def test_a_rule_whose_sentence_names_a_folder_applies_there(person: Typed, log: Any) -> None:
    said = person("rule", "add", "We use pnpm in web/, not npm", typed=("y",))
    assert "in web/ of garden" in " ".join(said.split())
    (rule,) = log()
    assert rule.folder == "web"
    assert "pnpm in web/" in person("rule", "test", rule.id, "cd web && npm install")
    assert "Nothing" in person("rule", "test", rule.id, "npm install")
    person("rule", "edit", rule.id, "We use pnpm, not npm", typed=("y",))
    assert log()[-1].folder == ""


def test_a_secret_in_a_sentence_is_kept_nowhere(person: Typed, log: Any, storage: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    person("rule", "add", f"Never print {secret}", typed=("y",))
    assert secret not in log()[0].text
    assert secret.encode() not in b"".join(each.read_bytes() for each in (storage / "journal").rglob("*.jsonl"))


def test_a_rule_is_shown_with_its_words_and_how_it_fared(person: Typed, run: Run, kept: Rule) -> None:
    shown = person("rule", "show", kept.id[5:9])
    assert "pnpm, please, not npm (2026" in shown
    assert "3 of 4 broken" in shown
    assert "4 followed, 2 reminded, 2 broken in 2 sessions" in shown
    assert "`npm install x` broke it" in shown
    assert '"We use pnpm, not npm". This call breaks it, so nothing of it was run.' in shown
    listed = printed(run("rules"))
    assert "CLAUDE.md" in listed
    assert "before: 3 of 4 broken; since: 4 followed, 2 reminded, 2 broken" in listed


def test_programs_get_numbers(run: Run, kept: Rule) -> None:
    expected = {"id": kept.id, "text": kept.text, "state": "accepted", "reminded": 2, "followed": 4}
    assert json.loads(printed(run("rules", "--json"))) == {"rules": [{**expected, "broken": 2, "broken_before": 3}]}


def test_what_agents_would_see_is_tried_without_a_person(run: Run, kept: Rule) -> None:
    assert "so nothing of it was run" in printed(run("rule", "test", kept.id, "sudo npm ci"))
    assert "does not break the rule" in printed(run("rule", "test", kept.id, "pnpm add npm"))
    assert "does not break the rule" in printed(run("rule", "test", kept.id, "echo npm"))
    for words in ((kept.id,), ("npm install zod",)):
        refused = in_line(refusal(run("rule", "test", *words)))
        assert "Give the ID of a rule, then a COMMAND or a --file. `learning-memory-server rules` shows" in refused
    assert "Give either" in refusal(run("rule", "test", kept.id, "npm ci", "--file", "a.py"))
    counts = printed(run("rules", "--json"))
    assert json.loads(counts)["rules"][0]["reminded"] == 2


def test_a_sentence_is_edited_and_with_it_when_agents_see_it(person: Typed, kept: Rule, log: Any, run: Run) -> None:
    shown = person("rule", "edit", kept.id, "We use yarn, not npm", typed=("",))
    assert "It was: We use pnpm, not npm" in shown
    (rule,) = log()
    assert (rule.id, rule.text) == (kept.id, "We use yarn, not npm")
    assert rule.pattern != kept.pattern
    # It is the person's own sentence then, which stands in no file.
    assert (rule.origin.kind, rule.words, rule.created_at) == (OriginKind.ADDED, kept.words, kept.created_at)
    assert "you, 5 Jan" not in (shown := in_line(printed(run("rule", "show", kept.id))))
    assert "before it was edited, it was from CLAUDE.md" in shown
    assert "from CLAUDE.md" not in printed(run("rule", "test", kept.id, "npm ci"))
    assert "is shown" not in person("rule", "edit", kept.id, "Be kind", typed=("n",))
    assert log() == [rule]


def test_a_rule_is_enforced_and_no_more(person: Typed, kept: Rule, log: Any) -> None:
    shown = person("rule", "enforce", kept.id[:12], typed=("y",))
    assert "you are asked before each call" in shown
    assert (log()[0].is_enforced, log()[0].unattended) == (True, Unattended.STOP)
    assert "You are asked" in person("rule", "test", kept.id, "npm ci")
    person("rule", "enforce", kept.id, "--unattended", "run")
    assert log()[0].unattended is Unattended.RUN
    person("rule", "enforce", kept.id, "--off")
    assert not log()[0].is_enforced


def test_a_sentence_without_a_call_cannot_be_enforced(person: Typed, log: Any) -> None:
    person("rule", "add", "Be kind in reviews", typed=("y",))
    assert "cannot be enforced" in person("rule", "enforce", log()[0].id, status=1)


def test_a_rule_is_retired_and_its_sentence_can_come_back(person: Typed, kept: Rule, log: Any, run: Run) -> None:
    assert "rule add 'We use pnpm, not npm'" in person("rule", "retire", kept.id)
    assert log()[0].state is RuleState.RETIRED
    assert "Nothing: the rule is retired" in printed(run("rule", "test", kept.id, "npm ci"))
    assert "1 sentence declined, put off or retired" in printed(run("rules"))
    person("rule", "add", kept.text, typed=("y",))
    # What was counted before is not about the new one.
    old, new = log()
    assert (old.state, new.state, new.text) == (RuleState.RETIRED, RuleState.ACCEPTED, kept.text)
    assert "since: 0 followed, 0 reminded, 0 broken" in in_line(printed(run("rules")))


@pytest.mark.parametrize("text", ["\u200b\u200b", "\u3164", "\u2060 \u00ad", "\u202e!", "!"])
def test_a_sentence_has_letters_that_can_be_seen(person: Typed, log: Any, text: str) -> None:
    assert "TEXT: " in person("rule", "add", text, status=1)
    assert log() == []


def test_an_edit_that_no_call_can_break_any_more_needs_a_yes(person: Typed, log: Any) -> None:
    person("rule", "add", "We use pnpm, not npm", typed=("",))
    (rule,) = log()
    shown = person("rule", "edit", rule.id, "always use pnpm", typed=("",))
    assert "It was: We use pnpm, not npm [y/N]" in shown
    assert log() == [rule]


@pytest.mark.parametrize("name", ["id", "short", "four"])
def test_a_rule_is_forgotten_by_its_short_id(person: Typed, kept: Rule, log: Any, name: str) -> None:
    named = {"id": kept.id, "short": kept.id[5:11], "four": kept.id[:9]}[name]
    assert "Forgotten: 1 item." in person("forget", named, typed=("y",))
    assert log() == []


def test_no_agent_forgets_a_rule_by_its_short_id(run: Run, kept: Rule, log: Any) -> None:
    assert "Only you can do this" in refusal(run("forget", kept.id[5:11], "--yes"))
    assert "No rule has an id that begins with '00000000'" in refusal(run("forget", "00000000", "--yes"))
    assert log() == [kept]


@pytest.mark.parametrize("before", ["", "# Ours\n\n- Be kind.\n"])
def test_an_export_is_a_patch_that_git_applies_with_the_sentence_alone(
    environment: dict[str, str], person: Typed, kept: Rule, shop: Path, before: str
) -> None:
    (shop / "AGENTS.md").write_text(before)
    for file in (LEARNED, "AGENTS.md", "CLAUDE.md"):
        words = ("rule", "export", kept.id, "--only", file)
        with on_a_terminal(environment, *words, output=True, folder=shop) as (_, terminal):
            shown = read_until(terminal, b"\0").decode().replace("\r\n", "\n")
        subprocess.run(["git", "apply", "-"], cwd=shop, input=shown.encode(), check=True)
        text = (shop / file).read_text()
        assert text.endswith("- We use pnpm, not npm\n")
        assert "please" not in text
    assert "have it already" in person("rule", "export", kept.id)


def test_a_rule_that_was_taken_back_is_exported_to_no_file(person: Typed, kept: Rule, run: Run) -> None:
    person("rule", "retire", kept.id)
    assert f"This rule is retired, so no file gets it: {kept.text}" in refusal(run("rule", "export", kept.id))


@pytest.mark.parametrize("name", [".claude", ".claude/rules", LEARNED, "AGENTS.md"])
def test_an_export_follows_no_link(person: Typed, kept: Rule, shop: Path, name: str) -> None:
    link = shop / name
    link.parent.mkdir(exist_ok=True, parents=True)
    (shop.parent / "elsewhere").mkdir()
    link.symlink_to(shop.parent / "elsewhere")
    assert "is a link" in person("rule", "export", kept.id, status=1)


def test_an_export_reads_no_file_that_is_too_long(person: Typed, kept: Rule, shop: Path) -> None:
    (shop / "AGENTS.md").write_text("- Be kind.\n" * 20_000)
    assert "too long" in person("rule", "export", kept.id, status=1)
