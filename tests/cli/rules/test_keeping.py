"""Rules are kept from agents, paused, counted in `status`, forgotten, backed up and renamed."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.cli.out import CLIENTS
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.rule import Rule, RuleCount, When
from learning_memory_server.rules.log import RuleCounts, RuleLog
from learning_memory_server.rules.pause import PAUSE, RulePause
from learning_memory_server.server.calls import Calls
from learning_memory_server.server.composition.services import open_services
from learning_memory_server.server.settings import Settings
from tests.cli.persons import Typed
from tests.command_line import Run, in_line, printed, refusal
from tests.server.dashboard.making import entry
from tests.support import MINUTES, NOON
from tests.terminals import on_a_terminal, read_until

pytestmark = pytest.mark.slow

LATER = utc_now() + timedelta(hours=9)

CHANGES = (
    ("rule", "add", "We use pnpm, not npm"),
    ("rule", "add", "Ask Ann first", "--call", "make deploy", "--everywhere"),
    ("rule", "edit", "ID", "Be kind"),
    ("rule", "enforce", "ID", "--unattended", "stop"),
    ("rule", "retire", "ID"),
    ("rule", "export", "ID"),
    ("rules", "off", "1h"),
    ("forget", "ID"),
)


@pytest.mark.parametrize("command", CHANGES, ids=" ".join)
def test_without_a_person_nothing_changes_and_the_sentence_to_hand_on_is_said(
    run: Run, kept: Rule, log: Any, command: tuple[str, ...]
) -> None:
    words = [kept.id if each == "ID" else each for each in command]
    said = in_line(refusal(run(*words)))
    quoted = " ".join(f'"{each}"' if " " in each else each for each in words)
    assert f"Only you can do this: run `learning-memory-server {quoted}` in a terminal." in said
    assert log() == [kept]


def test_yes_is_no_person(run: Run, kept: Rule, log: Any) -> None:
    assert "Only you can do this" in refusal(run("forget", kept.id, "--yes"))
    assert log() == [kept]


@pytest.mark.parametrize("variable", CLIENTS)
def test_a_terminal_that_a_client_has_opened_is_no_person(
    environment: dict[str, str], shop: Path, kept: Rule, log: Any, variable: str
) -> None:
    environment[variable] = "1"
    with on_a_terminal(environment, "rule", "retire", kept.id, output=True, folder=shop) as (process, terminal):
        assert "Only you can do this" in in_line(read_until(terminal, b"\0").decode())
        assert process.wait(MINUTES) == 1
    assert log() == [kept]


def test_the_beginning_of_an_id_suffices_where_it_is_unique(run: Run, kept: Rule, storage: Path) -> None:
    assert "4 characters" in refusal(run("rule", "show", kept.id[5:8]))
    assert "No rule has" in refusal(run("rule", "show", "zzzz"))
    alike = replace(kept, id=kept.id[:-1] + ("0" if kept.id[-1] != "0" else "1"))
    RuleLog(Journal(storage / "journal").rules).add(alike)
    assert "2 rules have" in refusal(run("rule", "show", kept.id[:12]))


def test_promote_points_at_the_export(run: Run) -> None:
    assert "Use `rule export`" in refusal(run("promote"), 2)


@pytest.mark.usefixtures("kept")
def test_rules_pause(
    environment: dict[str, str],
    person: Typed,
    start_hub: Callable[[], int],
    shop: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    def is_denied(session: str) -> bool:
        event: dict[str, Any] = {
            "session_id": session,
            "cwd": str(shop),
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
        }
        event |= {"tool_use_id": f"toolu_{len(asked)}", "tool_input": {"command": "npm ci"}}
        asked.append(session)
        hook = [sys.executable, "-m", "learning_memory_server", "hook"]
        done = subprocess.run(hook, input=json.dumps(event).encode(), cwd=shop, check=True, capture_output=True)
        return b"We use pnpm" in done.stdout

    asked: list[str] = []
    start_hub()
    assert is_denied("first")
    assert "for an hour" in person("rules", "off", "1h")
    assert [is_denied(each) for each in ("second", "third")] == [False, False]
    assert "shown again" in person("rules", "on")
    assert [is_denied(each) for each in ("second", "fourth")] == [True, True]
    assert "in the sessions that are open now" in person("rules", "off")
    assert [is_denied(each) for each in ("third", "fifth")] == [False, True]


@pytest.mark.parametrize(
    ("until", "is_shown", "said"),
    [
        (LATER, False, f"Rules are off in every session until {LATER:%H:%M} UTC."),
        (None, True, "Rules are off in the sessions that were open when you paused them, until these end."),
        (NOON, True, ""),
    ],
    ids=["an hour", "open sessions", "over"],
)
def test_a_pause_is_said_and_the_context_keeps_to_it(
    run: Run, kept: Rule, storage: Path, until: datetime | None, is_shown: bool, said: str
) -> None:
    RuleLog(Journal(storage / "journal").rules).add(replace(kept, when=When.SESSION, pattern=None))
    RulePause(storage / PAUSE).begin(until, ["a session"])

    for command in (("rules",), ("status",), ("rule", "test", kept.id, "npm ci"), ("context",)):
        shown = run(*command)
        assert said in in_line(shown.stdout + shown.stderr)
        assert bool(said) is ("Rules are off" in shown.stdout + shown.stderr)
    assert (kept.text in printed(run("context"))) is is_shown

    async def read_resource() -> str:
        settings = Settings(storage_path=storage, embedding_backend="hashing")
        async with open_services(settings, purpose="test") as services:
            return await Calls(services.injectable(), Caller("garden", "new")).session_context()

    assert (kept.text in asyncio.run(read_resource())) is is_shown


def test_status_begins_with_what_was_stopped_or_ran_against_an_enforced_rule(
    run: Run, kept: Rule, storage: Path
) -> None:
    journal = Journal(storage / "journal")
    RuleLog(journal.rules).add(replace(kept, is_enforced=True))
    RuleCounts(journal.rule_counts).add(
        RuleCount("count_9", kept.id, "garden", "s9", utc_now(), broken=2, stopped=1, call="npm publish")
    )
    first, second, third, *_ = printed(run("status")).splitlines()
    assert "1 call in 7 days by your rule" in first
    assert "2 calls in 7 days ran against your rule" in second
    assert "`npm publish`" in second
    assert "Calls while no server ran are not counted here" in third
    week = json.loads(printed(run("status", "--week", "--json")))["week"]
    assert [(each["broken"], each["stopped"], each["followed"]) for each in week] == [(2, 1, 0)]
    assert json.loads(printed(run("status", "--json")))["rules"]["broken"] == 4


def test_a_breach_before_a_rule_was_enforced_is_no_alarm(run: Run, kept: Rule, storage: Path) -> None:
    journal, now = Journal(storage / "journal"), utc_now()
    RuleLog(journal.rules).add(replace(kept, is_enforced=True, changed_at=now))
    RuleCounts(journal.rule_counts).add(
        RuleCount("count_9", kept.id, "garden", "s9", now - timedelta(hours=1), broken=2, call="npm publish")
    )
    assert "ran against" not in printed(run("status"))


def test_a_rule_is_forgotten_with_what_was_counted(person: Typed, kept: Rule, storage: Path) -> None:
    assert "Forgotten: 1 item." in person("forget", kept.id, "--purge", typed=("y",))
    text = b"".join(each.read_bytes() for each in (storage / "journal").rglob("*.jsonl"))
    assert b"pnpm" not in text
    assert b"npm install x" not in text


def test_forgetting_a_project_keeps_its_rules_where_no_person_asks(
    run: Run, kept: Rule, log: Any, storage: Path
) -> None:
    collector = ObservationCollector(Journal(storage / "journal"), lambda: NOON)
    collector.add_resolved([replace(entry(1), project="garden")])
    done = run("forget", "--project", "garden", "--yes")
    assert "1 rule of this project stays" in in_line(done.stderr)
    assert log() == [kept]


def test_a_backup_has_rules_and_an_import_brings_them_as_suggestions(run: Run, kept: Rule, tmp_path: Path) -> None:
    made = json.loads(printed(run("backup", str(tmp_path / "all.tar.gz"), "--json")))
    there = tmp_path / "there"
    there.mkdir(mode=0o700)
    elsewhere = {"LEARNING_MEMORY_STORAGE_PATH": str(there)}
    assert run("import", made["path"], "--yes", **elsewhere).exit_code == 0
    (rule,) = RuleLog(Journal(there / "journal").rules).all()
    assert (rule.imported, rule.words, rule.is_enforced) == (True, "", False)
    assert json.loads(printed(run("rules", "--json", **elsewhere))) == {"rules": []}
    assert kept.text in printed(run("review", **elsewhere))


def test_a_renamed_project_keeps_its_rules(run: Run, kept: Rule) -> None:
    printed(run("project", "rename", "garden", "yard"))
    found = json.loads(printed(run("rules", "--json", LEARNING_MEMORY_PROJECT="yard")))
    assert [each["id"] for each in found["rules"]] == [kept.id]
