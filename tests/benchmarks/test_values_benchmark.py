"""The texts of the values benchmark."""

from __future__ import annotations

from benchmarks.values import KINDS, groups
from learning_memory_server.model.limits import VALUE_MAX
from learning_memory_server.model.vocabulary import OutcomeStatus


def test_every_group_has_each_kind_of_text_and_failed_hypotheses_against_the_contradiction() -> None:
    written = groups()
    assert len(written) >= 10
    for group in written:
        assert tuple(group.texts) == KINDS
        assert all(0 < len(text) <= VALUE_MAX for text in group.texts.values())
        assert len(group.members) == 6
        assert group.against
        assert all(member.outcome.status is OutcomeStatus.FALSIFIED for member in group.against)
    assert len({member.id for group in written for member in group.members}) == 6 * len(written)
