from __future__ import annotations

from learning_memory_server.failures import following
from learning_memory_server.failures.commands import parse
from learning_memory_server.failures.following import Following

PYTEST, FIXED, OTHER = parse("python -m pytest"), parse("python3 -m pytest"), parse("ls")


def test_one_success_mends_all_similar_failures_of_the_last_five_commands() -> None:
    seen = Following[str]()
    for name in ("one", "two"):
        seen.failed("a", name, PYTEST)
    seen.failed("a", "three", OTHER)
    assert seen.succeeded("a", FIXED) == ["one", "two"]
    assert seen.succeeded("a", FIXED) == []
    assert seen.succeeded("a", OTHER) == ["three"]


def test_a_failure_that_nothing_is_known_of_counts_as_a_command() -> None:
    seen = Following[str]()
    seen.failed("a", "one", PYTEST)
    for _ in range(4):
        seen.failed("a", None, OTHER)
    assert seen.is_waiting("a")
    assert seen.succeeded("a", FIXED) == ["one"]
    seen.failed("a", "two", PYTEST)
    for _ in range(5):
        seen.failed("a", None, OTHER)
    assert not seen.is_waiting("a")
    assert seen.succeeded("a", FIXED) == []


def test_the_sessions_that_ran_a_command_last_are_followed() -> None:
    seen = Following[int]()
    many = following._SESSIONS + 1
    for number in range(many):
        seen.failed(number, number, PYTEST)
    assert not seen.is_waiting(0)
    assert seen.succeeded(many - 1, FIXED) == [many - 1]
    assert sum(map(seen.is_waiting, range(many))) == many - 2
