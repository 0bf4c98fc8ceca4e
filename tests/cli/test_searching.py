"""The command search: hybrid, lexical where there is no index, and it says which."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.cli.searching import Findings, Hit, HitKind
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.journal.log import Log
from learning_memory_server.system.locking import exclusive
from tests.cli.kept import ERROR, MEMORIES, VALUE
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
    Log(storage / "journal", GHAP).append([JournalRecord.of(GHAP, entry)])
    found = run("search", "flaky")
    assert found.exit_code == 0, found.output
    assert "1 found, mode: hybrid" in found.stdout


@pytest.mark.usefixtures("kept")
def test_a_memory_that_nothing_corrects_is_not_called_replaced(run: Any) -> None:
    assert "replaced by" not in printed(run("search", "SQLite over Postgres", "--lexical"))
    found = json.loads(printed(run("search", "SQLite over Postgres", "--lexical", "--json")))["memories"]
    assert found
    assert all("replaced_by" not in memory for memory in found)


@pytest.mark.parametrize("options", [[], ["--lexical"]])
@pytest.mark.parametrize(
    ("query", "answer", "kind"),
    [
        ("we chose SQLite over Postgres: one file, and no server", MEMORIES[0], "memory"),
        ("isolate the worker before you blame it", VALUE, "value"),
        ("ModuleNotFoundError: No module named", ERROR, "error"),
    ],
)
@pytest.mark.usefixtures("kept")
def test_the_best_comes_first_whatever_it_is(run: Any, query: str, answer: str, kind: str, options: list[str]) -> None:
    first, *rest = printed(run("search", query, *options)).splitlines()
    assert first.startswith(answer)
    assert f"  {kind}  " in first
    assert "  weak  " not in first
    assert not re.search(r"  0\.\d\d  ", first)
    assert re.search(rf"{len(rest)} found, mode: \w+", rest[-1])
    things = json.loads(printed(run("search", query, *options, "--json")))
    found = {thing["id"]: thing for each in ("results", "values", "memories", "errors") for thing in things[each]}
    assert found[answer]["strength"] == max(thing["strength"] for thing in found.values())


@pytest.mark.usefixtures("kept")
def test_five_weak_ones_are_shown_after_the_others_and_the_rest_is_counted(run: Any) -> None:
    query = "we chose SQLite over Postgres flaky"
    shown = printed(run("search", query, "--limit", "50"))
    assert shown.count("  weak  ") == 5
    count = int(re.search(r"(\d+) more weak ones?: --all", shown)[1])  # type: ignore[index]
    everything = printed(run("search", query, "--all", "--limit", "50"))
    assert everything.count("  weak  ") == 5 + count
    assert "--all" not in everything


@pytest.mark.usefixtures("kept")
def test_where_nothing_is_strong_the_nearest_are_shown_and_said_to_be_weak(run: Any) -> None:
    first, *shown, last = printed(run("search", "the lasagne worker")).splitlines()
    assert first == "Nothing matches well. The nearest:"
    assert all("  weak  " in line for line in shown)
    assert len(shown) == 5
    assert last.startswith("5 found, mode: hybrid; ")


LESSON = {"lesson": {"takeaway": "Replay the order."}}


@pytest.mark.parametrize(
    ("bare", "taught", "is_bare_first"), [(1.0, 1.0, False), (1.2, 1.0, False), (1.3, 1.0, True), (0.9, 1.0, False)]
)
@pytest.mark.parametrize("kind", [HitKind.ENTRIES, HitKind.ERRORS])
def test_what_has_no_lesson_comes_after_what_has_one_within_a_fifth(
    kind: HitKind, bare: float, taught: float, is_bare_first: bool
) -> None:
    without = Hit(kind, {"strength": bare})
    for other in (Hit(HitKind.ENTRIES, {"strength": taught, **LESSON}), Hit(HitKind.MEMORIES, {"strength": taught})):
        assert (without.rank > other.rank) is is_bare_first


def test_what_is_weak_depends_on_the_best_of_all_kinds() -> None:
    best, near, low, far = (
        Hit(kind, {"strength": strength, **LESSON})
        for kind, strength in (
            (HitKind.ENTRIES, 2.0),
            (HitKind.MEMORIES, 1.2),
            (HitKind.ENTRIES, 1.1),
            (HitKind.VALUES, 0.9),
        )
    )
    assert Findings([best, near, low, far], "hybrid").strong() == [best, near]
    assert Findings([low, far], "hybrid").strong() == [low]
    assert Findings([far], "hybrid").strong() == []
