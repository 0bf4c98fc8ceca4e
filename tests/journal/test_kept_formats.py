"""What was stored in a format is read for ever, and a format is written in one way.

`tests/data/formats` has a sample of each format that there was, with the format's number in its name. A sample is never
rewritten. To store those of a new format, run `python -m tests.journal.test_kept_formats`.
"""

import hashlib
import json
import shutil
import tarfile
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.advice.log import AdviceLog
from learning_memory_server.index.engines.server_log import ServerLog
from learning_memory_server.journal.archive.contents import contents_of
from learning_memory_server.journal.archive.reading import ARCHIVE_VERSION, MANIFEST, open_archive
from learning_memory_server.journal.archive.writing import take_snapshot, write_archive
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import ADVICE, FAILURE, GHAP, MEMORY, VALUE, VERDICT
from learning_memory_server.journal.records import FailureLog, Records
from learning_memory_server.model.advice import Advice, AdviceKind, Citation, Effect, Item, Reason, TriggerKind
from learning_memory_server.model.entry import Ghap, Lesson, Resolution, Revision, RootCause
from learning_memory_server.model.failure import Failure, failure_id
from learning_memory_server.model.memory import Chunking, Memory, Refusal
from learning_memory_server.model.server import KnownServer
from learning_memory_server.model.value import ClusterId, Evidence, Value, Verdict
from learning_memory_server.model.vocabulary import Axis, Domain, OutcomeStatus, RootCauseCategory, Stance, Strategy
from learning_memory_server.sharing import files
from learning_memory_server.version import JOURNAL_FORMAT
from tests.support import NOON

SAMPLES = Path(__file__).parents[1] / "data" / "formats"
KEPT = {
    "journal-4": "f003272c7a11eb8a395337269b02f7fb5a27dc6a355e158535436733fc17dcba",
    "archive-1-journal-4.tar": "f2cd9f307960faf231e93288fb1b35f7354742235f7c11d7b5444da0ee466cea",
    "shared-1": "d08751431d7af7630c4e1a5f5659e3c30efad9bf4e7dcb41c331bc522a6f4c84",
}
"""The digest of each sample there is. A line is added with a new format, and none is ever changed."""
SHARED_FORMAT = 1
NO_LONGER_WRITTEN = "trials.jsonl"
PROJECT, SESSION = "acme/shop", "0123456789abcdef"

OPEN = Ghap(
    id="ghap_20260301_120000_000001",
    project=PROJECT,
    agent_session=SESSION,
    created_at=NOON,
    domain=Domain.DEBUGGING,
    strategy=Strategy.READ_THE_ERROR,
    goal="Stop the checkout from timing out",
    hypothesis="The pool runs dry at noon: café 接続",
    action="Raise its size",
    prediction="Nobody waits",
    history=(Revision(NOON + timedelta(minutes=5), "The pool runs dry", "Watch it", "It is full", 0.8),),
    confidence=0.6,
    first_confidence=0.9,
    notes=("The log shows nothing.",),
)
ENTRY = replace(
    OPEN,
    id="ghap_20260301_120000_000002",
    resolution=Resolution(
        OutcomeStatus.FALSIFIED,
        "Requests waited as before.",
        NOON + timedelta(hours=1),
        surprise="The pool was never full.",
        root_cause=RootCause(RootCauseCategory.MISLEADING_SYMPTOM, "The load balancer queued them."),
        lesson=Lesson("Measuring at every hop", "Look in front of the service first"),
        cited=(Citation("ghap_20260301_110000_000000", AdviceKind.EXPERIENCE, Effect.HELPED),),
    ),
)
VALUE_KEPT = Value(
    "value_20260301_120000_000001",
    "Look in front of the service first",
    ClusterId(Axis.FULL, 3),
    PROJECT,
    NOON,
    Evidence((ENTRY.id,), (0.6, 0.8), 0.9, 0.1, 0.2, "abc"),
)
VERDICT_KEPT = Verdict(VALUE_KEPT.id, ENTRY.id, Stance.SUPPORTS, PROJECT, NOON)
WITHHELD = {"withheld": True, "probability": 0.25}  # As an earlier version wrote it
SHOWN = Item(ENTRY.id, AdviceKind.EXPERIENCE, 0.5, Reason.SIMILAR, Effect.HELPED)
ADVICE_KEPT = Advice(TriggerKind.ENTRY_START, (SHOWN,), PROJECT, NOON, OPEN.id, 1, others=WITHHELD)
WORDS = (PROJECT, SESSION, "KeyError: <name>", "python run.py")
OTHERS = {"support": 0.75, "named": ["run.py"]}  # What earlier versions wrote
FAILURE_KEPT = Failure(failure_id(*WORDS), *WORDS, NOON, "python3 run.py", times=2, others=OTHERS)
MEMORY_KEPT = Memory(
    "00000000-0000-4000-8000-000000000001",
    "The builds are slow on Mondays.",
    {"source": "ci", "tags": ["builds"]},
    NOON,
    PROJECT,
    NOON,
    chunking=Chunking("1 abc", ((0, 31),)),
)
REFUSED = Refusal(
    "Bash", "git push", "pull rebase first", NOON, when="before every push", sessions=(SESSION,), let_pass=1
)
PREFERENCE_KEPT = Memory(
    "00000000-0000-4000-8000-000000000003",
    'On 1 Mar 2026 the user refused `git push`: "pull rebase first" (when: before every push)',
    {"source": "refusal"},
    NOON,
    PROJECT,
    NOON,
    chunking=Chunking("1 abc", ((0, 90),)),
    refusal=REFUSED,
)
PREFERENCE_WRITTEN = (
    rb'{"at":"2026-03-01T12:00:00+00:00","data":{"created_at":"2026-03-01T12:00:00+00:00","cuts":{"by":"1 abc","spans":'
    rb'[[0,90]]},"date":"2026-03-01T12:00:00+00:00","id":"00000000-0000-4000-8000-000000000003","metadata":{"source":'
    rb'"refusal"},"project":"acme/shop","refusal":{"at":"2026-03-01T12:00:00+00:00","call":"git push","let_pass":1,'
    rb'"sessions":["0123456789abcdef"],"tool":"Bash","when":"before every push","words":"pull rebase first"},"text":'
    rb'"On 1 Mar 2026 the user refused `git push`: \"pull rebase first\" (when: before every push)"},"id":'
    rb'"00000000-0000-4000-8000-000000000003","kind":"memory","sum":'
    rb'"61d5ba71e1020761181a34262b38d72a64c3dc23afc01f8f6a240d9557a37400","v":4}'
    b"\n"
)
"""A line that earlier versions wrote of a call that the user refused."""
LINEAGE = JournalRecord("clusters", "full", NOON, {"next_number": 4, "moved": {ENTRY.id: 3}})
SERVER = KnownServer(("https://qdrant.example.org:6333",), "00000000-0000-4000-8000-000000000002")
GONE = "ghap_20260301_120000_000003"
LESSON = files.of_entry(ENTRY)
SHARED = (
    *(LESSON, files.of_value(VALUE_KEPT), files.verdict(files.FileKind.WITHDRAWS, LESSON)),
    *(files.verdict(kind, LESSON, ENTRY) for kind in (files.FileKind.CONFIRMS, files.FileKind.CONTRADICTS)),
)

CHANGED = (
    "{} is not written as its stored sample has it. People have data in that format: raise its number and keep what "
    "reads the sample, as docs/reference/versions.md says; then store a sample of the new format with "
    "`python -m tests.journal.test_kept_formats`, and name it in KEPT."
)


def written(folder: Path) -> dict[str, Path]:
    """Write everything with this program, and return where the samples of its formats are."""
    names = (
        f"journal-{JOURNAL_FORMAT}",
        f"archive-{ARCHIVE_VERSION}-journal-{JOURNAL_FORMAT}.tar",
        f"shared-{SHARED_FORMAT}",
    )
    places = {name: folder / name for name in names}
    kept, archive, shared = places.values()
    journal = Journal(kept)
    journal.save_open(OPEN)
    Records[Any](journal.entries).add(ENTRY)
    journal.entries.append([JournalRecord.tombstone(GHAP.kind, GONE, NOON)])
    Records[Any](journal.values).add(VALUE_KEPT)
    Records[Any](journal.verdicts).add(VERDICT_KEPT)
    Records[Any](journal.advice).add(ADVICE_KEPT)
    Records[Any](journal.failures).add(FAILURE_KEPT)
    Records[Any](journal.memories).add(MEMORY_KEPT)
    journal.clusters.append([LINEAGE])
    ServerLog(journal.servers).use(",".join(SERVER.urls), SERVER.owner, NOON)
    write_archive(archive, take_snapshot(kept), NOON)
    shared.mkdir()
    for file in SHARED:
        (shared / file.name).write_bytes(file.render().encode())
    return places


def content_of(sample: Path) -> dict[str, str]:
    """Return the files of a sample: of a folder or of an archive, whose manifest names the program that wrote it."""
    if sample.is_dir():
        found = {path.relative_to(sample).as_posix(): path.read_text("utf-8") for path in sample.rglob("*.*")}
        return dict(sorted(found.items()))
    with tarfile.open(sample) as tar:
        members = {name: file.read().decode() for name in tar.getnames() if (file := tar.extractfile(name))}
    manifest = json.loads(members[MANIFEST])
    return {**members, MANIFEST: json.dumps({**manifest, "program": "any", "sum": "any"})}


def digest_of(sample: Path) -> str:
    return hashlib.sha256(json.dumps(content_of(sample)).encode()).hexdigest()


def samples(kind: str) -> list[str]:
    return [name for name in KEPT if name.startswith(kind)]


def test_what_this_program_writes_is_what_it_has_always_written_in_these_formats(tmp_path: Path) -> None:
    for name, place in written(tmp_path).items():
        assert name in KEPT, f"{name} has no stored sample: run `python -m tests.journal.test_kept_formats`."
        sample = content_of(SAMPLES / name)
        sample.pop(NO_LONGER_WRITTEN, None)
        assert content_of(place) == sample, CHANGED.format(name)


def test_no_sample_was_rewritten() -> None:
    assert {path.name: digest_of(path) for path in SAMPLES.iterdir()} == KEPT


@pytest.mark.parametrize("name", samples("journal"))
def test_a_journal_of_each_format_is_read_to_the_same_records(tmp_path: Path, name: str) -> None:
    shutil.copytree(SAMPLES / name, tmp_path / name)
    journal = Journal(tmp_path / name)

    assert journal.recover(NOON) == []
    assert journal.damage() == []
    assert journal.open_entries() == [OPEN]
    entries = Records[Any](journal.entries)
    assert entries.all() == [ENTRY]
    assert entries.forgotten_ids() == {GONE}
    assert Records[Any](journal.values).all() == [VALUE_KEPT]
    assert Records[Any](journal.verdicts).all() == [VERDICT_KEPT]
    assert Records[Any](journal.advice).all() == [ADVICE_KEPT]
    assert list(AdviceLog(journal.advice, FailureLog(journal.failures)).everything()) == []
    assert journal.retired_files() == {journal.path / NO_LONGER_WRITTEN: 1}
    assert Records[Any](journal.failures).all() == [FAILURE_KEPT]
    assert Records[Any](journal.memories).all() == [MEMORY_KEPT]
    assert journal.clusters.read().records == [LINEAGE]
    assert ServerLog(journal.servers).known() == [SERVER]


def test_a_memory_of_a_refused_call_is_read_and_written_as_before(tmp_path: Path) -> None:
    log = Journal(tmp_path).memories
    path = tmp_path / "memories" / "2026-03.jsonl"
    path.parent.mkdir()
    path.write_bytes(PREFERENCE_WRITTEN)
    assert Records[Any](log).all() == [PREFERENCE_KEPT]
    path.unlink()
    Records[Any](Journal(tmp_path).memories).add(PREFERENCE_KEPT)
    assert path.read_bytes() == PREFERENCE_WRITTEN


@pytest.mark.parametrize("name", samples("archive"))
def test_an_archive_of_each_format_is_read_to_the_same_records(name: str) -> None:
    with open_archive(SAMPLES / name) as archive:
        found = contents_of(archive)

    assert found.rejections == []
    assert found.entries == {ENTRY.id: ENTRY}
    assert found.open == {OPEN.id: replace(OPEN, orphaned=True)}
    assert found.clusters == [LINEAGE]
    assert ("ghap", GONE) in found.forgotten
    things = {record.kind: record.data for record in found.records.values()}
    assert VALUE.decode(things["value"]) == VALUE_KEPT
    assert VERDICT.decode(things["verdict"]) == VERDICT_KEPT
    assert ADVICE.decode(things["advice"]) == ADVICE_KEPT
    assert FAILURE.decode(things["failure"]) == FAILURE_KEPT
    assert MEMORY.decode(things["memory"]) == replace(MEMORY_KEPT, chunking=None)


@pytest.mark.parametrize("name", samples("shared"))
def test_shared_files_of_each_format_are_read_to_the_same_lessons(name: str) -> None:
    read = [files.parse(path.name, path.read_bytes()) for path in (SAMPLES / name).iterdir()]
    assert len(read) == len(SHARED)
    assert all(file in read for file in SHARED)


def store_missing() -> None:
    """Store samples of the formats that have none."""
    with tempfile.TemporaryDirectory() as folder:
        for name, place in written(Path(folder)).items():
            if not (SAMPLES / name).exists():
                SAMPLES.mkdir(parents=True, exist_ok=True)
                shutil.move(place, SAMPLES / name)
                print(f'    "{name}": "{digest_of(SAMPLES / name)}",')  # noqa: T201


if __name__ == "__main__":
    store_missing()
