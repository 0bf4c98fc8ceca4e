"""Two stores, and an archive of one of them."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.cli.access import find_hub
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.moment import utc_now
from learning_memory_server.system.ipc import discovery
from tests.acceptance.hubs import hub_for
from tests.command_line import in_line, printed
from tests.journal.archive.making import value_record
from tests.support import NOON, start

WITH_AND_WITHOUT = ["alone", pytest.param("hub", marks=pytest.mark.slow)]


def shown(result: Result) -> str:
    """Return the output of a command that worked, on one line, without times and with single spaces."""
    return in_line(re.sub(r"took .*", "", printed(result)))


def entries_in(storage: Path) -> dict[str, Ghap]:
    """Return the resolved entries of a store by their ids."""
    resolved = ObservationCollector(Journal(storage / "journal"), utc_now).list_resolved()
    return {entry.id: entry for entry in resolved}


@pytest.fixture
def full(filled: Result, storage: Path) -> Journal:
    """A journal with imported entries, two open ones, a value, cluster numbers, and a forgotten entry."""
    assert filled.exit_code == 0
    journal = Journal(storage / "journal")
    collector = ObservationCollector(journal, utc_now)
    start(collector)
    start(collector)
    collector.forget(["ghap_20260101_000003_abcdef"], utc_now())
    journal.values.append([value_record(1, imported=True)])
    data = {"next_number": 1, "moved": {"ghap_20260101_000000_abcdef": 0}}
    journal.clusters.append([JournalRecord("clusters", "full", NOON, data)])
    return journal


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    return tmp_path / "elsewhere"


@pytest.fixture(params=WITH_AND_WITHOUT)
def run_there(
    request: pytest.FixtureRequest, run: Any, environment: dict[str, str], elsewhere: Path, runtime: Path
) -> Iterator[Callable[..., Result]]:
    """Run a command over another, empty store, with or without a hub."""
    there = {**environment, "LEARNING_MEMORY_STORAGE_PATH": str(elsewhere)}
    place = discovery.HubPaths({**there, "XDG_RUNTIME_DIR": str(runtime)})
    if request.param == "hub":
        hub_for(there)
    yield lambda *arguments: run(*arguments, LEARNING_MEMORY_STORAGE_PATH=str(elsewhere))
    if request.param == "hub":
        run("hub", "stop", LEARNING_MEMORY_STORAGE_PATH=str(elsewhere))
        assert find_hub(place) is None


def exported(run: Any, path: Path, **variables: str) -> str:
    printed(run("backup", str(path), **variables))
    return str(path)
