"""How rules fared is summed once, and kept right from then on."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.rule import RuleCount
from learning_memory_server.rules.log import Fared, RuleCounts, total
from tests.rules.making import SAID, accepted

ONE, OTHER = accepted("one"), accepted("other")


def count(number: int, rule: str = ONE.id, **parts: Any) -> RuleCount:
    return RuleCount(f"count_{number}", rule, "shop", f"s{number}", SAID + timedelta(days=number), **parts)


@pytest.fixture
def counts(tmp_path: Path) -> RuleCounts:
    return RuleCounts(Journal(tmp_path).rule_counts)


def test_sums_follow_what_is_added_replaced_and_forgotten(counts: RuleCounts) -> None:
    assert counts.fared([ONE]) == {ONE.id: Fared()}
    counts.add(count(2, broken=1), count(1, followed=3, reminded=1), count(3, OTHER.id, stopped=2))
    assert counts.fared([ONE, OTHER]) == {ONE.id: Fared(2, 3, 1, 1), OTHER.id: Fared(1, stopped=2)}
    counts.add(replace(count(2), broken=4, followed=1))
    assert counts.fared([ONE])[ONE.id] == Fared(2, 4, 1, 4)
    assert [each.session for each in counts.about(ONE.id)] == ["s1", "s2"]
    counts.forget(["count_1"], SAID)
    assert counts.fared([ONE])[ONE.id] == Fared(1, 1, 0, 4) == total(counts.about(ONE.id))
    assert RuleCounts(counts.log).fared([ONE, OTHER]) == counts.fared([ONE, OTHER])


def test_a_record_that_is_added_twice_at_once_counts_as_it_was_last(counts: RuleCounts) -> None:
    counts.fared([ONE])
    counts.add(count(1, broken=1), count(1, broken=2))
    assert counts.fared([ONE])[ONE.id] == Fared(1, broken=2)


def test_the_records_are_gone_through_once(counts: RuleCounts, monkeypatch: pytest.MonkeyPatch) -> None:
    counts.add(*(count(number, followed=1) for number in range(9)))
    assert counts.fared([ONE])[ONE.id].followed == 9
    monkeypatch.setattr(counts, "all", None)
    counts.add(count(10, followed=1))
    assert counts.fared([ONE])[ONE.id].followed == 10
