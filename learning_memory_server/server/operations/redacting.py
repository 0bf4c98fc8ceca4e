"""What imports bring passes the gate as what agents write does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.errors import InvalidInputError

if TYPE_CHECKING:
    from learning_memory_server.redaction.data import RedactedData
    from learning_memory_server.server.composition.services import Services

_CARRYING: Final = ("add", "add_open", "add_records")
"""The operations whose fields hold what will be stored. `call` passes its tool's arguments itself."""


async def redacted_fields(services: Services, name: str, fields: dict[str, Any]) -> RedactedData | None:
    """Return an operation's fields without secrets, or None if it stores nothing."""
    if name not in _CARRYING:
        return None
    try:
        redacted = await services.redaction.pass_data(fields)
    except RecursionError:
        raise InvalidInputError(f"{name}: is nested too deeply to be stored.") from None
    if redacted.kinds:
        _forget_chunks(fields, redacted.data)
    return redacted


def _forget_chunks(given: Mapping[str, Any], redacted: Mapping[str, Any]) -> None:
    """Drop where a memory's chunks are if its text has changed: it is chunked again."""
    for before, after in zip(given.get("records", ()), redacted.get("records", ()), strict=True):
        old, new = (record.get("data") if isinstance(record, dict) else None for record in (before, after))
        if isinstance(old, dict) and isinstance(new, dict) and old.get("text") != new.get("text"):
            new.pop("cuts", None)
