import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.system.locking import exclusive
from tests.cli.kept import MEMORIES
from tests.command_line import printed, refusal

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("kept")]


def test_memories_are_listed_the_last_one_first(run: Any) -> None:
    lines = run("memories").stdout.splitlines()
    assert [line.split("  ")[0] for line in lines] == [*reversed(MEMORIES)]
    assert "garden  [decision, storage]  docs/db.md  Database \u2192 We chose SQLite" in lines[1]
    assert run("memories", "--limit", "1").stdout.splitlines()[1] == "1 of 2 memories; --limit shows more."


@pytest.mark.parametrize(
    "options", [["--tag", "decision", "--tag", "storage"], ["--source", "docs/db.md"], ["--project", "current"]]
)
def test_memories_are_filtered(options: list[str], run: Any) -> None:
    document = json.loads(run("memories", *options, "--json").stdout)
    assert [memory["id"] for memory in document["results"]] == [MEMORIES[0]]
    assert document["total"] == 1
    assert run("memories", "--since", "2026-02-01").stdout == "No memories match.\n"


def test_a_search_finds_the_best_passage(run: Any) -> None:
    found = printed(run("search", "--only", "memories", "why SQLite and not Postgres", "--limit", "1"))
    assert MEMORIES[0] in found
    assert "1 found, mode: hybrid" in found
    explained = run("search", "--only", "memories", "Postgres", "--tag", "decision", "--explain")
    assert re.search(r"score  0\.\d+ x cosine", explained.stdout)
    document = json.loads(run("search", "--only", "memories", "SQLite", "--json", "--project", "garden").stdout)
    (memory,) = document["memories"]
    assert memory["passage"].startswith("We chose SQLite")
    assert [document[kind] for kind in ("results", "values", "errors")] == [[], [], []]


def test_a_search_finds_the_kinds_that_have_its_options(run: Any) -> None:
    def kinds(*options: str) -> set[str]:
        document = json.loads(printed(run("search", "SQLite module worker flaky test", *options, "--json")))
        return {kind for kind in ("results", "values", "memories", "errors") if document[kind]}

    everything = kinds("--lexical")
    assert everything == {"results", "values", "memories", "errors"}
    assert {
        kind for each in ("entries", "values", "memories", "errors") for kind in kinds("--only", each)
    } == everything
    assert kinds("--source", "docs/db.md") == {"memories"}
    refused = refusal(run("search", "SQLite", "--tag", "storage", "--outcome", "confirmed"))
    assert "No kind has all of these options." in refused
    assert "No kind has" in refusal(run("search", "SQLite", "--only", "values", "--tag", "storage"))


def test_a_list_of_memories_that_is_given_a_query_is_refused(run: Any) -> None:
    refused = refusal(run("memories", "--project", "garden", "--tag", "storage", "search", "SQLite"), 2)
    assert "'search SQLite' is not expected here." in refused


def test_a_search_without_an_engine_is_lexical(run: Any) -> None:
    found = run("search", "--only", "memories", "SQLite", LEARNING_MEMORY_QDRANT_URL="http://127.0.0.1:1")
    assert found.exit_code == 0, found.output
    assert "mode: lexical" in found.stdout
    assert found.stderr.rstrip().endswith("This search is lexical.")


def test_a_search_is_lexical_while_another_process_has_locked_the_data(run: Any, storage: Path) -> None:
    with exclusive(storage / "journal", "an import"):
        found = run("search", "--only", "memories", "SQLite", "--tag", "decision", "--explain", "--json")
        nothing = run("search", "--only", "memories", "SQLite", "--source", "elsewhere")
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert document["mode"] == "lexical"
    (memory,) = document["memories"]
    assert memory["id"] == MEMORIES[0]
    assert memory["explanation"]["bm25"] > 0
    assert f"an import, process {os.getpid()}" in found.stderr
    assert found.stderr.rstrip().endswith("This search is lexical.")
    assert nothing.stdout == "Nothing found (lexical).\n"
