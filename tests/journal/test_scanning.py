"""Secrets in stored lines: found where they are, replaced without touching anything else."""

import json
import random

import pytest

from benchmarks.secrets_made import ALNUM, drawn
from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.journal.scanning import Finding, Scanner, scan_journal
from learning_memory_server.redaction.base import Redacted
from learning_memory_server.redaction.redactor import build_redactor
from tests.journal.mortal import deaths
from tests.support import NOON, forget, ghap, in_format, numbered

TOKEN = "gh" + "p_" + drawn(random.Random(41), ALNUM, 36)
MARK = "[redacted: github token]"
ENTRY = numbered(1, goal=f"use {TOKEN}", notes=("clean", f"{TOKEN} or {TOKEN}"))


class CountingRedactor:
    """Redacts as the real one does, and counts the texts."""

    def __init__(self) -> None:
        self.texts = 0
        self._redactor = build_redactor()

    def redact(self, text: str) -> Redacted:
        self.texts += 1
        return self._redactor.redact(text)


def scanner() -> Scanner:
    return Scanner(build_redactor())


def line_of() -> bytes:
    return JournalRecord("ghap", ENTRY.id, NOON, GHAP.encode(ENTRY)).to_line()


def scanned(journal: Journal, *only: tuple[str, str]) -> tuple[list[Finding], dict[bytes, bytes]]:
    """Return the findings, and the changes that remove them."""
    looked = list(scan_journal(journal, scanner(), lambda *_: None, set(only) or None))
    findings = dict.fromkeys(finding for _, each in looked for finding in each.findings)
    return list(findings), {text: each.text for text, each in looked if each.text != text}


def test_a_line_is_the_same_but_for_its_secrets_and_its_checksum() -> None:
    line = line_of()
    scanned = scanner().line(line, "entries/2026-03.jsonl:1")
    key = ("ghap", ENTRY.id)
    assert scanned.findings == (
        Finding("entry", ENTRY.id, "goal", "github token", 1, key),
        Finding("entry", ENTRY.id, "notes[1]", "github token", 2, key),
    )
    before, after = json.loads(line), json.loads(scanned.text)
    assert after["data"] == {**before["data"], "goal": f"use {MARK}", "notes": ["clean", f"{MARK} or {MARK}"]}
    assert {**before, "data": 0, "sum": 0} == {**after, "data": 0, "sum": 0}
    assert JournalRecord.from_line(scanned.text).data == after["data"]
    assert scanner().line(scanned.text, "").findings == ()


def test_a_line_of_another_format_is_refused() -> None:
    for version in (3, 5):
        with pytest.raises(JournalUnavailableError, match=f"format {version}"):
            scanner().line(in_format(line_of(), version), "")


def test_what_has_no_secret_is_looked_at_once() -> None:
    redactor = CountingRedactor()
    looking = Scanner(redactor)
    line = JournalRecord("ghap", "a", NOON, {"goal": "nothing to see"}).to_line()
    assert looking.line(line, "").text == line
    texts = redactor.texts
    assert texts > 0
    assert looking.line(line, "").findings == ()
    assert redactor.texts == texts


def test_ids_and_times_are_never_secrets() -> None:
    everything = Scanner(build_redactor({"any": r".+"}))
    scanned = everything.line(line_of(), "")
    data = json.loads(scanned.text)["data"]
    kept = {"id", "agent_session", "created_at", "domain", "strategy"}
    assert {key: data[key] for key in kept} == {key: GHAP.encode(ENTRY)[key] for key in kept}
    assert data["goal"] == data["resolution"]["result"] == "[redacted: any]"
    assert data["resolution"]["status"] == "confirmed"


def test_every_line_counts_superseded_forgotten_and_of_other_kinds(journal: Journal) -> None:
    journal.entries.append([JournalRecord("ghap", ENTRY.id, NOON, GHAP.encode(ENTRY))])
    journal.entries.append([JournalRecord("ghap", ENTRY.id, NOON, GHAP.encode(numbered(1)))])
    journal.values.append([JournalRecord("value", "gone", NOON, {"text": TOKEN})])
    forget(journal.values, "value", "gone")
    journal.clusters.append([JournalRecord("dream", "d", NOON, {"deep": [{"er": TOKEN}]})])
    journal.save_open(ghap(hypothesis=TOKEN))

    findings, changes = scanned(journal)

    assert {(finding.what, finding.id, finding.field) for finding in findings} == {
        ("open entry", ghap().id, "hypothesis"),
        ("entry", ENTRY.id, "goal"),
        ("entry", ENTRY.id, "notes[1]"),
        ("value", "gone", "text"),
        ("dream", "d", "deep[0].er"),
    }
    assert journal.rewrite(changes) == 4
    assert scanned(journal) == ([], {})
    assert [record.id for record in journal.values.read().records] == []
    assert journal.open_entries() == [ghap(hypothesis=MARK)]


def test_only_the_named_records_are_looked_at_and_what_names_none(journal: Journal) -> None:
    for name in ("a", "b"):
        journal.values.append([JournalRecord("value", name, NOON, {"text": TOKEN})])
    (path,) = journal.values.segments()
    path.write_bytes(path.read_bytes() + f"half a line {TOKEN}\n".encode())

    findings, changes = scanned(journal, ("value", "b"), ("memory", "a"))

    assert [(finding.what, finding.id) for finding in findings] == [("value", "b"), ("unreadable", "values.jsonl:3")]
    assert len(changes) == 2


def test_a_line_that_lacks_only_its_line_feed_stays_readable(journal: Journal) -> None:
    journal.entries.append([JournalRecord("ghap", ENTRY.id, NOON, GHAP.encode(ENTRY))])
    (path,) = journal.entries.segments()
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))

    _, changes = scanned(journal)
    journal.rewrite(changes)

    assert [record.data["goal"] for record in journal.entries.read().records] == [f"use {MARK}"]
    assert journal.damage() == []


def test_a_damaged_line_loses_its_secret_byte_for_byte_and_can_be_named() -> None:
    damaged = line_of().replace(b"use ", b"\xff\0 ")
    scanned = scanner().line(damaged, "entries/2026-03.jsonl:7")
    assert scanned.text == damaged.replace(TOKEN.encode(), MARK.encode())
    assert {(each.what, each.id, each.key) for each in scanned.findings} == {
        ("unreadable", "entries/2026-03.jsonl:7", ("ghap", ENTRY.id))
    }


def test_a_rewrite_that_dies_at_any_step_leaves_each_file_rewritten_or_unchanged(journal: Journal) -> None:
    journal.entries.append([JournalRecord("ghap", ENTRY.id, NOON, GHAP.encode(ENTRY))])
    journal.values.append([JournalRecord("value", "v", NOON, {"text": TOKEN})])
    journal.memories.append([JournalRecord("memory", "m", NOON, {"text": TOKEN})])
    journal.save_open(ghap(goal=TOKEN))
    paths = [path for path in journal.path.rglob("*.json*") if path.is_file()]
    before = {path: path.read_bytes() for path in paths}
    _, changes = scanned(journal)

    reached = set()
    for _ in deaths(
        lambda: [path.write_bytes(content) for path, content in before.items()],
        lambda disk: Journal(journal.path, disk=disk).rewrite(changes),
    ):
        rewritten = [path for path in paths if path.read_bytes() != before[path]]
        assert all(TOKEN.encode() not in path.read_bytes() for path in rewritten)
        reached.add(len(rewritten))

        again = Journal(journal.path)
        assert again.recover(NOON) == []
        assert again.damage() == []
        again.rewrite(scanned(again)[1])
        assert scanned(again) == ([], {})
        assert sorted(path for path in journal.path.rglob("*.json*") if path.is_file()) == sorted(paths)

    assert reached == {0, 1, 2, 3, 4}
