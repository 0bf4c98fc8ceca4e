"""A hostile or damaged archive is refused before any of it is used."""

import re
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.errors import InvalidInputError, JournalUnavailableError
from learning_memory_server.journal.archive.contents import checked_record, contents_of
from learning_memory_server.journal.archive.reading import is_archive, open_archive
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.model.vocabulary import Axis
from tests.journal.archive.making import (
    archived,
    compressed,
    forged,
    members_of,
    memory_record,
    read_back,
    sealed,
    value_record,
)
from tests.support import NOON, in_format, numbered

NAME = "journal/values.jsonl"


def member(name: str, **changes: Any) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    for key, value in changes.items():
        setattr(info, key, value)
    return info


def refusal(path: Path) -> str:
    with pytest.raises(InvalidInputError) as refused, open_archive(path):
        pass
    return refused.value.message


@pytest.mark.parametrize(
    "name",
    [
        "../evil.jsonl",
        "/etc/evil.jsonl",
        "journal/../evil.jsonl",
        "journal/open/../x.json",
        "journal/.lock",
        "journal/a/b/c.jsonl",
        "journal/..\\evil.jsonl",
        "elsewhere/a.jsonl",
        "journal/open/x.sh",
        "journal/new\nline.jsonl",
    ],
)
def test_a_name_that_is_not_a_journal_file_s_is_refused(tmp_path: Path, name: str) -> None:
    assert "is not the name of a journal file" in refusal(forged(tmp_path / "a.tar", sealed({name: b""})))
    said = {"sha256": "", "bytes": 0, "lines": 0, "records": {}, "tombstones": 0}
    only_said = forged(tmp_path / "b.tar", sealed({}, files={name: said}))
    assert "is not the name of a journal file" in refusal(only_said)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_only_plain_files_are_accepted(tmp_path: Path, kind: bytes) -> None:
    odd = member(NAME, type=kind, linkname="/etc/passwd")
    assert "is not a plain file" in refusal(forged(tmp_path / "a.tar", [*sealed({}), (odd, b"")]))


def test_a_name_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    members = sealed({NAME: b""})
    assert "occurs twice" in refusal(forged(tmp_path / "a.tar", [*members, (NAME, b"other")]))


@pytest.mark.parametrize("size", [3 * 1024**3, 7 * 1024**3])
def test_a_member_that_claims_a_huge_size_is_refused(tmp_path: Path, size: int) -> None:
    path = forged(tmp_path / "a.tar", sealed({NAME: b""})[:1])
    with path.open("r+b") as file:
        file.seek(-10240, 2)
        head = path.read_bytes().rstrip(b"\0")
        blocks = -(-len(head) // 512)
        file.seek(blocks * 512)
        file.write(member(NAME, size=size).tobuf())
    assert "is too large" in refusal(path)
    assert "is too large" in refusal(compressed(path))


def test_a_header_that_claims_a_huge_size_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(member("x", type=tarfile.XHDTYPE, size=1024**3).tobuf() + bytes(10240))
    assert "claims an enormous size" in refusal(path)


def test_members_and_manifest_must_agree(tmp_path: Path) -> None:
    whole = sealed({NAME: b"x\n"})
    assert "disagree about" in refusal(forged(tmp_path / "a.tar", whole[:1]))
    assert "disagree about" in refusal(forged(tmp_path / "b.tar", [*whole, ("journal/more.jsonl", b"")]))
    assert "checksum of journal/values.jsonl" in refusal(forged(tmp_path / "c.tar", [*whole[:1], (NAME, b"y\n")]))
    edited = whole[0][1].replace(b'"project": null', b'"project": "acme"')
    assert edited != whole[0][1]
    assert "checksum of manifest.json" in refusal(forged(tmp_path / "d.tar", [("manifest.json", edited), *whole[1:]]))
    assert "has no manifest.json" in refusal(forged(tmp_path / "e.tar", whole[1:]))


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz"])
def test_a_truncated_archive_is_refused_and_a_changed_byte_is_refused_or_changes_no_entry(
    journal: Journal, tmp_path: Path, name: str
) -> None:
    path = archived(journal, tmp_path / name)
    entries = read_back(path).entries
    whole = path.read_bytes()
    end = len(whole) if name.endswith("gz") else len(whole.rstrip(b"\0"))
    for length in range(1, end, max(1, end // 60)):
        path.write_bytes(whole[:length])
        refusal(path)
    content = whole.index(b'"id"') if name == "a.tar" else 30
    for place in range(content, end - 8, max(1, end // 60)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            contents = read_back(path)
        except InvalidInputError:
            continue
        # The byte was in a header, in a part that is not used, such as a time.
        assert contents.entries == entries


@pytest.mark.slow
def test_a_changed_byte_of_a_manifest_is_refused_or_changes_nothing(journal: Journal, tmp_path: Path) -> None:
    path = archived(journal, tmp_path / "a.tar")
    with open_archive(path) as archive:
        said = archive.manifest
    whole = path.read_bytes()
    start = whole.index(b"{")
    for place in range(start, whole.index(b"\n}\n", start)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            with open_archive(path) as archive:
                # Only white space has changed.
                assert archive.manifest == said
        except InvalidInputError:
            continue


def test_an_archive_with_a_line_of_another_format_is_refused_whole(tmp_path: Path) -> None:
    line = value_record(1).to_line()
    files = {"journal/values.jsonl": line + in_format(value_record(2).to_line(), 1)}
    with (
        open_archive(forged(tmp_path / "a.tar", sealed(files))) as archive,
        pytest.raises(JournalUnavailableError, match="format 1; this program reads format 4"),
    ):
        contents_of(archive)


@pytest.mark.parametrize("changes", [{"format": 2}, {"journal_format": 5}])
def test_a_newer_archive_is_refused_with_a_sentence(tmp_path: Path, changes: dict[str, int]) -> None:
    with (
        pytest.raises(InvalidInputError, match=r"format (\d); this program reads up to (\d)") as refused,
        open_archive(forged(tmp_path / "a.tar", sealed({}, **changes))),
    ):
        pass
    newer, known = (int(number) for number in re.findall(r"\d", refused.value.message))
    assert (newer, known) == (next(iter(changes.values())), newer - 1)
    assert refused.value.hint == "Update learning-memory-server; nothing was changed."


@pytest.mark.parametrize(
    "changes", [{"format": "x"}, {"files": []}, {"created_at": 3}, {"files": {NAME: {"bytes": -1}}}]
)
def test_a_malformed_manifest_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert "manifest.json cannot be read" in refusal(forged(tmp_path / "a.tar", sealed({}, **changes)))


def test_a_newer_line_is_refused_even_if_the_manifest_does_not_announce_it(tmp_path: Path) -> None:
    path = forged(tmp_path / "a.tar", sealed({NAME: b'{"data":{},"v":5}\n'}))
    with open_archive(path) as archive, pytest.raises(JournalUnavailableError, match="format 5"):
        contents_of(archive)


def test_undamaged_but_invalid_lines_are_rejected_one_by_one(tmp_path: Path) -> None:
    entry = GHAP.encode(numbered(1))
    bad = [
        JournalRecord("ghap", numbered(1).id, NOON, {**entry, "goal": "x" * 1001}),
        JournalRecord("ghap", "other", NOON, entry),
        value_record(1, text=""),
        value_record(2, evidence={}),
        replace(value_record(3), id="../x"),
        value_record(4, supersedes=value_record(4).id),
        JournalRecord("clusters", Axis.FULL, NOON, {"next_number": -1, "moved": {}}),
        JournalRecord("clusters", Axis.FULL, NOON, {"next_number": 3, "moved": {"nope": 7}}),
        JournalRecord("clusters", Axis.FULL, NOON, {"next_number": 7, "moved": {"nope": 7}}),
        memory_record(1, source=5),
        memory_record(2, tags=[1, {"a": 2}, None]),
        JournalRecord("clusters", "sideways", NOON, {"next_number": 1, "moved": {}}),
        JournalRecord.tombstone("ghap", "../../x", NOON),
    ]
    lines = b"".join(record.to_line() for record in bad) + b"{}\n"
    files = {NAME: lines, "journal/open/ghap_x.json": b'{"id":"ghap_x","v":4}'}
    contents = read_back(forged(tmp_path / "a.tar", sealed(files)))
    assert len(contents.rejections) == len(bad) + 2
    taken = (contents.entries, contents.records, contents.clusters, contents.open, contents.forgotten)
    assert not any(taken)


def test_a_rejection_names_the_field() -> None:
    moved = {"nope": 7, "loose": None}
    reasons = {
        "next_number: 3 is not above 7": JournalRecord("clusters", Axis.FULL, NOON, {"next_number": 3, "moved": moved}),
        "next_number, moved: must be whole numbers from 0 to 100,000,000": JournalRecord(
            "clusters", Axis.FULL, NOON, {"next_number": 10**100, "moved": {}}
        ),
        "supersedes: a value cannot": value_record(1, supersedes=value_record(1).id),
        "metadata.source: must be text, not int": memory_record(1, source=5),
        r"metadata.tags\[1\]: must be text, not dict": memory_record(1, tags=["a", {"a": 2}]),
        "metadata: its numbers must be finite": memory_record(1, x=float("nan")),
    }
    for reason, record in reasons.items():
        with pytest.raises(InvalidInputError, match=reason):
            checked_record(record)


def test_cluster_numbers_are_accepted_if_the_next_is_above_them() -> None:
    data = {"next_number": 8, "moved": {"there": 7, "loose": None}}
    assert checked_record(JournalRecord("clusters", Axis.FULL, NOON, data)).data == data


def test_a_memory_record_loses_its_empty_parts() -> None:
    data = checked_record(memory_record(1, source=None, tags=None, title="T")).data
    assert data["metadata"] == {"title": "T"}


def test_a_value_record_loses_its_request() -> None:
    assert "request" not in checked_record(value_record(1, request="front:3")).data


def test_an_archive_is_recognized_by_its_content(tmp_path: Path, journal: Journal) -> None:
    lines = journal.path / "entries" / "2026-03.jsonl"
    assert not is_archive(lines)
    assert is_archive(compressed(lines))
    assert "cannot be read" in refusal(compressed(lines))
    assert "journal/entries/2026-03.jsonl" in members_of(archived(journal, tmp_path / "b.tar"))
