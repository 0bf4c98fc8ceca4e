"""Agents of a real Claude Code meet the rules that a person has accepted."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.rule import Rule, RuleCount, Unattended, When
from learning_memory_server.rules.log import RuleCounts, RuleLog
from learning_memory_server.server.claims import caller_of
from learning_memory_server.server.settings import Settings
from tests.acceptance.hubs import until
from tests.claude_code.conftest import ClaudeCode, texts_of
from tests.claude_code.model import Block, Said, delegate, run, say, use
from tests.claude_code.terminal import at_terminal
from tests.rules.making import LIVE, PUSH, TESTED, TRAILER, accepted
from tests.sharing.repositories import git

pytestmark = pytest.mark.slow

NO_TRAILER: Final = "No AI trailer in commits"
DENIED: Final = f'Rule of your user (3 Feb): "{NO_TRAILER}". This call breaks it, so nothing of it was run.'
BREAKS: Final = "git commit --allow-empty -m 'Mend it' -m 'Co-Authored-By: Claude'"
FOLLOWS: Final = "git commit --allow-empty -m 'Mend it'"


def seed(claude: ClaudeCode, *rules: Rule) -> None:
    """Let a person have accepted rules in the project, unless they name another one."""
    here = {"CLAUDE_PROJECT_DIR": str(claude.project)}
    name = caller_of(here, Settings(storage_path=claude.memory.storage)).project
    own = (replace(each, project=name) if each.project == "shop" else each for each in rules)
    RuleLog(Journal(claude.memory.storage / "journal").rules).add(*own)


def counts(claude: ClaudeCode) -> dict[str, RuleCount]:
    """Return how rules fared, by their text; a hub writes it when it ends."""
    if claude.memory.is_held():
        claude.memory.end_hub()
    journal = Journal(claude.memory.storage / "journal")
    texts = {each.id: each.text for each in RuleLog(journal.rules).all()}
    return {texts[each.rule]: each for each in RuleCounts(journal.rule_counts).all()}


def fared(claude: ClaudeCode, text: str = NO_TRAILER) -> tuple[int, int, int, int]:
    found = counts(claude)[text]
    return found.followed, found.reminded, found.broken, found.stopped


def later(block: Block) -> Callable[[], Block]:
    """Return a block that a model says after as much thought as a quick one needs."""

    def said() -> Block:
        time.sleep(0.5)
        return block

    return said


def repository(folder: Path) -> Path:
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Ann")
    git(folder, "config", "user.email", "ann@example.org")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Begin")
    return folder


def test_a_breach_is_denied_once_and_the_mended_call_runs(claude: ClaudeCode) -> None:
    repository(claude.project)
    seed(claude, accepted(NO_TRAILER, TRAILER))

    session = claude.session("commit this", [run(BREAKS), later(run(FOLLOWS)), say("All done.")])

    assert (session.done.returncode, session.done.stdout) == (0, "All done.\n")
    denied, made = session.results()
    assert DENIED in denied
    assert "Change the call and go on." in denied
    assert "Mend it" in made
    assert git(claude.project, "log", "--format=%B").count("Mend it") == 1
    assert fared(claude) == (1, 1, 0, 0)


def test_a_second_breach_runs_and_counts(claude: ClaudeCode) -> None:
    repository(claude.project)
    seed(claude, accepted(NO_TRAILER, TRAILER))
    again = BREAKS.replace("Mend it", "Mend more")

    session = claude.session("commit this", [run(BREAKS), later(run(again)), say("All done.")])

    assert [DENIED in each for each in session.results()] == [True, False]
    assert "Co-Authored-By" in git(claude.project, "log", "--format=%B")
    assert fared(claude) == (0, 1, 1, 0)
    assert counts(claude)[NO_TRAILER].call == again


def test_a_call_that_follows_a_rule_is_not_touched(claude: ClaudeCode) -> None:
    repository(claude.project)
    seed(claude, accepted(NO_TRAILER, TRAILER))

    session = claude.session("commit this", [run("echo push later"), run(FOLLOWS), say("All done.")])

    assert "Rule of your user" not in json.dumps(session.everything)
    assert fared(claude) == (1, 0, 0, 0)


def test_an_edit_that_breaks_a_rule_is_denied_and_other_files_are_written(claude: ClaudeCode) -> None:
    seed(claude, accepted("Work in staging/, not in live/", LIVE, When.FILE))
    live, staging = (str(claude.project / name / "a.txt") for name in ("live", "staging"))

    session = claude.session(
        "write it",
        [use("Write", file_path=live, content="x"), later(use("Write", file_path=staging, content="x")), say("Done.")],
        "--allowedTools",
        "Bash,Write,Edit",
    )

    assert '"Work in staging/, not in live/". This call breaks it' in session.results()[0]
    assert not Path(live).exists()
    assert Path(staging).read_text() == "x"


def test_a_subagent_meets_a_rule_before_its_first_breach_although_the_main_agent_knows_it(claude: ClaudeCode) -> None:
    repository(claude.project)
    seed(claude, accepted(NO_TRAILER, TRAILER))

    session = claude.session(
        "divide the work",
        [run(BREAKS), later(delegate("task-one")), say("Waiting."), say("It ended.")],
        agents={"task-one": [run(BREAKS), later(run(FOLLOWS)), say("Committed.")]},
    )

    said = [json.dumps(each["messages"]) for each in session.everything]
    of_subagent = [each for each in said if "task-one" in each and "divide the work" not in each]
    assert json.dumps(DENIED)[1:-1] in of_subagent[-1]
    assert git(claude.project, "log", "--format=%B").count("Mend it") == 1
    assert fared(claude) == (1, 2, 0, 0)


def test_rules_for_every_session_are_shown_at_a_start_and_to_subagents(claude: ClaudeCode) -> None:
    seed(claude, accepted("Answer in short sentences", when=When.SESSION), accepted("Other", project="blog"))

    session = claude.session(
        "divide the work",
        [delegate("task-one"), say("Waiting."), say("It ended.")],
        agents={"task-one": [say("I see.")]},
    )

    assert session.told(0) == "Rules of your user:\n- Answer in short sentences (3 Feb)"
    said = [json.dumps(each) for each in session.everything]
    of_subagent = [each for each in said if "task-one" in each and "divide the work" not in each]
    assert "Answer in short sentences (3 Feb)" in of_subagent[0]
    # Whoever knows an id could answer in the person's place.
    assert not any("rule_" in each for each in said)


def test_a_rule_on_a_topic_is_shown_at_a_prompt_that_names_it(claude: ClaudeCode) -> None:
    seed(claude, accepted("Fixtures over mocks", when=When.TOPIC, topic=("test",)))
    assert "Fixtures" not in claude.session("say hello", [say("Hello.")]).told()
    told = claude.session("write tests", [say("Yes.")]).told()
    assert told.startswith('Rule of your user (3 Feb): "Fixtures over mocks".')


def test_a_rule_is_met_where_no_file_of_rules_has_it_and_in_a_worktree(claude: ClaudeCode, tmp_path: Path) -> None:
    repository(claude.project)
    git(claude.project, "worktree", "add", "-q", str(tmp_path / "second"), "-b", "second")
    seed(claude, accepted(NO_TRAILER, TRAILER))
    claude.project = tmp_path / "second"

    session = claude.session("commit this", [run(BREAKS), say("Done.")])

    assert DENIED in session.results()[0]


def test_a_rule_for_all_projects_is_met_in_another_one(claude: ClaudeCode, tmp_path: Path) -> None:
    seed(claude, accepted(NO_TRAILER, TRAILER, is_everywhere=True), accepted("Here", PUSH))
    claude.project = tmp_path / "elsewhere"
    claude.project.mkdir()
    repository(claude.project)

    session = claude.session("commit this", [run(BREAKS), later(run("git push nowhere")), say("Done.")])

    assert [DENIED in each for each in session.results()] == [True, False]
    assert "Here" not in json.dumps(session.everything)


def test_after_a_compaction_a_rule_is_met_again(claude: ClaudeCode) -> None:
    repository(claude.project)
    seed(claude, accepted(NO_TRAILER, TRAILER), accepted("Answer in short sentences", when=When.SESSION))
    script: list[Said] = [
        run(BREAKS),
        later(say("Denied.")),
        say("<summary>It was about a commit.</summary>"),
        later(run(BREAKS)),
        later(run(FOLLOWS)),
        say("Mended."),
    ]
    with at_terminal(claude, script, "--allowedTools", "Bash,Write") as terminal:
        terminal.prompts("commit this")
        terminal.sees("rules off")
        terminal.sees("Denied.")
        terminal.prompts("/compact")
        terminal.sees("Compacted")
        terminal.prompts("commit it again")
        terminal.sees("Mended.")
    said = json.dumps(terminal.model.requests[-1]["messages"])
    assert json.dumps(DENIED)[1:-1] in said
    assert git(claude.project, "log", "--format=%B").count("Mend it") == 1


def test_what_is_enforced_is_stopped_each_time_where_nobody_can_be_asked(claude: ClaudeCode) -> None:
    rule = accepted("Never push without me", PUSH, is_enforced=True, unattended=Unattended.STOP)
    seed(claude, rule)

    session = claude.session("tidy up", [run("git push"), later(run("cd . && git push --force")), say("Not pushed.")])

    assert session.done.stdout == "Not pushed.\n"
    assert all("Nobody can be asked now, so go on without it." in each for each in session.results())
    assert fared(claude, rule.text) == (0, 0, 0, 2)


def test_what_the_prompt_asks_for_is_no_breach(claude: ClaudeCode) -> None:
    rule = accepted("Never push without me", PUSH, is_enforced=True, unattended=Unattended.STOP)
    seed(claude, rule)
    session = claude.session("push it", [run("git push"), say("Tried.")])
    assert "Rule of your user" not in json.dumps(session.everything)


def test_a_person_is_asked_about_what_is_enforced_each_time(claude: ClaudeCode) -> None:
    repository(claude.project)
    seed(claude, accepted("Never push without me", PUSH, is_enforced=True))
    script: list[Said] = [run("git push"), later(run("git push nowhere")), say("Asked twice.")]
    with at_terminal(claude, script, "--allowedTools", "Bash") as terminal:
        terminal.prompts("tidy up")
        until(lambda: "Esctocancel" in terminal.shown(), "the person is not asked")
        assert "Neverpushwithoutme" in terminal.shown()
        terminal.allows()
        terminal.refuses("not now")
        terminal.sees("Asked twice.")
    assert "not now" in json.dumps(terminal.model.requests[-1]["messages"])
    until(lambda: fared(claude, "Never push without me") == (0, 0, 0, 1), "it is not counted")


def test_the_end_of_work_is_no_end_without_what_a_rule_wants(claude: ClaudeCode) -> None:
    seed(claude, accepted("Run the tests before you are done", TESTED, When.DONE))
    (claude.project / "Makefile").write_text("test:\n\t@echo passed\n")
    write = use("Write", file_path=str(claude.project / "a.py"), content="x = 1")
    script: list[Said] = [write, say("Done."), later(run("make test")), say("Now it is.")]
    with at_terminal(claude, script, "--allowedTools", "Bash,Write") as terminal:
        terminal.prompts("write it")
        terminal.sees("Now it is.")
    said = "".join(texts_of(terminal.model.requests[-1]["messages"]))
    assert '"Run the tests before you are done". This has not been done since the last edit.' in said


def test_a_hub_that_is_gone_lets_a_call_run(claude: ClaudeCode) -> None:
    repository(claude.project)
    seed(claude, accepted(NO_TRAILER, TRAILER))

    def breaks() -> Block:
        claude.memory.kill_hub()
        return run(BREAKS)

    session = claude.session("commit this", [breaks, say("Done.")], LEARNING_MEMORY_HUB_IDLE_MINUTES="1")
    assert session.done.stdout == "Done.\n"
