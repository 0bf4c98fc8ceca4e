"""Limits on input. Anything over a limit is an error: nothing is silently clamped or truncated.

Lengths are in characters after stripping white space at both ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from learning_memory_server.errors import InvalidInputError

STATEMENT_MAX: Final = 1_000
"""One limit for goal, hypothesis, action and prediction. A limit for one of them alone needs its own constant, in
`server/tools/arguments.py` for agents and in `journal/archive/entries_importing.py` for imported files."""
NARRATIVE_MAX: Final = 2_000
"""One limit for result, surprise, root_cause.description, lesson.what_worked, lesson.takeaway and note."""
VALUE_MAX: Final = 500
QUERY_MAX: Final = 1_000
PROJECT_MAX: Final = 200
ID_MAX: Final = 100
MEMORY_MAX: Final = 10_000_000
METADATA_MAX: Final = 65_536
"""Bytes of a memory's metadata as compact JSON."""
TAG_MAX: Final = 200
SOURCE_MAX: Final = 1_000
CITED_MAX: Final = 50
"""How many ids or tags a list of them may have."""
BACKUPS_KEPT: Final = 10
"""How many backups a folder keeps, unless a person says another number."""
SIGNATURE_MAX: Final = 200
"""Characters of an error's signature. Longer lines differ at the end, where they list what was found instead."""
COMMAND_MAX: Final = 400
"""Characters that are kept of a command that failed, or mended an error. Longer ones are scripts, of which the
beginning is enough to recognize them."""
FAILURES_KEPT: Final = 20
"""How many of the newest failures of an error are kept, and count for its remedy. With 12 or 50, the same is shown."""

SEARCH_RESULTS_MAX: Final = 50
"""How many experiences one search may return."""
LISTING_MAX: Final = 100
"""How many items one reply to a listing or a memory search may have."""
SEARCH_DEPTH_MAX: Final = 10_000
"""How deep a search can be paged."""
RELATED_MAX: Final = 600
"""Characters of JSON that advice may add to a reply."""
REPLY_MAX: Final = 32_000
"""Characters of JSON in one reply. A longer reply is truncated after a complete item, with a notice."""


def checked_text(field: str, value: object, limit: int, measured: Callable[[str], str] = str) -> str:
    """Return `value` stripped, or say what is wrong with it.

    Args:
        field: The name to show, such as `lesson.takeaway`.
        limit: The largest length in characters after stripping.
        measured: Maps the text to what is measured.

    Raises:
        InvalidInputError: If it is not text, is empty, or is longer than `limit`.
    """
    if not isinstance(value, str):
        raise InvalidInputError(f"{field}: must be text, not {type(value).__name__}.")
    text = value.strip()
    if not text:
        raise InvalidInputError(f"{field}: must not be empty (1-{limit} characters).")
    if (length := len(measured(text))) > limit:
        raise InvalidInputError(f"{field}: {length} characters, the limit is {limit}.")
    return text
