"""Journals written by earlier programs, kept unchanged."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.codec import GHAP, VALUE
from learning_memory_server.journal.journal import Journal
from learning_memory_server.learning.values.log import ValueLog
from learning_memory_server.model.entry import Ghap, Lesson, Resolution, Revision, RootCause
from learning_memory_server.model.vocabulary import Domain, OutcomeStatus, RootCauseCategory, Strategy
from tests.support import BOB, NOON, TickingClock

if TYPE_CHECKING:
    from collections.abc import Sequence

# Written by the services of the first version that could store entries.
FIRST = Path(__file__).parents[1] / "data" / "journal-v1-018d22f"


def at(minute: int, second: int, microsecond: int) -> datetime:
    return datetime(2026, 11, 21, 23, minute, second, microsecond, tzinfo=UTC)


def shop_entry(**parts: Any) -> Ghap:
    said: dict[str, Any] = {
        "project": "acme/shop",
        "agent_session": "a" * 16,
        "domain": Domain.DEBUGGING,
        "strategy": Strategy.READ_THE_ERROR,
        "hypothesis": "The database pool runs dry under load",
        "action": "Raise the pool's size",
        "prediction": "Requests stop waiting for a connection",
    }
    return Ghap(**{**said, **parts})


CONFIRMED = shop_entry(
    id="ghap_20261121_230014_578675",
    created_at=at(0, 14, 2),
    strategy=Strategy.ROOT_CAUSE_ANALYSIS,
    goal="Stop the checkout from timing out, part 0",
    hypothesis="The database pool runs dry at noon",
    history=(
        Revision(
            at(0, 21, 3),
            "The database pool runs dry under load",
            "Raise the pool's size",
            "Requests stop waiting for a connection",
        ),
    ),
    notes=("the log shows nothing",),
    resolution=Resolution(
        OutcomeStatus.CONFIRMED,
        "Requests stopped waiting for the pool; caf\u00e9 \u2028 \U0001f600.",
        at(0, 28, 4),
        lesson=Lesson("Counting connections at the pool", "Count before you tune"),
    ),
)
FALSIFIED = shop_entry(
    id="ghap_20261121_230035_5fe22c",
    created_at=at(0, 35, 5),
    goal="Stop the checkout from timing out, part 1",
    resolution=Resolution(
        OutcomeStatus.FALSIFIED,
        "Requests waited for the pool as before.",
        at(0, 42, 6),
        surprise="The pool was never full.",
        root_cause=RootCause(RootCauseCategory.MISLEADING_SYMPTOM, "The load balancer queued them."),
    ),
)
ABANDONED = shop_entry(
    id="ghap_20261121_230049_d5f1f9",
    created_at=at(0, 49, 7),
    goal="Stop the checkout from timing out, part 2",
    resolution=Resolution(OutcomeStatus.ABANDONED, "The pool was replaced by another team.", at(0, 56, 8)),
)
OPEN = Ghap(
    id="ghap_20261121_230124_55209c",
    project="acme/shop",
    agent_session="b" * 16,
    created_at=at(1, 24, 12),
    domain=Domain.TESTING,
    strategy=Strategy.CHECK_ASSUMPTIONS,
    goal="Find out why the suite is slow",
    hypothesis="Fixtures open the engine anew each time",
    action="Count the openings",
    prediction="There are two for each test",
    history=(
        Revision(
            at(1, 31, 13),
            "Fixtures open the engine anew each time",
            "Count the openings",
            "There is one for each test",
        ),
    ),
    notes=("a note of an open entry",),
)


@pytest.fixture
def earlier(tmp_path: Path) -> Journal:
    shutil.copytree(FIRST, tmp_path / "journal")
    journal = Journal(tmp_path / "journal")
    assert journal.recover(NOON) == []
    return journal


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def contents(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.json*")}


def test_every_entry_is_complete(earlier: Journal) -> None:
    collector = ObservationCollector(earlier, TickingClock())

    assert earlier.damage() == []
    assert collector.list_resolved() == [ABANDONED, FALSIFIED, CONFIRMED]
    assert collector.find_current(BOB) == OPEN


def test_everything_that_was_written_is_read(earlier: Journal) -> None:
    def data_of(name: str) -> Sequence[dict[str, Any]]:
        return [line["data"] for line in lines(FIRST / name)]

    collector = ObservationCollector(earlier, TickingClock())
    written = data_of("entries/2026-11.jsonl")
    assert [GHAP.encode(entry) for entry in reversed(collector.list_resolved())] == written
    (value,) = ValueLog(earlier.values).all()
    assert [VALUE.encode(value)] == [{**data, "earlier": True} for data in data_of("values.jsonl")]
    assert value.is_earlier
    assert set(value.evidence.member_ids) == {CONFIRMED.id, FALSIFIED.id, ABANDONED.id}
    assert [record.data for record in earlier.clusters.read().records] == data_of("clusters.jsonl")
    assert [record.id for record in earlier.clusters.read().records] == ["full", "strategy"]


def test_reading_leaves_the_files_as_they_were_and_writing_only_adds(earlier: Journal) -> None:
    collector = ObservationCollector(earlier, TickingClock())
    collector.load()
    assert contents(earlier.path) == contents(FIRST)

    collector.update(BOB, note="added later")

    changed = {path for path, text in contents(earlier.path).items() if text != contents(FIRST)[path]}
    assert changed == {Path("open") / f"{OPEN.id}.json"}
    (entry,) = Journal(earlier.path).open_entries()
    assert entry.notes == (*OPEN.notes, "added later")
