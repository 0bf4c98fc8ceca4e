"""Data of earlier programs is upgraded; data of newer ones is refused and left alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal.codec import GHAP
from learning_memory_server.journal.formats import CURRENT, Format
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.line import JournalRecord, digest
from learning_memory_server.journal.log import Log
from tests.support import CONFIRMED, NOON, TickingClock, ghap, numbered

if TYPE_CHECKING:
    from pathlib import Path


def name_the_aim(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    """Upgrade to a second format, which says `goal` where the first one said `aim`."""
    return {**{key: said for key, said in data.items() if key != "aim"}, "goal": data["aim"], "of": kind}


def shout(_: str, data: dict[str, Any]) -> dict[str, Any]:
    """Upgrade to a third format, in which goals are in capitals."""
    return {**data, "goal": data["goal"].upper()}


FIRST, SECOND, THIRD = Format(), Format((name_the_aim,)), Format((name_the_aim, shout))
OLD = JournalRecord("ghap", "one", NOON, {"aim": "rest"})


def tree(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*.*")}


def test_this_program_writes_the_fourth_format() -> None:
    assert CURRENT.version == 4
    assert SECOND.version == 2


def test_a_value_of_the_first_format_is_read_without_what_its_members_outcomes_said() -> None:
    said = {"centroid": [1.0], "radius": 0.3, "outcome": "confirmed"}
    line = JournalRecord("value", "one", NOON, {"text": "rest", "evidence": said}).to_line(Format())

    assert JournalRecord.from_line(line).data == {
        "text": "rest",
        "evidence": {"centroid": [1.0]},
        "earlier": True,
    }


@pytest.mark.parametrize(
    ("written", "data"),
    [
        (FIRST, {"aim": "rest"}),
        (SECOND, {"goal": "rest", "of": "ghap"}),
        (THIRD, {"goal": "REST", "of": "ghap"}),
    ],
)
def test_a_line_is_upgraded_from_the_version_it_was_written_in(written: Format, data: dict[str, Any]) -> None:
    line = JournalRecord("ghap", "one", NOON, data).to_line(written)

    assert JournalRecord.from_line(line, THIRD).data == {"goal": "REST", "of": "ghap"}


def test_one_log_may_have_lines_of_all_versions_and_none_is_rewritten(tmp_path: Path) -> None:
    Log(tmp_path / "log", form=FIRST).append([OLD])
    before = tree(tmp_path)["log.jsonl"]

    log = Log(tmp_path / "log", form=SECOND)
    assert log.recover(NOON) == []
    log.append([JournalRecord("ghap", "two", NOON, {"goal": "work"})])

    assert [record.data["goal"] for record in log.read().records] == ["rest", "work"]
    assert log.mentioned("ghap", ["one", "two"]) == {"one", "two"}
    assert tree(tmp_path)["log.jsonl"].startswith(before)


def test_an_older_program_refuses_a_newer_journal_and_changes_nothing(tmp_path: Path) -> None:
    for form in (FIRST, SECOND):
        Log(tmp_path / "log", form=form).append([OLD])
    with (tmp_path / "log.jsonl").open("ab") as file:
        file.write(b'{"torn')
    before = tree(tmp_path)
    log = Log(tmp_path / "log", form=FIRST)

    for use in (log.read, log.purge, lambda: log.recover(NOON)):
        with pytest.raises(JournalUnavailableError, match="format 2; this program reads up to 1"):
            use()
    assert tree(tmp_path) == before


@pytest.mark.parametrize("version", [0, -1, "1", 1.0, True, None])
def test_a_line_with_an_invalid_version_is_damaged(tmp_path: Path, version: object) -> None:
    log = Log(tmp_path / "log")
    log.append([OLD])
    line = json.loads((tmp_path / "log.jsonl").read_bytes())
    (tmp_path / "log.jsonl").write_text(json.dumps({**line, "v": version}) + "\n")

    content = log.read()

    assert content.records == []
    assert len(content.damage) == 1


def test_a_line_that_cannot_be_upgraded_is_not_passed_over_and_stays(tmp_path: Path) -> None:
    Log(tmp_path / "log", form=FIRST).append([JournalRecord("ghap", "one", NOON, {"purpose": "rest"})])
    before = tree(tmp_path)

    with pytest.raises(JournalUnavailableError, match="journal's line about one is undamaged"):
        Log(tmp_path / "log", form=SECOND).read()

    assert Log(tmp_path / "log", form=SECOND).recover(NOON) == []
    assert tree(tmp_path) == before


def test_a_tombstone_is_the_same_in_every_version(tmp_path: Path) -> None:
    Log(tmp_path / "log", form=FIRST).append([OLD, JournalRecord.tombstone("ghap", "one", NOON)])

    assert Log(tmp_path / "log", form=THIRD).read().forgotten == {("ghap", "one")}


def goal_from_title(_: str, data: dict[str, Any]) -> dict[str, Any]:
    """Upgrade from entries with a `title` to entries with a `goal`."""
    return {**data, "goal": data["title"]} if "title" in data else data


def test_an_open_file_names_its_version_and_is_upgraded(tmp_path: Path) -> None:
    newer = Format((*CURRENT.upgrades, goal_from_title))
    Journal(tmp_path).save_open(ghap())
    path = tmp_path / "open" / f"{ghap().id}.json"
    content = json.loads(path.read_bytes())
    assert content.pop("sum") == digest(content)
    assert content == {"v": 4, **GHAP.encode(ghap())}

    path.write_text(json.dumps({**content, "title": "as it was called once"}))

    (entry,) = Journal(tmp_path, form=newer).open_entries()
    assert entry == ghap(goal="as it was called once")
    Journal(tmp_path, form=newer).save_open(entry)
    assert json.loads(path.read_bytes())["v"] == 5


@pytest.mark.parametrize("version", [None, "x", 0, -3, True])
def test_an_open_file_without_a_version_is_of_the_first(tmp_path: Path, version: object) -> None:
    Journal(tmp_path).save_open(ghap())
    path = tmp_path / "open" / f"{ghap().id}.json"
    content = json.loads(path.read_bytes())
    # Programs that named no version wrote no checksum.
    del content["v"], content["sum"]
    path.write_text(json.dumps({**content, **({"v": version} if version is not None else {})}))

    assert Journal(tmp_path).open_entries() == [ghap()]


def test_a_newer_open_file_is_refused_before_anything_is_changed(tmp_path: Path) -> None:
    entry = numbered(1)
    Journal(tmp_path).save_open(ghap())
    newer = Format((*CURRENT.upgrades, goal_from_title))
    Journal(tmp_path, form=newer).save_open(ghap(id="ghap_newer"))
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
        ObservationCollector(journal, TickingClock()).load,
    ):
        with pytest.raises(JournalUnavailableError, match="format 5; this program reads up to 4"):
            use()
    assert tree(tmp_path) == before


def test_a_program_without_tombstones_refuses_them_and_brings_nothing_back() -> None:
    line = JournalRecord.tombstone("ghap", numbered(1).id, NOON).to_line()

    # To such a program, every line is an entry.
    with pytest.raises(JournalUnavailableError, match="this program does not understand it"):
        JournalRecord.from_line(line).decoded(GHAP.decode)
