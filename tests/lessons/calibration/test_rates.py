"""Which share of hypotheses held, and from when on an agent is told of it."""

import pytest

from learning_memory_server.lessons.calibration import rate, track_record
from learning_memory_server.model.vocabulary import OutcomeStatus
from tests.support import ghap

HELD, FAILED, DROPPED = OutcomeStatus.CONFIRMED, OutcomeStatus.FALSIFIED, OutcomeStatus.ABANDONED


def test_abandoned_entries_do_not_count() -> None:
    found = rate({HELD: 2, FAILED: 1, DROPPED: 1})
    assert (found.held, found.total) == (2, 3)
    assert found.share == pytest.approx(2 / 3)
    assert found.interval == pytest.approx((0.2077, 0.9385), abs=1e-4)


def test_a_rate_of_nothing_has_no_share() -> None:
    assert rate({DROPPED: 1}).share is None
    assert rate({}).interval == (0, 1)


def test_a_track_record_needs_ten_judged_entries() -> None:
    assert track_record(ghap(), {HELD: 6, FAILED: 3, DROPPED: 1}) is None
    assert track_record(ghap(), {HELD: 6, FAILED: 4}) == (
        "6 of 10 earlier hypotheses held (60%) in this project with debugging and read-the-error."
    )
