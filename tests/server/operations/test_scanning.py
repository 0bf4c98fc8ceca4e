"""Replacing stored secrets: sessions go on, and whatever interrupts it is made up for."""

import asyncio
import json
import signal
import subprocess
import sys
from copy import copy
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.embedding.base import Embedder
from learning_memory_server.errors import EmbeddingUnavailableError, InvalidSettingsError, JournalUnavailableError
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.vocabulary import OutcomeStatus
from learning_memory_server.server.composition.services import Services
from tests.journal.archive.making import value_record
from tests.journal.mortal import MortalDisk, MortalSystem
from tests.services import opened, run
from tests.stored_secrets import MARK, PASSWORD, TOKEN, sow, traces
from tests.support import ALICE, BOB, start

RECORDS = {
    "entry": "ghap",
    "abandoned": "ghap",
    "open": "ghap",
    "value": "value",
    "memory": "memory",
    "failure": "failure",
}


async def redact(services: Services, ids: dict[str, str]) -> dict[str, Any]:
    return await run(services, "redact_stored", records=[[kind, ids[name]] for name, kind in RECORDS.items()])


@pytest.mark.slow
async def test_what_is_stored_is_redacted_for_everyone_at_once(tmp_path: Path) -> None:
    ids = await sow(tmp_path)
    async with opened(tmp_path) as services:
        await services.writer.complete()
        services.value_log.all()
        services.memory_log.all()
        services.failure_log.all()
        services.collector.load()
        reply = await redact(services, ids)
        assert (reply["changed"], reply["indexed"], reply["notices"]) == (6, True, [])
        current = services.collector.still_open.current(BOB)
        assert current
        assert current.goal == f"Replace {MARK}"
        entries = {entry.id: entry for entry in services.collector.list_resolved()}
        assert entries[ids["entry"]].action == "Log in with password=[redacted: password]"
        assert entries[ids["abandoned"]].prediction == f"{MARK} works"
        assert [value.text for value in services.value_log.all()] == [f"Never commit {MARK}"]
        (failure,) = services.failure_log.all()
        assert f"token {MARK}" in failure.command
        assert f"token {MARK}" in str(failure.worked)
        assert MARK in failure.signature
        memory = services.memory_log.find(ids["memory"])
        assert memory
        assert memory.source == f"wiki/{MARK}"
        assert services.outdated.ids() == frozenset()
        assert await services.writer.find_pending() == 0
        assert services.writer.reconciler.superfluous == 0
        # Nothing that is kept in RAM brings it back.
        services.collector.update(BOB, note="still at it")
        services.collector.resolve(BOB, status=OutcomeStatus.CONFIRMED, result="Replaced.")
    assert traces(tmp_path) == []
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "journal").rglob("*.json*")}
    async with opened(tmp_path) as services:
        assert (await redact(services, ids))["changed"] == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "journal").rglob("*.json*")} == before


@pytest.mark.slow
async def test_sessions_go_on_while_secrets_are_replaced(tmp_path: Path) -> None:
    ids = await sow(tmp_path)
    async with opened(tmp_path) as services:
        work = asyncio.create_task(redact(services, ids))
        added = []
        while not work.done():
            start(services.collector)
            entry = services.collector.resolve(ALICE, status=OutcomeStatus.CONFIRMED, result="Passed.")
            await services.persister.persist(entry)
            added.append(entry.id)
            await services.memories.add(ALICE, f"Note {len(added)} of a session.", {})
            await asyncio.sleep(0)
        assert (await work)["indexed"]
        assert added
        await services.writer.complete()
        assert await services.writer.find_pending() == 0
        stored = {entry.id for entry in services.collector.list_resolved()}
        assert stored >= {*added, ids["entry"], ids["abandoned"]}
        assert len(services.memory_log.all()) == 2 + len(added)
    assert traces(tmp_path) == []


async def test_a_line_that_is_superseded_does_not_come_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as services:
        value = value_record(1, text="Look twice")
        services.journal.values.append([value_record(1, text=f"Look at {TOKEN}"), value])
        assert [each.text for each in services.value_log.all()] == ["Look twice"]
        reply = await run(services, "redact_stored", records=[["value", value.id]])
        assert (reply["changed"], reply["indexed"]) == (1, True)
        assert [each.text for each in services.value_log.all()] == ["Look twice"]
    assert [record.data["text"] for record in Journal(tmp_path / "journal").values.read().records] == [
        f"Look at {MARK}",
        "Look twice",
    ]


@pytest.mark.slow
async def test_a_disk_that_refuses_in_the_middle_leaves_nothing_that_the_next_scan_does_not_find(
    tmp_path: Path,
) -> None:
    ids = await sow(tmp_path)
    system = MortalSystem()
    async with opened(tmp_path) as services:
        services.memory_log.all()
        refusing = copy(services)
        refusing.journal = Journal(tmp_path / "journal", disk=MortalDisk(system))
        # Each replacement is an open, a write, a sync, a rename and a sync: the second file is refused.
        system.refuse_after(7, 0)
        with pytest.raises(JournalUnavailableError):
            await redact(refusing, ids)
        assert {name.partition("/")[0] for name in traces(tmp_path)} == {"index", "journal"}
        await services.writer.complete()
        assert (await redact(services, ids))["indexed"]
    assert traces(tmp_path) == []


@pytest.mark.slow
async def test_an_open_entry_that_is_resolved_in_between_is_stored_without_its_secret(tmp_path: Path) -> None:
    ids = await sow(tmp_path)
    async with opened(tmp_path) as services:
        # A command has seen it open.
        services.collector.resolve(BOB, status=OutcomeStatus.CONFIRMED, result="Replaced.")
        assert (await redact(services, ids))["indexed"]
        (entry,) = (each for each in services.collector.list_resolved() if each.id == ids["open"])
        assert entry.goal == f"Replace {MARK}"
    assert traces(tmp_path) == []


@pytest.mark.slow
async def test_without_a_model_the_journal_is_redacted_and_the_index_follows_alone(tmp_path: Path) -> None:
    def missing() -> Embedder:
        raise EmbeddingUnavailableError("The model is not on this machine.")

    ids = await sow(tmp_path)
    (tmp_path / "index" / "of_another_model").mkdir()
    (tmp_path / "index" / "of_another_model" / "page_0.dat").write_text(TOKEN)
    async with opened(tmp_path, load=missing) as services:
        reply = await redact(services, ids)
        assert reply["indexed"] is False
        assert "The model is not on this machine." in reply["notices"][0]
    assert {name.partition("/")[0] for name in traces(tmp_path)} == {"index"}
    async with opened(tmp_path) as services:
        assert services.outdated.ids()
        await services.writer.complete()
        assert services.outdated.ids() == frozenset()
    assert traces(tmp_path) == []


@pytest.mark.slow
async def test_with_redaction_off_nothing_is_changed(tmp_path: Path) -> None:
    ids = await sow(tmp_path)
    async with opened(tmp_path, redaction=False) as services:
        with pytest.raises(InvalidSettingsError, match="Redaction is off"):
            await redact(services, ids)
    assert traces(tmp_path)


DIE = """
import asyncio, json, os, signal, sys
from copy import copy
from pathlib import Path
from learning_memory_server.system import files
from learning_memory_server.server.composition.services import open_services
from learning_memory_server.journal.journal import Journal
from learning_memory_server.server.operations.erasing import redact_stored
from learning_memory_server.server.settings import Settings

storage, moment, records = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

class Disk:
    append, remove = staticmethod(files.append), staticmethod(files.remove)

    def replace(self, path, data):
        if path.name == moment:
            die()
        files.replace(path, data)

def report(doing, done=0, total=0):
    if (doing, done > 0) == (moment, True):
        die()

class Writer:
    async def renew(self, progress):
        die()

async def main():
    settings = Settings(storage_path=storage, embedding_backend="hashing")
    async with open_services(settings, purpose="a test") as services:
        dying = copy(services)
        dying.journal = Journal(storage / "journal", disk=Disk())
        if moment == "renewal":
            dying.writer = Writer()
        await redact_stored(dying, report, records=records)

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["entries", "values.jsonl", "renewal", "Reindexing"])
async def test_a_process_killed_at_any_moment_loses_nothing_and_the_next_one_completes_its_work(
    tmp_path: Path, moment: str
) -> None:
    ids = await sow(tmp_path)
    if moment == "entries":
        moment = next((tmp_path / "journal" / "entries").iterdir()).name
    records = [[kind, ids[name]] for name, kind in RECORDS.items()]
    command = [sys.executable, "-c", DIE, str(tmp_path), moment, json.dumps(records)]
    done = await asyncio.to_thread(subprocess.run, command, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    async with opened(tmp_path) as services:
        assert services.journal.damage() == []
        assert len(services.collector.list_resolved()) == 5
        assert len(services.memory_log.all()) == 2
        await services.writer.complete()
        assert await services.writer.find_pending() == 0
        if moment in {"renewal", "Reindexing"}:
            # The index was completed without being asked.
            assert services.outdated.ids() == frozenset()
            await services.index.close()
            assert traces(tmp_path) == []
        else:
            assert (await redact(services, ids))["indexed"]
    assert traces(tmp_path, TOKEN, PASSWORD) == []
