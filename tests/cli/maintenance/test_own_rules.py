"""Rules in archives: a person's own come back as they were, another store's are suggestions."""

import json
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.journal.archive.reading import open_archive, store_key
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.rule import (
    CallForm,
    Origin,
    OriginKind,
    Pattern,
    Rule,
    RuleCount,
    RuleState,
    Unattended,
    When,
    count_id,
    new_rule_id,
)
from learning_memory_server.rules.log import RuleCounts, RuleLog
from tests.command_line import printed
from tests.support import NOON


def ruled(journal: Journal) -> tuple[list[Rule], list[RuleCount]]:
    return RuleLog(journal.rules).all(), RuleCounts(journal.rule_counts).all()


@pytest.fixture
def kept(storage: Path) -> tuple[list[Rule], list[RuleCount]]:
    """Rules of each kind, and how one has fared."""
    first = Rule(
        new_rule_id(),
        "We use pnpm, not npm",
        "garden",
        RuleState.ACCEPTED,
        Origin(OriginKind.FILE, "CLAUDE.md", NOON),
        NOON,
        NOON,
        When.CALL,
        Pattern((CallForm(("npm",)),), (CallForm(("pnpm",)),)),
        folder="web",
        words="pnpm, please, not npm",
        is_enforced=True,
        unattended=Unattended.STOP,
        broken_before=3,
        matched_before=4,
    )
    added = Origin(OriginKind.ADDED, at=NOON)
    bare = Rule(new_rule_id(), "Ask Ann first", "garden", RuleState.ACCEPTED, added, NOON, NOON, is_everywhere=True)
    topic = replace(bare, id=new_rule_id(), text="Round down", when=When.TOPIC, topic=("billing",))
    retired = replace(first, id=new_rule_id(), text="Be brief", state=RuleState.RETIRED, is_enforced=False)
    journal = Journal(storage / "journal")
    RuleLog(journal.rules).add(first, bare, topic, retired)
    RuleCounts(journal.rule_counts).add(
        *(RuleCount(count_id(first.id, each), first.id, "garden", each, NOON, 2, 1, 1, call="npm ci") for each in "ab")
    )
    return ruled(Journal(storage / "journal"))


def backed_up(run: Any, path: Path, *options: str) -> str:
    printed(run("backup", str(path), *options))
    return str(path)


def test_rules_and_their_counts_come_back_as_they_were(run: Any, storage: Path, tmp_path: Path, kept: Any) -> None:
    path = backed_up(run, tmp_path / "a.tar.gz")
    shutil.rmtree(storage / "journal")

    assert json.loads(run("import", path, "--yes", "--json").stdout)["own"]

    assert ruled(Journal(storage / "journal")) == kept
    again = json.loads(run("import", path, "--yes", "--json").stdout)["contents"]
    assert (again["rule"]["there"], again["rule_count"]["there"], again["rule"]["differing"]) == (4, 2, [])


def test_what_was_said_here_since_stays(run: Any, storage: Path, tmp_path: Path, kept: Any) -> None:
    first, *others = kept[0]
    path = backed_up(run, tmp_path / "a.tar.gz")
    newer = replace(first, state=RuleState.RETIRED, is_enforced=False, changed_at=NOON + timedelta(days=1))
    RuleLog(Journal(storage / "journal").rules).add(newer)

    printed(run("import", path, "--yes"))

    assert ruled(Journal(storage / "journal"))[0] == [newer, *others]


@pytest.mark.parametrize("days", [-1, 1])
def test_the_newer_answer_to_the_same_sentence_counts(
    run: Any, storage: Path, tmp_path: Path, kept: Any, days: int
) -> None:
    first = kept[0][0]
    path = backed_up(run, tmp_path / "a.tar.gz")
    shutil.rmtree(storage / "journal")
    said = replace(first, id=new_rule_id(), state=RuleState.DECLINED, changed_at=NOON + timedelta(days=days))
    RuleLog(Journal(storage / "journal").rules).add(said)

    printed(run("import", path, "--yes"))

    found, _ = ruled(Journal(storage / "journal"))
    assert (first in found) is (days < 0)
    assert len(found) == 4 + (days < 0)


def test_another_store_gets_suggestions_and_no_counts(run: Any, tmp_path: Path, kept: Any) -> None:
    path = backed_up(run, tmp_path / "a.tar.gz")
    there = {"LEARNING_MEMORY_STORAGE_PATH": str(tmp_path / "there")}
    store_key(tmp_path / "there" / "archive.key")

    assert not json.loads(run("import", path, "--yes", "--json", **there).stdout)["own"]

    rules, counts = ruled(Journal(tmp_path / "there" / "journal"))
    assert counts == []
    assert [each.text for each in rules] == [each.text for each in kept[0]]
    assert {each.state for each in rules} == {RuleState.POSTPONED, RuleState.DECLINED}
    assert all(each.imported and not (each.is_enforced or each.is_everywhere or each.words) for each in rules)
    # A second time, they are there: nothing differs.
    again = json.loads(run("import", path, "--yes", "--json", **there).stdout)["contents"]["rule"]
    assert (again["new"], again["there"], again["differing"]) == (0, 4, [])


@pytest.mark.usefixtures("kept")
def test_the_counts_of_rules_are_for_nobody_else(run: Any, tmp_path: Path) -> None:
    with open_archive(Path(backed_up(run, tmp_path / "a.tar.gz", "--project", "garden"))) as archive:
        assert not [name for name in archive.manifest.files if "rule-counts" in name]


def test_a_forgotten_rule_and_its_counts_stay_away(run: Any, storage: Path, tmp_path: Path, kept: Any) -> None:
    first, *others = kept[0]
    path = backed_up(run, tmp_path / "a.tar.gz")
    RuleLog(Journal(storage / "journal").rules).forget([first.id], NOON)
    counts = RuleCounts(Journal(storage / "journal").rule_counts)
    counts.forget([each.id for each in counts.all()], NOON)
    printed(run("import", path, "--yes"))
    assert ruled(Journal(storage / "journal")) == (others, [])
