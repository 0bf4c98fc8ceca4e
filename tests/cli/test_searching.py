"""The command search: hybrid, lexical where there is no index, and it says which."""

import re
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.journal.codec import GHAP, JournalRecord
from learning_memory_server.journal.log import Log
from learning_memory_server.system.locking import exclusive
from tests.command_line import in_line, printed
from tests.support import numbered

pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("filled")
def test_search_is_hybrid_and_says_so(run: Any) -> None:
    found = printed(run("search", "flaky test", "--limit", "3", "--outcome", "confirmed", "--axis", "strategy"))
    assert found.count("Fix the flaky test") == 3
    assert "3 found, mode: hybrid" in found


@pytest.mark.usefixtures("filled")
def test_search_is_lexical_while_the_data_is_locked_with_a_notice(run: Any, storage: Path) -> None:
    with exclusive(storage / "journal", "a server"):
        found = run("search", "slow query", "--limit", "2")
        asked_for = run("search", "slow query", "--limit", "2", "--lexical")
    assert found.exit_code == 0
    assert found.stdout == asked_for.stdout
    assert "2 found, mode: lexical" in found.stdout
    assert len(found.stderr.splitlines()) == 1
    assert found.stderr.rstrip().endswith("This search is lexical.")
    assert asked_for.stderr == ""


@pytest.mark.usefixtures("filled")
def test_search_explains_scores_on_request(run: Any) -> None:
    found = run("search", "slow query", "--limit", "1", "--explain")
    line = next(line for line in found.stdout.splitlines() if line.strip().startswith("score "))
    assert re.search(
        r"0\.\d+ x cosine [\d.]+ \+ 0\.55 x lexical [\d.]+ \(bm25 [\d.]+, contrast [\d.]+\); nearest axis \w+;", line
    )
    lexical = run("search", "slow query", "--limit", "1", "--explain", "--lexical").stdout
    assert re.search(r"score +lexical [\d.]+ \(bm25 [\d.]+\); terms ", lexical)
    assert "score  " not in run("search", "slow query", "--limit", "1").stdout


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1:1", "cannot be reached"),
        ("http://127.0.0.1:99999", "The Qdrant URL is malformed."),
        ("http://10.255.255.1:6333", "would be sent to 10.255.255.1 in plain text"),
    ],
)
@pytest.mark.usefixtures("filled")
def test_search_without_an_engine_is_lexical(run: Any, url: str, reason: str) -> None:
    server = {"LEARNING_MEMORY_QDRANT_URL": url, "LEARNING_MEMORY_QDRANT_API_KEY": "a-key"}
    found = run("search", "slow query", **server)
    assert found.exit_code == 0
    assert "mode: lexical" in found.stdout
    assert reason in in_line(found.stderr)


def test_a_goal_that_fits_into_no_reply_does_not_end_a_search(run: Any, storage: Path) -> None:
    entry = numbered(1, goal="flaky " * 10_000)
    Log(storage / "journal" / "entries", monthly=True).append([JournalRecord.of(GHAP, entry)])
    found = run("search", "flaky")
    assert found.exit_code == 0, found.output
    assert "1 found, mode: hybrid" in found.stdout
