"""Secrets in archives: found without changing a byte, and replaced without changing anything else."""

from pathlib import Path

import pytest

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.archive.reading import Manifest, open_archive
from learning_memory_server.journal.archive.rewriting import redact_archive
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.journal.scanning import Scanner
from learning_memory_server.redaction.redactor import build_redactor
from tests.journal.archive.making import archived, members_of, memory_record
from tests.stored_secrets import MARK, TOKEN
from tests.support import ALICE, NOON, ghap, numbered


@pytest.fixture
def filled(journal: Journal) -> Journal:
    """Secrets in a resolved entry, an open one and a damaged line; and a memory without any."""
    entry = numbered(1, goal=f"use {TOKEN}")
    journal.entries.append([JournalRecord("ghap", entry.id, NOON, GHAP.encode(entry))])
    (segment,) = journal.entries.segments()
    segment.write_bytes(f"not a line, {TOKEN}\n".encode() + segment.read_bytes())
    journal.save_open(ghap(goal=f"replace {TOKEN}"))
    journal.memories.append([memory_record(1)])
    return journal


def scanner() -> Scanner:
    return Scanner(build_redactor())


def manifest_of(path: Path) -> Manifest:
    with open_archive(path) as archive:
        return archive.manifest


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz"])
def test_an_archive_is_rewritten_without_its_secrets_and_with_all_else(
    filled: Journal, tmp_path: Path, name: str
) -> None:
    path = archived(filled, tmp_path / name)
    before, manifest, content = members_of(path), manifest_of(path), path.read_bytes()

    findings = redact_archive(path, scanner(), dry_run=True)

    assert {(finding.what, finding.id, finding.field) for finding in findings} == {
        ("entry", numbered(1).id, "goal"),
        ("open entry", ghap().id, "goal"),
        ("unreadable", "damaged/entries/2026-03.jsonl:1", ""),
    }
    assert path.read_bytes() == content
    assert redact_archive(path, scanner()) == findings
    after = members_of(path)
    assert after.keys() == before.keys()
    assert not any(TOKEN.encode() in text for text in after.values())
    assert sum(text.count(MARK.encode()) for text in after.values()) == 3
    (memories,) = (each for each in after if each.startswith("journal/memories/"))
    assert after[memories] == before[memories]
    now = manifest_of(path)
    assert (now.created_at, now.project, now.damaged_lines) == (manifest.created_at, None, 1)
    assert {each: about.records for each, about in now.files.items()} == {
        each: about.records for each, about in manifest.files.items()
    }
    assert redact_archive(path, scanner(), dry_run=True) == []


def test_the_archive_of_a_project_stays_one(journal: Journal, tmp_path: Path) -> None:
    entry = numbered(1, goal=f"use {TOKEN}")
    journal.entries.append([JournalRecord("ghap", entry.id, NOON, GHAP.encode(entry))])
    path = archived(journal, tmp_path / "a.tar.gz", project=ALICE.project)

    assert redact_archive(path, scanner())
    assert manifest_of(path).project == ALICE.project


def test_an_archive_without_secrets_is_not_written(journal: Journal, tmp_path: Path) -> None:
    journal.memories.append([memory_record(1)])
    path = archived(journal, tmp_path / "a.tar.gz")
    before = path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino

    assert redact_archive(path, scanner()) == []
    assert (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino) == before


def test_an_archive_that_cannot_be_read_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    path.write_bytes(b"\x1f\x8b" + TOKEN.encode())

    with pytest.raises(InvalidInputError):
        redact_archive(path, scanner())
    assert path.read_bytes() == b"\x1f\x8b" + TOKEN.encode()
