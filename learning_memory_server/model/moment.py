"""Times: always timezone-aware and in UTC, ISO 8601 in stored data."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from typing import Final

from learning_memory_server.errors import InvalidInputError

Clock = Callable[[], datetime]  # Returns the current time in UTC; injected so that tests can control it


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


_FIRST_SEEN: Final[dict[datetime, datetime]] = {}  # When this process first saw a time that was then in the future


def as_seen(moment: datetime) -> datetime:
    """Return the time to sort by: for a future time, the moment when it was first seen. The result never changes."""
    seen = _FIRST_SEEN.get(moment)
    if seen is None and moment > (now := utc_now()):
        seen = _FIRST_SEEN.setdefault(moment, now)
    return seen or moment


def parse_moment(field: str, text: str) -> datetime:
    """Parse an ISO 8601 text to a UTC time. A date alone means midnight UTC. Raises `InvalidInputError`."""
    stripped = text.strip()
    try:
        if len(stripped) <= len("2026-01-31"):
            return datetime.combine(date.fromisoformat(stripped), time(), UTC)
        moment = datetime.fromisoformat(stripped)
        return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInputError(
            f"{field}: invalid date format, expected YYYY-MM-DD or an ISO 8601 datetime such as "
            f"2026-01-31T09:30:00Z, not {text!r}.",
            arguments=[field],
        ) from None
