"""Which share of hypotheses held, and from when on it is told."""

from dataclasses import replace

import pytest

from learning_memory_server.lessons.calibration import rate, rates_by, track_record
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.vocabulary import Domain, OutcomeStatus
from tests.support import CONFIRMED, ghap, numbered


def ended(*statuses: OutcomeStatus, **changes: Domain) -> list[Ghap]:
    return [numbered(n, resolution=replace(CONFIRMED, status=status), **changes) for n, status in enumerate(statuses)]


HELD, FAILED, DROPPED = OutcomeStatus.CONFIRMED, OutcomeStatus.FALSIFIED, OutcomeStatus.ABANDONED


def test_abandoned_entries_do_not_count() -> None:
    found = rate(ended(HELD, HELD, FAILED, DROPPED))
    assert (found.held, found.total) == (2, 3)
    assert found.share == pytest.approx(2 / 3)
    assert found.interval == pytest.approx((0.2077, 0.9385), abs=1e-4)


def test_a_rate_of_nothing_has_no_share() -> None:
    assert rate(ended(DROPPED)).share is None
    assert rate([]).interval == (0, 1)


def test_groups_come_largest_first_and_those_without_a_judged_entry_not_at_all() -> None:
    entries = [*ended(HELD), *ended(FAILED, HELD, domain=Domain.SECURITY), *ended(DROPPED, domain=Domain.TESTING)]
    assert [(one.name, one.held, one.total) for one in rates_by(entries, lambda entry: entry.domain)] == [
        ("security", 1, 2),
        ("debugging", 1, 1),
    ]


def test_a_track_record_needs_ten_judged_entries() -> None:
    assert track_record(ghap(), {HELD: 6, FAILED: 3, DROPPED: 1}) is None
    assert track_record(ghap(), {HELD: 6, FAILED: 4}) == (
        "6 of 10 earlier hypotheses held (60%) in this project with debugging and read-the-error."
    )
