"""A folder or a pipe in the place of a file is said, and keeps nothing else from going on."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from learning_memory_server.capture.entries.open_entries import LiveSessions
from learning_memory_server.errors import JournalUnavailableError, LockUnavailableError, StorageUnavailableError
from learning_memory_server.index.engines.owner import open_owner
from learning_memory_server.index.kept_files import OutdatedPoints
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.model.failure import Failure
from learning_memory_server.server.facts import FactFiles
from learning_memory_server.system import files
from learning_memory_server.system.locking import exclusive
from tests.support import NOON

FAILURE: Final = Failure("failure_0123456789abcdef_0123456789ab", "shop", "a1", "KeyError: <name>", "make", NOON)
OBSTACLES: Final[dict[str, Callable[[Path], None]]] = {"folder": Path.mkdir, "pipe": os.mkfifo}


@pytest.fixture(params=OBSTACLES)
def obstruct(request: pytest.FixtureRequest) -> Callable[[Path], Path]:
    def put(path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        OBSTACLES[request.param](path)
        return path

    return put


def test_a_log_that_is_no_file_is_damage_and_the_other_logs_are_read(
    tmp_path: Path, obstruct: Callable[[Path], Path]
) -> None:
    obstruct(tmp_path / "advice.jsonl")
    obstruct(tmp_path / "entries" / "2026-01.jsonl")
    journal = Journal(tmp_path)
    assert journal.recover(NOON) == []
    assert [(each.path.name, each.reason) for each in journal.damage()] == [
        (name, "a folder or something else stands where the file belongs") for name in ("2026-01.jsonl", "advice.jsonl")
    ]
    assert journal.count_damage() == 2
    assert list(journal.raw_lines()) == []
    assert journal.purge().removed == {}
    FailureLog(journal.failures).add(FAILURE, at=NOON)
    assert FailureLog(Journal(tmp_path).failures).find(FAILURE.id) == FAILURE


def test_what_would_be_written_there_is_refused(tmp_path: Path, obstruct: Callable[[Path], Path]) -> None:
    obstruct(tmp_path / "failures.jsonl")
    with pytest.raises(JournalUnavailableError, match=r"failures\.jsonl"):
        FailureLog(Journal(tmp_path).failures).add(FAILURE, at=NOON)


def test_other_files_of_the_data_folder_count_as_unreadable(tmp_path: Path, obstruct: Callable[[Path], Path]) -> None:
    sessions = LiveSessions(lambda: NOON, obstruct(tmp_path / "sessions.json"))
    with sessions.connected("a1", os.getpid()):
        assert sessions.is_live("a1")
    assert OutdatedPoints(obstruct(tmp_path / "outdated-points.json")).ids() == frozenset()
    facts = FactFiles(tmp_path / "claims")
    facts.learn("folder", "/work/shop", id="shop")
    (known,) = (tmp_path / "claims").iterdir()
    known.unlink()
    obstruct(known)
    assert not facts.of("folder", "/work/shop").is_whole
    with pytest.raises(StorageUnavailableError, match=r"not a regular file|Is a directory"):
        open_owner(obstruct(tmp_path / "qdrant-owner.json"))


def test_a_lock_that_is_no_file_is_refused_at_once(tmp_path: Path, obstruct: Callable[[Path], Path]) -> None:
    obstruct(tmp_path / ".lock")
    with pytest.raises(LockUnavailableError, match="could not be locked"), exclusive(tmp_path, "a test"):
        pass
    with pytest.raises(OSError, match=r"not a regular file|Is a directory"):
        files.content(tmp_path / ".lock")
