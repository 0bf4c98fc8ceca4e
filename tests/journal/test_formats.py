"""What is in another format is refused whole, and nothing is changed."""

import json
from pathlib import Path

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal.archive.writing import take_snapshot
from learning_memory_server.journal.codec import JournalRecord, digest
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.journal.log import Log
from learning_memory_server.version import JOURNAL_FORMAT
from tests.support import CONFIRMED, NOON, TickingClock, ghap, in_format, numbered

OLD = JournalRecord("ghap", numbered(1).id, NOON, GHAP.encode(numbered(1)))
REFUSED = "entries of format {}; this program reads format 4"


def tree(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*.*")}


def test_this_program_writes_the_fourth_format() -> None:
    assert json.loads(OLD.to_line())["v"] == JOURNAL_FORMAT == 4


@pytest.mark.parametrize("version", [3, 5])
@pytest.mark.parametrize("name", ["values.jsonl", "evidence.jsonl", "entries/2026-01.jsonl"])
def test_a_journal_with_a_line_of_another_format_is_refused_whole(tmp_path: Path, name: str, version: int) -> None:
    journal = Journal(tmp_path)
    journal.entries.append([OLD])
    with (tmp_path / name).open("ab") as file:
        file.write(in_format(OLD.to_line(), version))
    with (tmp_path / "verdicts.jsonl").open("ab") as file:
        file.write(b'{"torn')
    before = tree(tmp_path)

    for use in (lambda: journal.recover(NOON), lambda: take_snapshot(tmp_path)):
        with pytest.raises(JournalUnavailableError, match=REFUSED.format(version)) as refused:
            use()
        assert str(refused.value.hint).endswith("nothing was changed.")
    assert tree(tmp_path) == before


@pytest.mark.parametrize("version", [3, 5])
def test_a_line_of_another_format_is_not_passed_over(tmp_path: Path, version: int) -> None:
    (tmp_path / "entries").mkdir()
    (tmp_path / "entries" / "2026-03.jsonl").write_bytes(OLD.to_line() + in_format(OLD.to_line(), version))
    log = Log(tmp_path, GHAP)

    for use in (log.read, log.purge, lambda: log.mentioned([OLD.id])):
        with pytest.raises(JournalUnavailableError, match=REFUSED.format(version)):
            use()


@pytest.mark.parametrize("version", [0, -1, "1", 1.0, True, None])
def test_a_line_with_an_invalid_version_is_damaged(tmp_path: Path, version: object) -> None:
    line = json.loads(OLD.to_line())
    for separators in ((",", ":"), (", ", ": ")):
        text = json.dumps({**line, "v": version}, separators=separators, sort_keys=True) + "\n"
        (tmp_path / "values.jsonl").write_text(text)
        journal = Journal(tmp_path)

        assert journal.recover(NOON) == []
        content = journal.values.read()
        assert content.records == []
        assert len(content.damage) == 1


def test_an_open_file_names_its_format(tmp_path: Path) -> None:
    Journal(tmp_path).save_open(ghap())
    path = tmp_path / "open" / f"{ghap().id}.json"
    content = json.loads(path.read_bytes())
    assert content.pop("sum") == digest(content)
    assert content == {"v": 4, **GHAP.encode(ghap())}


@pytest.mark.parametrize("version", [3, 5])
def test_an_open_file_of_another_format_is_refused_before_anything_is_changed(tmp_path: Path, version: int) -> None:
    entry = numbered(1)
    Journal(tmp_path).save_open(ghap())
    other = {**GHAP.encode(ghap(id="ghap_other")), "v": version}
    (tmp_path / "open" / "ghap_other.json").write_text(json.dumps(other))
    log = Journal(tmp_path).entries
    log.append([JournalRecord("ghap", entry.id, NOON, GHAP.encode(entry))])
    log.append([JournalRecord("ghap", ghap().id, NOON, GHAP.encode(ghap(resolution=CONFIRMED)))])
    (segment,) = log.segments()
    segment.write_bytes(segment.read_bytes() + b'{"torn')
    before = tree(tmp_path)
    journal = Journal(tmp_path)

    for use in (
        lambda: journal.recover(NOON),
        journal.open_entries,
        lambda: journal.read_open(tmp_path / "open" / "ghap_other.json"),
        ObservationCollector(journal, TickingClock()).load,
    ):
        with pytest.raises(JournalUnavailableError, match=REFUSED.format(version)):
            use()
    assert tree(tmp_path) == before


@pytest.mark.parametrize("version", ["x", 0, -3, True, None])
def test_an_open_file_with_an_invalid_version_is_damaged(tmp_path: Path, version: object) -> None:
    journal = Journal(tmp_path)
    journal.save_open(ghap())
    path = tmp_path / "open" / f"{ghap().id}.json"
    path.write_text(json.dumps({**GHAP.encode(ghap()), "v": version}))
    with pytest.raises(JournalUnavailableError, match="it has no version"):
        journal.read_open(path)
    assert journal.open_entries() == []


def test_a_program_without_tombstones_refuses_them_and_brings_nothing_back() -> None:
    line = JournalRecord.tombstone("ghap", numbered(1).id, NOON).to_line()

    # To such a program, every line is an entry.
    with pytest.raises(JournalUnavailableError, match="this program does not understand it"):
        JournalRecord.from_line(line).decoded(GHAP.decode)
