"""Filters in the form of a Qdrant server."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, cast
from uuid import UUID

from learning_memory_server.index.engines.base import Filter

if TYPE_CHECKING:
    from qdrant_client import models


def contradicts_itself(where: Filter | None) -> bool:
    """Return whether no point can match, because a condition is both demanded and excluded.

    For an indexed field, Qdrant 1.15 and 1.18 answer such a filter with what matches the demand.
    """
    return where is not None and not set(where.matches).isdisjoint(where.without)


def qdrant_filter(
    demanded: Mapping[str, str], where: Filter | None, ids: Collection[str] | None = None
) -> models.Filter:
    """Return the vendor's form of `where` and of the `demanded` values, restricted to `ids` if they are given.

    `ids` are the ids as the server has them. One that is not a UUID is a ValueError.
    """
    from qdrant_client import models  # noqa: PLC0415 - a second to import

    where = where or Filter()
    conditions, refused = (
        [
            cast("models.Condition", models.FieldCondition(key=name, match=models.MatchValue(value=value)))
            for name, value in pairs
        ]
        for pairs in ((*demanded.items(), *where.matches), where.without)
    )
    conditions += [
        models.FieldCondition(key=times.field, range=models.DatetimeRange(gte=times.start, lte=times.end))
        for times in where.times
        if times.start or times.end
    ]
    if ids is not None:
        conditions.append(models.HasIdCondition(has_id=[str(UUID(point_id)) for point_id in ids]))
    return models.Filter(must=conditions, must_not=refused or None)
