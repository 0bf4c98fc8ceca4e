"""What the outside sees of an entry, a value, a memory, a cluster and a score: the same for tools and commands."""

from collections.abc import Sequence
from datetime import datetime
from enum import Enum
from typing import Any, Final

_ABSENT: Final = object()
_PLAIN: Final = frozenset({str, int, float, bool, list, dict, type(None)})


def fields(view: type | Sequence[str], *sources: object, **given: object) -> dict[str, Any]:
    """Return the fields that a view declares or lists, in order: given, or attributes of the first source with it."""
    found: dict[str, Any] = {}
    for name in view.__annotations__ if isinstance(view, type) else view:
        value = given.get(name, _ABSENT)
        for source in sources:
            if value is not _ABSENT:
                break
            value = getattr(source, name, _ABSENT)
        if value is not _ABSENT:
            found[name] = value if type(value) in _PLAIN else _as_json(value)
    return found


def _as_json(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value
