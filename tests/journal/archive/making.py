"""Archives and parts of them, good and bad."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.archive.contents import Contents, contents_here, contents_of
from learning_memory_server.journal.archive.reading import open_archive
from learning_memory_server.journal.archive.writing import take_snapshot, write_archive
from learning_memory_server.journal.codec import JournalRecord, digest
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import ADVICE, FAILURE, MEMORY, VALUE, VERDICT
from learning_memory_server.model.advice import Advice, AdviceKind, Item, TriggerKind
from learning_memory_server.model.failure import Failure, failure_id
from learning_memory_server.model.memory import Memory
from learning_memory_server.model.value import ClusterId, Evidence, Value, Verdict
from learning_memory_server.model.vocabulary import Axis, Stance
from tests.support import ALICE, NOON, TickingClock


def value_record(number: int, **changes: Any) -> JournalRecord:
    value = Value(
        id=f"value_20260301_120000_{number:06x}",
        text="Look in front of the service first",
        cluster_id=ClusterId(Axis.FULL, 0),
        project=ALICE.project,
        created_at=NOON,
        evidence=Evidence(("ghap_1",), (0.6, 0.8), 0.9, 0.1, 0.2, "abc"),
    )
    return JournalRecord("value", value.id, NOON, {**VALUE.encode(value), **changes})


def verdict_record(value: int, about: str, **changes: Any) -> JournalRecord:
    verdict = Verdict(value_record(value).id, about, Stance.SUPPORTS, ALICE.project, NOON)
    return JournalRecord("verdict", verdict.id, NOON, {**VERDICT.encode(verdict), **changes})


def advice_record(entry: str, *shown: str, **changes: Any) -> JournalRecord:
    items = tuple(Item(name, AdviceKind.EXPERIENCE) for name in shown)
    advice = Advice(TriggerKind.ENTRY_START, items, ALICE.project, NOON, ghap_id=entry, revision=1)
    return JournalRecord("advice", advice.id, NOON, {**ADVICE.encode(advice), **changes})


def failure_record(session: str = "a1", project: str = ALICE.project, **changes: Any) -> JournalRecord:
    signature, command = "KeyError: <name>", "python run.py"
    name = failure_id(project, signature, session, command)
    failure = Failure(name, project, session, signature, command, NOON, worked="python3 run.py")
    return JournalRecord("failure", name, NOON, {**FAILURE.encode(failure), **changes})


def memory_record(number: int, **metadata: Any) -> JournalRecord:
    memory = Memory(
        id=f"memory-{number}",
        text="The builds are slow on Mondays.",
        metadata=metadata,
        date=NOON,
        project=ALICE.project,
        created_at=NOON,
    )
    return JournalRecord("memory", memory.id, NOON, MEMORY.encode(memory))


def archived(journal: Journal, path: Path, project: str | None = None) -> Path:
    write_archive(path, take_snapshot(journal.path, project), NOON, project=project)
    return path


def held(journal: Journal) -> Contents:
    collector = ObservationCollector(Journal(journal.path), TickingClock())
    return contents_here(journal, collector.list_resolved(), collector.forgotten_ids())


def read_back(path: Path) -> Contents:
    with open_archive(path) as archive:
        return contents_of(archive)


def members_of(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as tar:
        return {member.name: _content(tar, member) for member in tar}


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file
    return file.read()


def forged(path: Path, members: Iterable[tuple[tarfile.TarInfo | str, bytes]]) -> Path:
    """Write a tar of the given members."""
    with tarfile.open(path, "w") as tar:
        for about, data in members:
            info = tarfile.TarInfo(about) if isinstance(about, str) else about
            info.size = info.size or len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def sealed(content: dict[str, bytes], **changes: Any) -> list[tuple[tarfile.TarInfo | str, bytes]]:
    """Return the members of an archive with correct checksums, whatever its files contain."""
    said = {
        name: {
            "sha256": hashlib.sha256(data).hexdigest(),
            "bytes": len(data),
            "lines": data.count(b"\n"),
            "records": {},
            "tombstones": 0,
        }
        for name, data in content.items()
    }
    manifest = {
        "format": 1,
        "created_at": NOON.isoformat(),
        "program": "0",
        "journal_format": 1,
        "project": None,
        "files": said,
        **changes,
    }
    text = json.dumps({**manifest, "sum": digest(manifest)}).encode()
    return [("manifest.json", text), *content.items()]


def compressed(path: Path) -> Path:
    squeezed = path.with_suffix(".tar.gz")
    squeezed.write_bytes(gzip.compress(path.read_bytes()))
    return squeezed
