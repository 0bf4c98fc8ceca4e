"""An archive that would fill the memory is refused before it does, and none that a journal can become is."""

import gzip
import io
import tarfile
import tracemalloc
from pathlib import Path

import pytest

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.archive import reading
from learning_memory_server.journal.archive.contents import contents_of
from learning_memory_server.journal.archive.reading import Bounded, most_bytes, open_archive
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import MEMORY
from learning_memory_server.model.limits import MEMORY_MAX
from learning_memory_server.model.memory import Memory
from tests.journal.archive.making import archived, compressed, forged, read_back, sealed
from tests.support import NOON

NAME = "journal/values.jsonl"


def refusal(path: Path) -> str:
    with pytest.raises(InvalidInputError) as refused, open_archive(path) as archive:
        contents_of(archive)
    return refused.value.message


@pytest.mark.parametrize("content", [b"0" * 6_000_000, b"\n" * 6_000_000, b'{"a":[]}\n' * 600_000])
def test_a_bomb_of_a_few_kilobytes_is_refused_in_little_memory(tmp_path: Path, content: bytes) -> None:
    path = compressed(forged(tmp_path / "a.tar", sealed({NAME: content})))
    assert path.stat().st_size < 30_000
    tracemalloc.start()
    try:
        said = refusal(path)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "more than 100 times its compressed size" in said
    assert most < 3_000_000


def test_a_bomb_behind_the_end_of_the_tar_is_refused(tmp_path: Path) -> None:
    path = forged(tmp_path / "a.tar", sealed({NAME: b""}))
    path.write_bytes(path.read_bytes() + bytes(20_000_000))
    assert "more than 100 times its compressed size" in refusal(compressed(path))


def test_a_claim_is_refused_without_decompressing_what_it_claims(tmp_path: Path) -> None:
    header = tarfile.TarInfo(NAME)
    header.size = reading.LOG_FILE_MAX
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(header.tobuf() + bytes(5_000_000)))
    assert "more than 100 times its compressed size" in refusal(path)


@pytest.mark.slow
def test_too_many_members_are_refused(tmp_path: Path) -> None:
    path = forged(tmp_path / "a.tar", ((f"journal/{n}.jsonl", b"") for n in range(reading.MEMBERS_MAX + 1)))
    assert "exceeds the limits of an archive" in refusal(path)


@pytest.mark.parametrize("name", ["manifest.json", "journal/open/ghap_x.json"])
def test_a_file_that_is_read_at_once_is_small(tmp_path: Path, name: str) -> None:
    header = tarfile.TarInfo(name)
    header.size = 33 * 1024**2
    path = tmp_path / "a.tar"
    with path.open("wb") as file:
        file.write(header.tobuf())
        file.truncate(34 * 1024**2)
    assert "is too large" in refusal(path)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_long_and_endless_headers_are_refused(tmp_path: Path, kind: bytes) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = kind, 1024**2
    path = tmp_path / "a.tar"
    path.write_bytes(header.tobuf() + bytes(1024**2))
    assert "claims an enormous size" in refusal(path)
    header.size = 512
    path.write_bytes((header.tobuf() + b"12 path=abc\n".ljust(512, b"\0")) * 5_000)
    assert "cannot be read" in refusal(path)


@pytest.mark.slow
def test_a_line_that_no_journal_has_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = forged(tmp_path / "a.tar", sealed({NAME: b"{}\n" + b"0" * (reading.LINE_MAX + 1)}))
    tracemalloc.start()
    try:
        said = refusal(path)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert f"{NAME} has a line of more than {reading.LINE_MAX:,} bytes" in said
    assert most < 3_000_000


@pytest.mark.parametrize(
    ("content", "fits"), [(b"1234\n12345\n\n1234", True), (b"123456", False), (b"1\n123456\n", False)]
)
def test_lines_are_measured_across_the_pieces_that_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, fits: bool
) -> None:
    monkeypatch.setattr(reading, "_CHUNK", 3)
    monkeypatch.setattr(reading, "LINE_MAX", 5)
    path = forged(tmp_path / "a.tar", sealed({NAME: content}))
    if fits:
        with open_archive(path):
            return
    assert "has a line of more than 5 bytes" in refusal(path)


def test_an_archive_full_of_lines_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    path = forged(tmp_path / "a.tar", sealed({NAME: b"{}\n" * 10_001}))
    assert "more than 10,000 of its lines are not a journal's" in refusal(path)


@pytest.mark.slow
def test_the_longest_memory_fits_even_if_it_repeats_one_character(journal: Journal, tmp_path: Path) -> None:
    text = "\x01" * MEMORY_MAX
    memory = Memory(id="memory-1", text=f"a{text[:-2]}a", metadata={}, date=NOON, project="acme/shop", created_at=NOON)
    journal.memories.append([JournalRecord("memory", memory.id, NOON, MEMORY.encode(memory))])
    path = archived(journal, tmp_path / "a.tar.gz")
    assert read_back(path).records["memory", memory.id].data["text"] == memory.text


def test_a_small_archive_may_become_a_megabyte() -> None:
    assert most_bytes(1) == 1024**2
    assert most_bytes(1024**2) == 100 * 1024**2
    assert most_bytes(1024**4) == reading.TOTAL_MAX
    file = Bounded(io.BytesIO(bytes(100)), 50)
    assert file.read(50) == bytes(50)
    with pytest.raises(InvalidInputError):
        file.read(1)
    with pytest.raises(InvalidInputError):
        file.seek(51)
    with pytest.raises(InvalidInputError):
        file.read(reading.HEADER_MAX + 1)
