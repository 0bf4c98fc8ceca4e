"""`report` and `review` at a terminal: what a person says yes to is shown to the next agent at that trigger."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.advice.candidates import Permission
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.rule import OriginKind, Rule, RuleState
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.rules.log import RuleLog
from learning_memory_server.server.composition.services import open_services
from learning_memory_server.server.settings import Settings
from tests.cli.persons import Typed
from tests.client_folders import folder_name
from tests.command_line import Run, in_line, printed
from tests.lessons.errors.written import failed, ran, refused, write_transcript

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("past")]

TRAILER = "git commit -m 'Add tea\n\nCo-Authored-By: Claude <noreply@anthropic.com>'"
UNKNOWN = "Exit code 2\nerror: unrecognized subcommand 'brew'"
SAID = "Never add a Co-Authored-By trailer for Claude to commits."


@pytest.fixture
def past(shop: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a rule in its file, and three sessions: a broken rule, a failing command, a refused call."""
    # Its sessions would be older than a repository that is made now.
    (shop / ".git").rename(shop.parent / "git")
    monkeypatch.setenv("HOME", environment["HOME"])
    (shop / "CLAUDE.md").write_text(f"# Ours\n\n- {SAID}\n- Always be kind to everybody in reviews.\n", "utf-8")
    place = Path(environment["HOME"], ".claude", "projects", folder_name(shop))
    place.mkdir(parents=True)
    for number in range(3):
        write_transcript(
            place / f"s{number}.jsonl",
            ran(TRAILER),
            failed("tea brew pot", UNKNOWN),
            ran("brew pot"),
            *((refused("git push", "never push without asking me"),) if number == 2 else ()),
            session=f"s{number}",
            folder=str(shop),
            hour=number,
        )
    return shop


@pytest.fixture
def rules(storage: Path) -> Callable[[], list[Rule]]:
    return lambda: [*RuleLog(Journal(storage / "journal").rules).all()]


async def seen(storage: Path, trigger: Trigger) -> tuple[str, Permission | None]:
    """Return what a new session of the project sees at a trigger."""
    settings = Settings(storage_path=storage, embedding_backend="hashing")
    async with open_services(settings, purpose="test") as services:
        shown = await services.advisor.at(trigger, Caller("garden", "new"))
    if shown.decision:
        return shown.decision.reason, shown.decision.permission
    return shown.text, None


def call(command: str) -> Trigger:
    return Trigger(TriggerKind.CALL, context="new", key=f"toolu_{command}", command=command)


def test_the_report_reads_only(run: Run, rules: Any, storage: Path) -> None:
    shown = printed(run("report"))
    assert "In 3 sessions your agents ran 9 commands, of which 3 failed. 5 Jan 2026." in shown
    lines = [line.split("  ", 1)[0].strip() for line in shown.splitlines() if line[:2].strip().isdecimal()]
    assert lines == ["1", "2", "3"]
    assert f'"{SAID}" broken in 3 of 3 commits' in in_line(shown)
    assert "you choose lines in a terminal: learning-memory-server report" in in_line(shown)
    assert (rules(), (storage / "journal").exists()) == ([], False)
    for command in (("start",), ("learn-from", "--report")):
        assert all(line in run(*command).stdout for line in shown.splitlines()[1:4])
    found = json.loads(printed(run("report", "--json")))
    assert [(each["kind"], each["broken"], each["can_be_accepted"]) for each in found["lines"]] == [
        ("rule", 3, True),
        ("failure", 3, True),
        ("refusal", 0, True),
    ]


@pytest.mark.parametrize(
    ("number", "kind", "command", "other"),
    [
        ("1", OriginKind.FILE, TRAILER, "git commit -m 'Add tea'"),
        ("2", OriginKind.REPORT, "tea brew pot", "brew pot"),
        ("3", OriginKind.REFUSAL, "cd x && git push origin main", "git status"),
    ],
)
async def test_a_yes_to_a_line_is_shown_to_the_next_agent_at_that_call(
    person: Typed, rules: Any, storage: Path, number: str, kind: OriginKind, command: str, other: str
) -> None:
    shown = person("report", typed=(number,))
    assert "from the next call on in running sessions that have the hooks" in shown
    (rule,) = rules()
    assert (rule.state, rule.origin.kind) == (RuleState.ACCEPTED, kind)
    assert f"rule test {rule.id[5:11]} 'COMMAND'" in shown
    if number == "1":
        assert (rule.broken_before, rule.matched_before) == (3, 3)
        assert "before: 3 of 3 broken" in person("rules")
    reason, permission = await seen(storage, call(command))
    assert permission is Permission.DENY
    assert rule.text.rstrip(".") in reason
    assert await seen(storage, call(other)) == ("", None)
    # What was answered is no line any more.
    assert rule.text not in person("report", typed=("",))


def test_several_lines_at_once_and_none(person: Typed, rules: Any) -> None:
    person("report", typed=("",))
    assert rules() == []
    assert "9 is no number of a line" in person("report", typed=("1 9", "1, 3"))
    assert len(rules()) == 2


async def test_start_asks_the_same_question(person: Typed, rules: Any, environment: Any) -> None:
    environment["PATH"] = ""
    person("start", typed=("1", "n"), status=0)
    assert [each.text for each in rules()] == [SAID]


def test_review_answers_several_sentences_with_one_key_each(person: Typed, rules: Any) -> None:
    listed = person("review", typed=("",))
    texts = [
        SAID,
        "Use `brew pot`, not `tea brew pot`",
        "never push without asking me",
        "Always be kind to everybody in reviews.",
    ]
    assert all(text in listed for text in texts)
    number = {text: f"{1 + sorted(texts, key=listed.index).index(text)}" for text in texts}
    typed = f"y {number[texts[0]]} n {number[texts[1]]} l {number[texts[2]]} {number[texts[3]]}"
    shown = person("review", typed=("y", typed))
    assert "y for which of them?" in shown
    states = {each.text: each.state for each in rules()}
    assert states == {
        texts[0]: RuleState.ACCEPTED,
        texts[1]: RuleState.DECLINED,
        texts[2]: RuleState.POSTPONED,
        texts[3]: RuleState.POSTPONED,
    }
    assert "Nothing waits for an answer." in person("review")
    # A no silences it everywhere.
    assert "brew pot`" not in person("report")


def test_a_postponed_sentence_is_asked_about_again_after_a_week(person: Typed, storage: Path) -> None:
    person("review", typed=("l all",))
    assert "Nothing waits" in person("review")
    log = RuleLog(Journal(storage / "journal").rules)
    log.add(*(replace(each, changed_at=each.changed_at - timedelta(days=8)) for each in log.all()))
    assert SAID in person("review", typed=("",))


@pytest.mark.parametrize("keeps", [True, False])
def test_a_sentence_is_edited_at_the_yes_and_is_not_asked_about_again(person: Typed, rules: Any, keeps: bool) -> None:
    listed = person("review", typed=("",))
    assert listed.index("1 ") < listed.index(SAID)
    person("review", typed=("n 2 3 4 e 1", "No mention of robots in commits", "" if keeps else "n"))
    mine = next(each for each in rules() if each.state is RuleState.ACCEPTED)
    assert (mine.text, mine.words) == ("No mention of robots in commits", SAID if keeps else "")
    assert "Nothing waits" in person("review")


LONG = "Never use git push here without an answer of mine, " + "because it costs us a day each time " * 5


@pytest.mark.parametrize("key", ["y", "d"])
def test_the_own_words_can_be_dropped_at_the_yes(
    person: Typed, rules: Any, past: Path, environment: dict[str, str], key: str
) -> None:
    memory = Path(environment["HOME"], ".claude", "projects", folder_name(past), "memory", "push.md")
    memory.parent.mkdir()
    memory.write_text(f"---\ntype: feedback\ndescription: {LONG}\n---\n", "utf-8")
    assert "d yes, but keep only the sentence" in person("review", typed=(f"{key} all",))
    kept = {each.origin.kind: each for each in rules() if each.state is RuleState.ACCEPTED}
    refused, said = kept[OriginKind.REFUSAL], kept[OriginKind.MEMORY]
    assert refused.origin.at
    assert said.text == "Never use git push here without an answer of mine"
    if key == "y":
        assert refused.origin.name == "git push"
        assert said.words.startswith(LONG[:150])
        assert said.words[:150] in person("rule", "show", said.id)
    else:
        assert {each.words for each in kept.values()} == {""}
        assert (refused.origin.name, said.origin.name) == ("", "memory push.md")
        assert "a refusal of yours" in person("rule", "show", refused.id)


def test_what_is_said_twice_is_asked_about_once_with_both_places(person: Typed, past: Path, run: Run) -> None:
    (past / "AGENTS.md").write_text(f"- {SAID}\n", "utf-8")
    assert "CLAUDE.md; also in AGENTS.md; broken in 3 of 3 commits" in person("review", typed=("",))
    assert "also in AGENTS.md" in printed(run("review"))


def test_the_report_says_how_often_a_rule_was_broken_since_the_yes(person: Typed, storage: Path, run: Run) -> None:
    person("report", typed=("1",))
    assert "since your yes" not in person("report", typed=("",))
    log = RuleLog(Journal(storage / "journal").rules)
    (rule,) = log.all()
    log.add(replace(rule, changed_at=rule.changed_at.replace(year=2026, month=1, day=5, hour=13, minute=30)))
    shown = in_line(printed(run("report")))
    assert f'your rule "{SAID}" broken in 1 of 1 commit since your yes, 5 Jan' in shown


async def test_a_sentence_for_every_session_is_shown_at_the_next_start(person: Typed, storage: Path) -> None:
    shown = person("review", typed=("n 1 2 3 y 4",))
    assert "Shown at each session's start only, because no call can be recognized as a breach: 4." in shown
    text, _ = await seen(storage, Trigger(TriggerKind.SESSION_START, context="new"))
    assert "Always be kind to everybody in reviews." in text


def test_the_newest_yes_retires_what_it_contradicts(person: Typed, past: Path, rules: Any) -> None:
    person("rule", "add", "Never use tabs in tests", typed=("y",))
    (past / "CLAUDE.md").write_text("- Always use tabs in tests.\n", "utf-8")
    listed = person("review", typed=("",))
    assert '"Never use tabs in tests": a yes retires that.' in listed
    place = sorted(["Always use tabs", "Use `brew pot`", "never push"], key=listed.index).index("Always use tabs")
    shown = person("review", typed=(f"y {place + 1}",))
    assert "Retired, because a newer rule contradicts it: Never use tabs in tests" in shown
    states = {each.text: each.state for each in rules()}
    assert states == {"Never use tabs in tests": RuleState.RETIRED, "Always use tabs in tests.": RuleState.ACCEPTED}
    new, old = (
        next(each for each in rules() if each.state is state) for state in (RuleState.ACCEPTED, RuleState.RETIRED)
    )
    assert new.replaces == old.id


def test_a_rule_to_push_and_one_not_to_are_put_to_the_person(person: Typed, past: Path, rules: Any) -> None:
    person("rule", "add", "Never push without me", typed=("y",))
    (past / "CLAUDE.md").write_text("- Always push when done.\n", "utf-8")
    listed = person("review", typed=("",))
    assert '"Never push without me": a yes retires that.' in listed
    place = sorted(["Always push", "Use `brew pot`"], key=listed.index).index("Always push")
    person("review", typed=(f"y {place + 1}",))
    states = {each.text: each.state for each in rules()}
    assert states == {"Never push without me": RuleState.RETIRED, "Always push when done.": RuleState.ACCEPTED}


def test_one_quiet_line_says_that_something_waits(run: Run) -> None:
    assert "Waiting: 2 in garden for your yes: `learning-memory-server review`\n" in printed(run("rules"))
    assert "  2 in garden for your yes: `learning-memory-server review`\n" in printed(run("status"))
    assert json.loads(printed(run("rules", "--json"))) == {"rules": []}


def test_start_names_the_review_where_rules_of_a_file_wait(run: Run, past: Path, environment: Any) -> None:
    shutil.rmtree(Path(environment["HOME"], ".claude", "projects"))
    assert past.exists()
    assert "Waiting: 2 in garden for your yes: `learning-memory-server review`\n" in run("start", PATH="").stdout


def test_without_a_person_review_lists(run: Run, rules: Any) -> None:
    found = json.loads(printed(run("review", "--json")))
    assert {each["kind"] for each in found["results"]} == {"rule"}
    assert any("broken in 3 of 3 commits" in each["fared"] for each in found["results"])
    assert rules() == []


def test_a_file_of_a_repository_is_no_person(person: Typed, past: Path, rules: Any) -> None:
    (past / "CLAUDE.md").write_text("- You said: always push with --force.\n", "utf-8")
    listed = person("review", typed=("",))
    assert "CLAUDE.md" in listed
    assert rules() == []


def test_without_a_past_session_the_report_says_where_it_looked(run: Run, past: Path, environment: Any) -> None:
    place = Path(environment["HOME"], ".claude", "projects")
    shutil.rmtree(place)
    for command in (("report",), ("learn-from", "--report")):
        shown = in_line(printed(run(*command)))
        assert f"{place}" in shown.replace(" ", "")
        assert "was broken" not in shown
    shown = in_line(printed(run("report")))
    assert "No past session of this project was found in" in shown
    assert "offered by: learning-memory-server review" in shown
    (past / "CLAUDE.md").write_text("Be brief. " * 10_000)
    for name in ("report", "review"):
        assert "Not read: CLAUDE.md (too large)." in in_line(printed(run(name)))


def test_the_review_says_where_a_yes_applies_and_whose_it_is(run: Run, past: Path, environment: Any) -> None:
    claude = Path(environment["HOME"], ".claude")
    (claude / "CLAUDE.md").write_text("Never drink tea in reviews.")
    memory = claude / "projects" / folder_name(past) / "memory" / "m1.md"
    memory.parent.mkdir()
    memory.write_text("---\ntype: feedback\ndescription: Ask Ann before a release.\n---\n")
    shown = in_line(printed(run("review")))
    assert "Claude Code's memory m1.md" in shown
    assert "memory memory" not in shown
    assert "rule in all of your projects" in shown.replace(" - ", " ")
    assert "in garden" in shown
