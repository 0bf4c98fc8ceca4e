from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model.moment import as_seen, parse_moment, utc_now
from tests.support import MOMENTS


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        ("  2026-01-31 ", datetime(2026, 1, 31, tzinfo=UTC)),
        ("2026-01-31T09:30:00Z", datetime(2026, 1, 31, 9, 30, tzinfo=UTC)),
        ("2026-01-31 09:30", datetime(2026, 1, 31, 9, 30, tzinfo=UTC)),
        ("2026-01-31T09:30:00.123456+00:00", datetime(2026, 1, 31, 9, 30, 0, 123456, tzinfo=UTC)),
        ("2026-01-31T00:30:00+02:00", datetime(2026, 1, 30, 22, 30, tzinfo=UTC)),
        ("2026-01-31T23:30:00-05:30", datetime(2026, 2, 1, 5, 0, tzinfo=UTC)),
    ],
)
def test_dates_and_datetimes_are_moments_in_utc(text: str, moment: datetime) -> None:
    parsed = parse_moment("since", text)

    assert parsed == moment
    assert parsed.tzinfo is UTC


@given(MOMENTS)
def test_a_moment_that_this_program_writes_is_read_back(moment: datetime) -> None:
    assert parse_moment("since", moment.isoformat()) == moment


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-02-30",
        "2026-13-01",
        "2026-01-31T25:00:00",
        "31/01/2026",
        "1767225600",
        "2026-01-31T09:30:00+99:00",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
    ],
)
def test_anything_else_is_refused_with_the_field_and_an_example(text: str) -> None:
    with pytest.raises(InvalidInputError, match="2026-01-31T09:30:00Z") as caught:
        parse_moment("filters.date_from", text)

    assert caught.value.message.startswith("filters.date_from: ")
    assert repr(text) in caught.value.message


def test_now_is_in_utc() -> None:
    assert utc_now().utcoffset() == timedelta(0)
    assert abs(utc_now() - datetime.now(UTC)) < timedelta(seconds=5)


# A process remembers when it saw a time of the future first.
remembered = pytest.mark.usefixtures("restored_process")
BEGAN = utc_now()
FUTURE = datetime(2031, 5, 1, tzinfo=UTC)


@remembered
@given(MOMENTS)
def test_a_time_orders_by_when_it_was_first_seen_if_that_was_earlier(moment: datetime) -> None:
    before = utc_now()
    seen = as_seen(moment)
    # It may have been seen in an earlier example.
    assert seen == moment if moment < before else BEGAN <= seen <= utc_now()
    assert as_seen(moment) == seen


@remembered
@pytest.mark.parametrize("moment", [FUTURE, datetime.max.replace(tzinfo=UTC)])
def test_what_comes_after_a_time_in_the_future_is_newer(moment: datetime) -> None:
    as_seen(moment)
    now = utc_now()
    assert max([moment, now, now - timedelta(days=1)], key=as_seen) == now
