"""What the first program stored is converted by the last one that reads it, and opened by this one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.errors import InvalidInputError, JournalUnavailableError
from learning_memory_server.journal.archive.contents import contents_of
from learning_memory_server.journal.archive.reading import open_archive
from learning_memory_server.journal.codec import LAST_READER, VALUE
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import Records
from learning_memory_server.model.value import Evidence
from learning_memory_server.model.vocabulary import OutcomeStatus
from tests.history import commit_before_removal_of, commit_that_added, package_at
from tests.support import NOON, TickingClock

pytestmark = pytest.mark.slow

COLLECTOR = "learning_memory_server/observation/collector.py"
ARCHIVES = "learning_memory_server/archive/manifest.py"
VERSIONED = "learning_memory_server/version.py"
CONVERTING = "learning_memory_server/journal/archive/converting.py"

WRITE = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from learning_memory_server.domain.caller import Caller
from learning_memory_server.domain.ghap import Lesson
from learning_memory_server.domain.vocabulary import Domain, OutcomeStatus, Strategy
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.record import JournalRecord
from learning_memory_server.observation.collector import ObservationCollector

journal, caller = Journal(Path(sys.argv[1])), Caller("acme/shop", "a" * 16)
collector = ObservationCollector(journal, lambda: datetime.now(UTC))
parts = {
    "domain": Domain.DEBUGGING, "strategy": Strategy.READ_THE_ERROR, "goal": "stop the timeouts",
    "hypothesis": "the pool runs dry under load", "action": "raise its size", "prediction": "nobody waits",
}
collector.start(caller, **parts)
collector.update(caller, hypothesis="the pool runs dry at noon", note="caf\\u00e9 \\u2028 \\U0001f600")
collector.resolve(caller, status=OutcomeStatus.CONFIRMED, result="nobody waited", lesson=Lesson("counting", None))
collector.start(caller, **{**parts, "goal": "still open"})
evidence = {
    "member_ids": ["ghap_1"], "centroid": [0.6, 0.8], "similarity": 0.9, "centroid_distance": 0.1, "threshold": 0.2,
    "embedding": "abc", "radius": 0.3, "outcome": "confirmed",
}
value = {
    "id": "value_1", "text": "count first", "cluster_id": "full_0", "project": "acme/shop",
    "created_at": datetime.now(UTC).isoformat(), "evidence": evidence,
}
journal.values.append([JournalRecord("value", "value_1", datetime.now(UTC), value)])
"""


def run(package: Path, storage: Path, *arguments: object) -> None:
    done = subprocess.run(
        [sys.executable, "-B", *map(str, arguments)],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(storage),
            "PYTHONPATH": str(package),
            "LEARNING_MEMORY_STORAGE_PATH": str(storage),
            "LEARNING_MEMORY_EMBEDDING_BACKEND": "hashing",
        },
        cwd=package,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_the_first_programs_stored_reaches_the_present_format(tmp_path: Path) -> None:
    storage = tmp_path / "data"
    journal, archive, command = storage / "journal", storage / "shop.tar.gz", ("-m", "learning_memory_server")
    storage.mkdir(mode=0o700)
    run(package_at(commit_that_added(COLLECTOR), tmp_path / "first"), storage, "-c", WRITE, journal)
    run(package_at(commit_that_added(ARCHIVES), tmp_path / "archives"), storage, *command, "export", archive)
    written = {path: path.read_bytes() for path in [archive, *journal.rglob("*.json*")]}
    assert len(written) == 4

    with pytest.raises(JournalUnavailableError, match="entries of format 1; learning-memory-server 0"):
        Journal(journal).recover(NOON)
    with pytest.raises(InvalidInputError, match="SHA256SUMS"):
        open_archive(archive).__enter__()
    assert {path: path.read_bytes() for path in written} == written

    last = package_at(commit_before_removal_of(CONVERTING), tmp_path / "last")
    assert f'VERSION = "{LAST_READER.split()[-1]}"' in (last / VERSIONED).read_text("utf-8")
    run(last, storage, *command, "convert", journal, archive)

    opened = Journal(journal)
    assert opened.recover(NOON) == []
    assert opened.damage() == []
    (entry,) = ObservationCollector(opened, TickingClock()).list_resolved()
    (still_open,) = opened.open_entries()
    (value,) = Records(opened.values, VALUE).all()
    assert (entry.goal, entry.hypothesis) == ("stop the timeouts", "the pool runs dry at noon")
    assert [revision.hypothesis for revision in entry.history] == ["the pool runs dry under load"]
    assert entry.notes == ("caf\u00e9 \u2028 \U0001f600",)
    assert entry.outcome.status is OutcomeStatus.CONFIRMED
    assert still_open.goal == "still open"
    assert value.evidence == Evidence(("ghap_1",), (0.6, 0.8), 0.9, 0.1, 0.2, "abc")
    with open_archive(archive) as opened_archive:
        found = contents_of(opened_archive)
    assert not found.rejections
    assert found.entries == {entry.id: entry}
    assert set(found.open) == {still_open.id}
    assert set(found.records) == {("value", value.id)}
    kept = {path: next(path.parent.glob(f"{path.name}.earlier-*")).read_bytes() for path in written}
    assert kept == written
