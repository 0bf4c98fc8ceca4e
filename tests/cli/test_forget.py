"""`forget`: shown first, gone everywhere, also from the files if that is asked for."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from learning_memory_server.domain.caller import Caller
from learning_memory_server.domain.moment import utc_now
from learning_memory_server.journal.journal import Journal
from learning_memory_server.observation.collector import ObservationCollector
from learning_memory_server.server.config import load_settings
from learning_memory_server.server.services import open_services

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

ONE = "ghap_20260101_000003_abcdef"


def entries_in(storage: Path) -> set[str]:
    resolved = ObservationCollector(Journal(storage / "journal"), utc_now).list_resolved()
    return {entry.id for entry in resolved}


def written(storage: Path) -> str:
    return "".join(path.read_text("utf-8") for path in (storage / "journal" / "entries").iterdir())


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["alone", "through a hub"])
def memory(request: pytest.FixtureRequest, filled: Result, start_hub: Callable[[], int]) -> None:
    assert filled.exit_code == 0
    if request.param:
        start_hub()


@pytest.mark.usefixtures("memory")
def test_what_is_forgotten_is_found_nowhere_and_does_not_come_back(
    run: Any, storage: Path, tmp_path: Path
) -> None:
    assert ONE in run("search", "worker 3", "--limit", "50").stdout
    result = run("forget", ONE, "--yes")
    assert result.exit_code == 0
    assert ONE in result.stdout
    assert "Forgotten: 1 item." in result.stdout
    assert ONE not in run("search", "worker 3", "--limit", "50").stdout
    assert ONE not in run("search", "worker 3", "--limit", "50", "--lexical").stdout
    assert len(entries_in(storage)) == 23
    again = run("import", str(tmp_path / "entries.jsonl"))
    assert "0 entries" in again.stdout
    assert "1 entry, and stays so" in again.stdout
    assert "23 entries" in again.stdout
    assert "complete: 46 vectors" in again.stdout
    assert len(entries_in(storage)) == 23


@pytest.mark.usefixtures("memory")
def test_a_preview_changes_nothing_and_no_is_no(run: Any, storage: Path) -> None:
    before = written(storage)
    assert ONE in run("forget", ONE, "--preview").stdout
    refused = run("forget", ONE)  # There is nobody to answer.
    assert refused.exit_code == 1
    assert written(storage) == before


@pytest.mark.usefixtures("memory")
def test_a_purge_takes_it_out_of_the_files(run: Any, storage: Path) -> None:
    assert "worker 3" in written(storage)
    result = run("forget", ONE, "--purge", "--yes")
    assert "Taken out of the journal's files: 1 line." in result.stdout
    assert "worker 3" not in written(storage)
    assert ONE in written(storage)
    assert len(entries_in(storage)) == 23


@pytest.mark.usefixtures("memory")
def test_a_project_is_forgotten_as_a_whole(run: Any, storage: Path) -> None:
    assert "Nothing that is not" in run("forget", "--project", "elsewhere", "--preview").stdout
    result = run("forget", "--project", "current", "--yes")
    assert "... and 4 more" in result.stdout
    assert "Forgotten: 24 items." in result.stdout
    assert entries_in(storage) == set()
    assert "Nothing found" in run("search", "worker").stdout


@pytest.mark.usefixtures("memory")
def test_an_unknown_id_forgets_nothing(run: Any, storage: Path) -> None:
    result = run("forget", ONE, "ghap_nobody", "--yes")
    assert result.exit_code == 1
    assert "ghap_nobody" in result.stderr
    assert len(entries_in(storage)) == 24
    for arguments in ([], [ONE, "--project", "garden"]):
        assert run("forget", *arguments, "--yes").exit_code == 1


@pytest.mark.usefixtures("memory")
def test_memories_and_open_entries_are_forgotten_with_their_project(run: Any, storage: Path) -> None:
    settings = load_settings(
        {"LEARNING_MEMORY_STORAGE_PATH": str(storage), "LEARNING_MEMORY_EMBEDDING_BACKEND": "hashing"}
    )
    run("hub", "stop")

    async def add() -> str:
        async with open_services(settings, purpose="a test") as services:
            added = await services.memories.add(Caller("kitchen", "s"), "Salt the water. " * 30, {})
            await services.writer.complete()
            assert (await services.index.counts())["memories"] > 0
            return added.memory.id

    memory_id = asyncio.run(add())
    shown = run("forget", "--project", "kitchen", "--yes", "--purge")
    assert memory_id in shown.stdout
    assert "Forgotten: 1 item." in shown.stdout
    text = "".join(path.read_text("utf-8") for path in (storage / "journal" / "memories").iterdir())
    assert "Salt" not in text

    async def counts() -> int:
        async with open_services(settings, purpose="a test") as services:
            await services.writer.complete()
            return (await services.index.counts())["memories"]

    assert asyncio.run(counts()) == 0


def test_reindex_makes_all_or_one_axis_anew(run: Any, filled: Result, storage: Path) -> None:
    assert filled.exit_code == 0
    assert run("reindex").stdout.startswith("The index was made anew: 48 vectors in ")
    assert run("reindex", "strategy").stdout.startswith(
        "The index of axis strategy was made anew: 24 vectors"
    )
    assert run("reindex", "moon").exit_code == 2
    (place,) = (storage / "index").iterdir()
    (place / "experiences_full" / "edge_config.json").write_text("{}")
    result = run("search", "worker 3")
    assert "mode: " in result.stdout
    assert "Nothing found" not in result.stdout
    assert "It is made anew from the journal." in result.stderr
    assert "complete: 48 vectors" in run("import", str(storage.parent / "entries.jsonl")).stdout
    assert json.loads((place / "experiences_full" / "about.json").read_text())["probe"]
