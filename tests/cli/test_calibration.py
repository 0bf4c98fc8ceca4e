"""`calibration`, against what the journal's own lines say."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import Records
from learning_memory_server.model.advice import Advice, AdviceKind, Effect, Item, TriggerKind
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.vocabulary import Domain, OutcomeStatus
from tests.support import CONFIRMED, NOON, numbered

STATUSES = (OutcomeStatus.CONFIRMED, OutcomeStatus.FALSIFIED, OutcomeStatus.ABANDONED, OutcomeStatus.CONFIRMED)


@pytest.fixture
def journal(storage: Path) -> Journal:
    """Forty entries in two projects; every fifth has no confidence, and some changed theirs."""
    journal = Journal(storage / "journal")
    entries = []
    for number in range(40):
        stated = None if number % 5 == 0 else (number * 7 % 11) / 10
        entry = numbered(
            number,
            project="garden" if number % 3 else "orchard",
            domain=Domain.TESTING if number % 2 else Domain.DEBUGGING,
            confidence=stated,
            first_confidence=stated,
            resolution=None,
        )
        if number % 4 == 1:
            entry = entry.revised(at=NOON, hypothesis=f"belief {number}", confidence=0.5 if number % 8 else None)
        status = STATUSES[number % len(STATUSES)]
        entries.append(replace(entry, resolution=replace(CONFIRMED, status=status)))
    ObservationCollector(journal, utc_now).add_resolved(entries)
    return journal


def judged(journal: Journal) -> Iterator[tuple[dict[str, Any], int]]:
    """The data of each line about a judged entry, and whether its prediction came true."""
    for path in (journal.path / "entries").glob("*.jsonl"):
        for line in path.read_bytes().splitlines():
            data = json.loads(line)["data"]
            if data["resolution"]["status"] != "abandoned":
                yield data, int(data["resolution"]["status"] == "confirmed")


def test_the_scores_are_those_of_the_journals_lines(run: Any, journal: Journal) -> None:
    document = json.loads(run("calibration", "--json").stdout)
    first, last = [], []
    for data, held in judged(journal):
        stated = [part["confidence"] for part in [*data.get("history", ()), data] if "confidence" in part]
        if stated:
            first.append((stated[0] - held) ** 2)
            last.append((stated[-1] - held) ** 2)
    assert first != last
    for name, squares in (("first", first), ("last", last)):
        assert document[name]["count"] == len(squares)
        assert document[name]["brier"] == pytest.approx(sum(squares) / len(squares), abs=1e-12)
    outcomes = [held for _, held in judged(journal)]
    assert (document["overall"]["held"], document["overall"]["total"]) == (sum(outcomes), len(outcomes))


def test_one_project_is_counted_alone(run: Any, journal: Journal) -> None:
    garden = json.loads(run("calibration", "--project", "current", "--json").stdout)["overall"]
    expected = [held for data, held in judged(journal) if data["project"] == "garden"]
    assert (garden["held"], garden["total"]) == (sum(expected), len(expected))


@pytest.mark.usefixtures("journal")
def test_a_person_reads_the_verdict_first_then_shares_scores_and_bins(run: Any) -> None:
    document, shown = json.loads(run("calibration", "--json").stdout), run("calibration").stdout
    assert shown.splitlines()[0] == document["verdict"]
    assert "held          20 of 30 judged entries (67%; 95 % interval 49% to 81%)" in shown
    for word in ("Brier score 0.", "90% to 100%"):
        assert word in shown
    assert sum(part["count"] for part in document["bins"]) == document["last"]["count"]


def test_without_a_judged_entry_there_is_nothing_to_show(run: Any) -> None:
    assert run("calibration").stdout.startswith("No entry was confirmed or falsified yet. ")


def test_status_counts_what_agents_were_shown_and_what_came_of_it(run: Any, storage: Path, journal: Journal) -> None:
    entry = ObservationCollector(journal, utc_now).list_resolved()[0].id
    shown = [
        Advice(
            TriggerKind.ENTRY_START,
            (Item(f"ghap_{number}", AdviceKind.EXPERIENCE, effect=effect),),
            "garden",
            NOON,
            ghap_id=entry,
            revision=number,
        )
        for number, effect in enumerate((Effect.HELPED, Effect.MISLED, None), start=1)
    ]
    Records[Advice](Journal(storage / "journal").advice).add(*shown)
    assert "shown       3 times, helped 1, misled 1, unknown 1 (as agents say)" in run("status").stdout


def test_what_was_written_afterwards_is_counted_apart(run: Any, journal: Journal) -> None:
    before = json.loads(run("calibration", "--json").stdout)
    collector = ObservationCollector(journal, utc_now)
    told = numbered(100, afterwards=True, domain=None, strategy=None, confidence=0.9, first_confidence=0.9)
    collector.add_resolved([replace(told, resolution=CONFIRMED)])

    after = json.loads(run("calibration", "--json").stdout)

    assert after == before | {"afterwards": 1}
    assert "Not counted: 1 entry written afterwards" in run("calibration").stdout
