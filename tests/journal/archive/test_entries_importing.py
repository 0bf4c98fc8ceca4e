"""Importing entries: both formats, every mapping counted, every refusal with its reason."""

import json
from collections import Counter
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import pytest

from learning_memory_server.errors import InvalidInputError, JournalUnavailableError
from learning_memory_server.journal.archive.contents import entry_of_record, parse_open
from learning_memory_server.journal.archive.entries_importing import ParsedEntries, find_category, parse_entries
from learning_memory_server.journal.codec import JournalRecord, open_file_of
from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.model.caller import session_hash
from learning_memory_server.model.entry import Revision
from learning_memory_server.model.vocabulary import Domain, OutcomeStatus, RootCauseCategory, Strategy, Tier
from tests.support import full_ghap, in_format

NOW = datetime(2026, 2, 1, tzinfo=UTC)


def old(**changes: Any) -> dict[str, Any]:
    entry = {
        "id": "ghap_20260101_000000_abcdef",
        "session_id": "session_1",
        "created_at": "2026-01-01T10:00:00+02:00",
        "domain": "debugging",
        "strategy": "ask-user",
        "goal": "  make it work ",
        "hypothesis": "the cache serves what is stale",
        "action": "empty it",
        "prediction": "the page is new",
        "history": [{"timestamp": "2026-01-01T09:00:00Z", "hypothesis": "h", "action": "a", "prediction": "p"}],
        "iteration_count": 2,
        "notes": ["a note"],
        "outcome": {
            "status": "falsified",
            "result": "it was old still",
            "captured_at": "2026-01-01T12:00:00Z",
            "auto_captured": True,
        },
        "surprise": "the page came from elsewhere",
        "root_cause": {"category": "wrong-assumption", "description": "there were two caches"},
        "lesson": {"what_worked": "following one request", "takeaway": ""},
        "confidence_tier": "gold",
    }
    return {key: value for key, value in {**entry, **changes}.items() if value is not ...}


def parse(*lines: dict[str, Any] | bytes) -> ParsedEntries:
    raw = [line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines]
    return parse_entries(raw, project="garden")


def reason(*lines: dict[str, Any] | bytes) -> str:
    parsed = parse(*lines)
    assert not parsed.entries
    (rejection,) = parsed.rejections
    assert rejection.line_number == 1
    return rejection.reason


def own(**changes: Any) -> dict[str, Any]:
    (entry,) = parse(old()).entries.values()
    return {**GHAP.encode(entry), **changes}


def own_line(data: dict[str, Any], kind: str = "ghap") -> bytes:
    return JournalRecord(kind, data.get("id", "x"), NOW, data).to_line()


def test_a_predecessors_line_keeps_everything_it_says() -> None:
    parsed = parse(old())
    entry = parsed.entries["ghap_20260101_000000_abcdef"]
    assert entry.project == "garden"
    assert entry.agent_session == session_hash("session_1")
    assert entry.created_at == datetime(2026, 1, 1, 8, tzinfo=UTC)
    assert (entry.domain, entry.strategy) == (Domain.DEBUGGING, Strategy.ASK_USER)
    assert entry.goal == "make it work"
    assert entry.history == (Revision(datetime(2026, 1, 1, 9, tzinfo=UTC), "h", "a", "p"),)
    assert entry.notes == ("a note",)
    end = entry.outcome
    assert (end.status, end.result, end.auto_captured) == (OutcomeStatus.FALSIFIED, "it was old still", True)
    assert end.resolved_at == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert end.surprise == "the page came from elsewhere"
    assert end.root_cause
    assert end.root_cause.category is RootCauseCategory.WRONG_ASSUMPTION
    assert end.lesson
    assert end.lesson.takeaway is None
    assert entry.tier is Tier.GOLD
    assert not parsed.rejections
    assert not parsed.changes


def test_a_line_of_ours_gives_the_entry_it_was_written_from() -> None:
    data = own(project="host/owner/name")
    (entry,) = parse(own_line(data)).entries.values()
    assert GHAP.encode(entry) == data


def test_a_raw_session_in_a_line_of_ours_is_hashed() -> None:
    (entry,) = parse(own_line(own(agent_session="session_1"))).entries.values()
    assert entry.agent_session == session_hash("session_1")


def test_both_formats_may_be_in_one_file_with_blank_lines_and_a_byte_order_mark() -> None:
    first = b"\xef\xbb\xbf" + json.dumps(old(id="one")).encode() + b"\r\n"
    parsed = parse(first, b"\n", own_line(own()))
    assert list(parsed.entries) == ["one", "ghap_20260101_000000_abcdef"]
    assert not parsed.rejections


def test_the_last_of_several_lines_about_an_entry_counts() -> None:
    parsed = parse(old(goal="first"), old(goal="second"))
    assert parsed.repeated == 1
    assert [entry.goal for entry in parsed.entries.values()] == ["second"]


@pytest.mark.parametrize(
    ("kind", "name", "meant"),
    [
        (Domain, "Debugging", Domain.DEBUGGING),
        (Domain, "debug", Domain.DEBUGGING),
        (Domain, "config", Domain.CONFIGURATION),
        (Domain, "feature-development", Domain.FEATURE),
        (Domain, "perfomance", Domain.PERFORMANCE),
        (Strategy, "Root Cause_Analysis", Strategy.ROOT_CAUSE_ANALYSIS),
        (Strategy, "trial-and-erorr", Strategy.TRIAL_AND_ERROR),
        (OutcomeStatus, "CONFIRMED ", OutcomeStatus.CONFIRMED),
        (RootCauseCategory, "wrong_assumptions", RootCauseCategory.WRONG_ASSUMPTION),
        (Domain, "investigation", None),
        (Domain, "planning", None),
        (RootCauseCategory, "wrong", None),
        (OutcomeStatus, "failed", None),
    ],
)
def test_a_name_is_mapped_where_its_meaning_is_obvious(kind: type[StrEnum], name: str, meant: StrEnum | None) -> None:
    assert find_category(kind, name) is meant


def test_every_mapping_and_every_field_without_an_equivalent_is_counted() -> None:
    line = old(
        domain="Debug",
        mood="good",
        confidence_tier="silver",
        iteration_count=5,
        history=[{**old()["history"][0], "why": "because"}] * 2,
    )
    assert parse(line, {**line, "id": "another"}).changes == Counter(
        {
            "domain 'Debug' is read as debugging": 2,
            "mood is not kept": 2,
            "history[].why is not kept": 4,
            "confidence_tier 'silver' was recomputed as gold": 2,
            "iteration_count 5 was recomputed as 3": 2,
        }
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"goal": ...}, "goal: missing."),
        ({"goal": "x" * 1001}, "goal: 1001 characters, the limit is 1000."),
        ({"goal": "\ud800"}, "goal: contains an unpaired surrogate"),
        ({"notes": ["ok", 3]}, "notes[1]: must be text, not int."),
        ({"notes": "one"}, "notes: must be a list, not str."),
        ({"created_at": 1767225600}, "created_at: must be text, not int."),
        ({"created_at": "0001-01-01T00:00:00+10:00"}, "created_at: "),
        ({"id": "../../etc/passwd"}, "id: '../../etc/passwd' has characters other than"),
        ({"domain": "gardening"}, "domain: 'gardening' is not one of debugging,"),
        ({"outcome": ...}, "outcome: missing; only resolved"),
        ({"outcome": "confirmed"}, "outcome: must be an object, not str."),
        ({"outcome": {"status": "confirmed", "result": "r"}}, "outcome.captured_at: missing."),
        ({"surprise": None}, "surprise: required when status is falsified."),
        ({"lesson": {"takeaway": "t"}}, "lesson.what_worked: missing."),
        ({"history": [{"timestamp": "2026-01-01"}]}, "history[0].hypothesis: missing."),
    ],
)
def test_a_line_that_is_not_an_entry_is_rejected_and_the_field_is_named(changes: dict[str, Any], expected: str) -> None:
    assert reason(old(**changes)).startswith(expected)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"{", "the line is not JSON"),
        (b"[" * 100_000, "the line is not JSON"),
        (b"[]", "the line is not a JSON object."),
        (b'{"goal": "\xff"}', "the line is not UTF-8."),
        (b'{"kind": "ghap"}', "the journal line has no checksum."),
        (b'{"sum": "\\ud800"}', "the journal line is damaged"),
    ],
)
def test_a_line_that_cannot_be_read_is_rejected(line: bytes, expected: str) -> None:
    assert reason(line).startswith(expected)


@pytest.mark.parametrize("version", [3, 9])
def test_a_file_with_a_line_of_another_format_is_refused_whole(version: int) -> None:
    with pytest.raises(JournalUnavailableError, match=f"entries of format {version}"):
        parse(own_line(own()), in_format(own_line(own()), version))


@pytest.mark.parametrize("ending", [b"", b"\r\n"])
def test_the_line_ending_of_a_line_of_ours_does_not_matter(ending: bytes) -> None:
    assert parse(own_line(own()).removesuffix(b"\n") + ending).entries


def test_an_edited_line_of_ours_is_rejected() -> None:
    line = own_line(own()).replace(b"make it work", b"make it rain")
    assert reason(line) == "the journal line is damaged: the checksum does not match."


def test_other_records_and_open_entries_are_rejected() -> None:
    assert "about 'value'" in reason(own_line({"id": "value_1"}, kind="value"))
    open_entry = own()
    del open_entry["resolution"]
    assert "still open" in reason(own_line(open_entry))


def record_of(**changes: Any) -> JournalRecord:
    (entry,) = parse(old(**changes)).entries.values()
    return JournalRecord("ghap", entry.id, NOW, GHAP.encode(entry))


@pytest.mark.parametrize("order", [1, -1])
def test_an_entry_that_its_own_file_forgets_is_not_imported_whatever_the_order(order: int) -> None:
    gone, kept = record_of(), record_of(id="ghap_20260101_000001_abcdef")
    lines = [gone, kept, JournalRecord.tombstone("ghap", gone.id, NOW)][::order]
    parsed = parse(*(line.to_line() for line in lines))
    assert list(parsed.entries) == [kept.id]
    assert parsed.forgotten == {gone.id}
    assert parsed.rejections == []


def test_a_tombstone_of_another_kind_is_not_an_entry() -> None:
    parsed = parse(JournalRecord.tombstone("value", "value_1", NOW).to_line())
    assert parsed.forgotten == set()
    assert len(parsed.rejections) == 1


def test_an_open_file_is_imported_as_an_orphan_without_its_request_ids() -> None:
    data = {**record_of().data, "requests": ["front:1"]}
    del data["resolution"]
    entry = parse_open(json.dumps({"v": 4, **data}).encode())
    assert entry.orphaned
    assert entry.requests == ()
    assert entry.resolution is None
    assert parse_open(open_file_of(data)) == entry


@pytest.mark.parametrize("text", [b"{", b"[]", b"3", b'{"v":4}', b'{"v":"x"}', b"\xff", b'{"sum":"0"}'])
def test_anything_but_an_open_entry_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidInputError):
        parse_open(text)


def test_an_open_file_of_a_newer_program_is_refused_as_such() -> None:
    with pytest.raises(JournalUnavailableError, match="format 99"):
        parse_open(b'{"v":99}')
    with pytest.raises(InvalidInputError, match="is resolved"):
        parse_open(open_file_of(record_of().data))


def test_confidence_is_imported_with_each_hypothesis() -> None:
    entry = full_ghap()
    line = JournalRecord("ghap", entry.id, NOW, GHAP.encode(entry)).to_line()
    (found,) = parse(line).entries.values()
    assert (found.confidence, found.first_confidence) == (0.6, 0.9)
    assert [revision.confidence for revision in found.history] == [0.8]


@pytest.mark.parametrize("confidence", [1.5, -1, True, "high", float("nan")])
def test_a_confidence_that_is_not_a_probability_is_refused(confidence: object) -> None:
    data = {**GHAP.encode(full_ghap()), "confidence": confidence}
    with pytest.raises(InvalidInputError, match=r"confidence: must be a number from 0 to 1|Expected `float"):
        entry_of_record(JournalRecord("ghap", data["id"], NOW, data))
