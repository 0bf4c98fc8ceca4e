"""A user's patterns: what they find, and what happens when one of them takes too long."""

import threading
import time

import pytest

from learning_memory_server.errors import InvalidSettingsError
from learning_memory_server.redaction.own import OwnPattern, OwnPatterns

HARD = "a" * 60 + "!"
"""Doubles the time of the pattern below with each letter."""
CATASTROPHIC = r"(a|aa)+$"


def test_a_pattern_that_takes_too_long_is_named_and_not_quoted() -> None:
    quick, pattern = (OwnPattern("redaction_patterns", "Pattern 2", CATASTROPHIC, seconds) for seconds in (60, 0.05))
    assert list(quick.spans("aaa")) == [(0, 3)]
    with pytest.raises(InvalidSettingsError) as late:
        list(pattern.spans(HARD))
    assert late.value.message.startswith("Pattern 2 of redaction_patterns took longer than")
    assert CATASTROPHIC not in late.value.sentence
    assert "doctor" in (late.value.hint or "")


def test_a_pattern_with_many_matches_has_no_more_time_than_one_with_few() -> None:
    pattern = OwnPattern("redaction_patterns", "Pattern 1", "a", seconds=0.0)

    def take_them_slowly() -> None:
        for _ in pattern.spans("a" * 1_000):
            until = time.monotonic() + 0.001
            while time.monotonic() < until:
                pass

    with pytest.raises(InvalidSettingsError):
        take_them_slowly()


def test_other_threads_go_on_while_a_pattern_searches() -> None:
    pattern = OwnPattern("redaction_patterns", "Pattern 1", CATASTROPHIC, seconds=0.2)
    ended = threading.Event()

    def search() -> None:
        with pytest.raises(InvalidSettingsError):
            list(pattern.spans(HARD))
        ended.set()

    thread = threading.Thread(target=search)
    thread.start()
    turns = 0
    while not ended.is_set():
        turns += 1
    thread.join()
    assert turns > 1_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expression", "is_slow"),
    [
        (CATASTROPHIC, True),
        (r"(z|zz)+$", True),
        (r"acme_[a-z0-9]{20}", False),
        (r"door code (?P<secret>\d+)", False),
        (r"\b[A-Z]{2}\d{6}[A-Z]?\b", False),
        (r"(?i)customer[- ]?(?:no|number)\W+\d{4,12}", False),
    ],
)
def test_a_slow_pattern_is_told_from_a_quick_one(expression: str, *, is_slow: bool) -> None:
    assert OwnPattern("redaction_allow", "Pattern 1", expression).is_slow is is_slow


@pytest.mark.slow
def test_slow_patterns_are_listed_by_number_or_kind() -> None:
    assert OwnPatterns(["x-\\d{6}", CATASTROPHIC]).slow() == ["Pattern 2 of redaction_patterns"]
    assert OwnPatterns({"badge": CATASTROPHIC}).slow() == ["The pattern `badge` of redaction_patterns"]
