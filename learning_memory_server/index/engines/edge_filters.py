"""Filters of the embedded engine, and the one index they use for all keyword fields of a collection.

Each payload index of the engine takes 9 MB of RAM in every collection, however few its points. So the keyword
fields that a collection is created with share an index: every point has a list of `field=value` texts, in a payload
field whose name lists those fields.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.index.engines.base import Filter

if TYPE_CHECKING:
    import qdrant_edge

_PREFIX: Final = "keys"
_BETWEEN: Final = "__"


def keys_field(fields: Iterable[str]) -> str:
    """Return the name of the payload field with the keys of `fields`."""
    return _BETWEEN.join((_PREFIX, *fields))


def shared_fields(schema: Iterable[str]) -> tuple[str, ...]:
    """Return the fields that share an index, given the names of all indexes of a collection."""
    for name in schema:
        prefix, *fields = name.split(_BETWEEN)
        if prefix == _PREFIX and fields:
            return tuple(fields)
    return ()


def with_keys(payload: Mapping[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    """Return the payload in its stored form."""
    if not fields:
        return dict(payload)
    keys = []
    for field in fields:
        value = payload.get(field)
        values = value if isinstance(value, list) else [value]
        keys += [f"{field}={item}" for item in values if isinstance(item, str)]
    return {**payload, keys_field(fields): keys}


def without_keys(payload: dict[str, Any] | None, fields: tuple[str, ...]) -> dict[str, Any]:
    """Return the payload as it was given."""
    payload = payload or {}
    if fields:
        payload.pop(keys_field(fields), None)
    return payload


def edge_filter(
    where: Filter | None, fields: tuple[str, ...], ids: Collection[str] | None = None
) -> qdrant_edge.Filter | None:
    """Return the engine's form of `where`, restricted to `ids` if they are given."""
    from qdrant_edge import (  # noqa: PLC0415 - loaded on first use
        FieldCondition,
        HasIdCondition,
        MatchValue,
        RangeDateTime,
    )
    from qdrant_edge import Filter as EdgeFilter  # noqa: PLC0415

    def has(name: str, value: str) -> FieldCondition:
        if name in fields:
            return FieldCondition(keys_field(fields), match=MatchValue(f"{name}={value}"))
        return FieldCondition(name, match=MatchValue(value))

    where = where or Filter()
    conditions: list[FieldCondition | HasIdCondition] = [has(name, value) for name, value in where.matches]
    for times in where.times:
        start = times.start.isoformat() if times.start else None
        end = times.end.isoformat() if times.end else None
        if start or end:
            conditions.append(FieldCondition(times.field, range=RangeDateTime(gte=start, lte=end)))
    if ids is not None:
        conditions.append(HasIdCondition(set(ids)))
    refused = [has(name, value) for name, value in where.without]
    if not conditions and not refused:
        return None
    return EdgeFilter(must=list(conditions) or None, must_not=list(refused) or None)
