"""Sizes that input may have. Over a limit is an error: nothing is clamped or cut in silence.

Lengths are in characters after stripping white space at both ends.
"""

from typing import Final

from learning_memory_server.errors import InvalidInputError

STATEMENT_MAX: Final = 1_000
"""goal, hypothesis, action, prediction"""
NARRATIVE_MAX: Final = 2_000
"""result, surprise, root_cause.description, lesson.what_worked, lesson.takeaway, note"""
VALUE_MAX: Final = 500
QUERY_MAX: Final = 1_000
PROJECT_MAX: Final = 200
ID_MAX: Final = 100
MEMORY_MAX: Final = 10_000_000
METADATA_MAX: Final = 65_536
"""Bytes of a memory's metadata as compact JSON."""
TAG_MAX: Final = 200
SOURCE_MAX: Final = 1_000

SEARCH_RESULTS_MAX: Final = 50
"""How many experiences one search may return."""
LISTING_MAX: Final = 100
"""How many items one reply of a listing, or of a search of memories, may have."""
SEARCH_DEPTH_MAX: Final = 10_000
"""How far down its ranking a search can be paged."""
REPLY_MAX: Final = 32_000
"""Characters of JSON in one reply; what does not fit is cut at a whole item and said so."""


def checked_text(field: str, value: object, limit: int) -> str:
    """Return `value` stripped, or say what is wrong with it.

    Args:
        field: The name to show, such as `lesson.takeaway`.
        value: What was given.
        limit: The largest length in characters after stripping.

    Raises:
        InvalidInputError: If it is no text, is empty, or is longer than `limit`.
    """
    if not isinstance(value, str):
        raise InvalidInputError(f"{field}: must be text, not {type(value).__name__}.")
    text = value.strip()
    if not text:
        raise InvalidInputError(f"{field}: must not be empty (1-{limit} characters).")
    if len(text) > limit:
        raise InvalidInputError(f"{field}: {len(text)} characters, the limit is {limit}.")
    return text
