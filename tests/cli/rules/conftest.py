"""Rules that commands change."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.rule import (
    CallForm,
    Origin,
    OriginKind,
    Pattern,
    Rule,
    RuleCount,
    RuleState,
    When,
    new_rule_id,
)
from learning_memory_server.rules.log import RuleCounts, RuleLog
from tests.support import NOON


@pytest.fixture
def log(storage: Path) -> Callable[[], list[Rule]]:
    """Return the rules in the journal."""
    return lambda: list(RuleLog(Journal(storage / "journal").rules).all())


@pytest.fixture
def kept(storage: Path, shop: Path) -> Rule:
    """A rule about `npm` that was broken before and since."""
    assert shop.exists()
    about = Pattern((CallForm(("npm",)),), (CallForm(("pnpm",)),))
    origin = Origin(OriginKind.FILE, "CLAUDE.md", NOON)
    made = Rule(
        new_rule_id(), "We use pnpm, not npm", "garden", RuleState.ACCEPTED, origin, NOON, NOON, When.CALL, about
    )
    made = replace(made, words="pnpm, please, not npm", broken_before=3, matched_before=4)
    journal = Journal(storage / "journal")
    RuleLog(journal.rules).add(made)
    for number, call in enumerate(("npm ci", "npm install x")):
        at = NOON + timedelta(days=number)
        RuleCounts(journal.rule_counts).add(
            RuleCount(f"count_{number}", made.id, "garden", f"s{number}", at, 2, 1, 1, call=call), at=at
        )
    return made
