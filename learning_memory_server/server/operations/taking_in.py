"""The operations that take in what comes from elsewhere. Each can be done again."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.archive.comparison import Numbering, numbering_of
from learning_memory_server.archive.contents import CLUSTERS, GHAP, checked_record
from learning_memory_server.domain.moment import utc_now
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.codec import memory_from_data, value_from_data
from learning_memory_server.journal.record import JournalRecord
from learning_memory_server.observation.documents import documents_of
from learning_memory_server.observation.importing import entry_of_record, parse_open
from learning_memory_server.server.operations.forgetting import forgetful

if TYPE_CHECKING:
    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.server.operations.report import Report
    from learning_memory_server.server.services import Services

Take = Callable[["Services", list[JournalRecord]], list[str]]


async def add(services: Services, _report: Report, *, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Take resolved entries from elsewhere: all of them are in the journal when this returns, or none.

    Args:
        services: Where to.
        entries: Entries as the journal keeps them.

    Returns:
        `added`, the ids of those that were new. They are indexed later.

    Raises:
        InvalidInputError: If one of them is no resolved entry; then none is taken.
        JournalUnavailableError: If they cannot be written.
    """
    if not isinstance(entries, list):
        raise InvalidInputError("entries: must be a list.")
    added = services.collector.add_resolved([_entry(number, data) for number, data in enumerate(entries)])
    services.writer.postpone([document for entry in added for document in documents_of(entry)])
    return {"added": [entry.id for entry in added]}


async def add_open(services: Services, _report: Report, *, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Take open entries from elsewhere as orphans.

    Args:
        services: Where to.
        entries: Entries as the journal keeps them.

    Returns:
        `added`, the ids of those that were new.

    Raises:
        InvalidInputError: If one of them is no open entry; then none is taken.
        JournalUnavailableError: If one cannot be written; those before it are.
    """
    parsed = [parse_open(json.dumps(data).encode()) for data in entries]
    return {"added": [entry.id for entry in services.collector.add_open(parsed)]}


async def add_records(
    services: Services, _report: Report, *, records: list[dict[str, Any]]
) -> dict[str, Any]:
    """Take records of other kinds from elsewhere.

    Args:
        services: Where to.
        records: `kind`, `id`, `at` and `data` of each, as a line of the journal has them.

    Returns:
        `added`, the ids of those that were new.

    Raises:
        InvalidInputError: If one of them is not what this program would have written; then none is taken.
        JournalUnavailableError: If they cannot be written.
    """
    checked = [checked_record(_record(number, fields)) for number, fields in enumerate(records)]
    return {
        "added": [
            added
            for kind, take in _TAKE.items()
            for added in take(services, [record for record in checked if record.kind == kind])
        ]
    }


async def apply_deletions(
    services: Services, _report: Report, *, forgotten: dict[str, list[str]], found_too: bool
) -> dict[str, Any]:
    """Forget what was forgotten elsewhere.

    Args:
        services: Where.
        forgotten: Ids by kind.
        found_too: Also what is here. What is unknown is written down in any case, so that it is never taken in.

    Returns:
        `forgotten`, how many things that were here; `noted`, how many ids that were unknown; and `indexed`, false if
        points could not be removed yet.

    Raises:
        JournalUnavailableError: If it could not be written down.
    """
    reply: dict[str, Any] = {"forgotten": 0, "noted": 0, "indexed": True}
    points = []
    for kind, log in forgetful(services).items():
        looked = log.look_up(forgotten.get(kind, ()))
        found = [each.id for each in looked.found] if found_too else []
        gone = log.forget([*looked.unknown, *found], services.clock(), unknown_too=True)
        reply["noted"] += len(looked.unknown)
        reply["forgotten"] += len(found)
        points += log.points_of(gone)
    if points:
        reply["indexed"] = await services.writer.remove(points)
    return reply


def _entry(number: int, data: object) -> Ghap:
    """Return the entry, after every check that a line of a file would get."""
    place = f"entries[{number}]"
    if not isinstance(data, dict) or not isinstance(data.get("id"), str):
        raise InvalidInputError(f"{place}: must be an object with an id.")
    record = JournalRecord(GHAP, data["id"], utc_now(), data)
    _check_line(place, record)
    try:
        return entry_of_record(record)
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}: {error.message}") from None


def _record(number: int, fields: object) -> JournalRecord:
    place = f"records[{number}]"
    if not isinstance(fields, dict):
        raise InvalidInputError(f"{place}: must be an object.")
    for name, kind in (("kind", str), ("id", str), ("at", str), ("data", dict)):
        if not isinstance(fields.get(name), kind):
            expected = "an object" if kind is dict else "text"
            raise InvalidInputError(f"{place}.{name}: must be {expected}.")
    try:
        at = datetime.fromisoformat(fields["at"])
    except ValueError:
        raise InvalidInputError(f"{place}.at: must be an ISO 8601 datetime.") from None
    record = JournalRecord(fields["kind"], fields["id"], at, fields["data"])
    _check_line(place, record)
    return record


def _check_line(place: str, record: JournalRecord) -> None:
    """Refuse what has no line: JSON can spell what cannot be kept."""
    try:
        record.to_line()
    except (TypeError, ValueError, RecursionError):
        raise InvalidInputError(f"{place}: is not what a journal can keep.") from None


def _take_clusters(services: Services, records: list[JournalRecord]) -> list[str]:
    log, collector = services.journal.clusters, services.collector
    ours = log.read().records if records else []
    is_empty = not (collector.list_resolved() or collector.all_forgotten())
    if numbering_of(records, ours, is_empty=is_empty) is not Numbering.NEW:
        return []
    # In one write, and before the first entry: nothing is clustered that could have numbers of its own.
    log.append(records[len(ours) :])
    services.clusterer.reread_numbers()
    return [record.id for record in records[len(ours) :]]


def _take_values(services: Services, records: list[JournalRecord]) -> list[str]:
    return [value.id for value in services.values.add_new(value_from_data(record.data) for record in records)]


def _take_memories(services: Services, records: list[JournalRecord]) -> list[str]:
    log = services.memory_log
    new = set(log.look_up(record.id for record in records).unknown)
    added = []
    for memory in (memory_from_data(record.data) for record in records):
        if memory.id in new:
            log.add(memory)
            new.remove(memory.id)
            added.append(memory.id)
            services.writer.postpone(log.documents_of(memory))
    return added


_TAKE: Final[dict[str, Take]] = {
    CLUSTERS: _take_clusters,
    "value": _take_values,
    "memory": _take_memories,
}
"""How each kind comes to where it belongs; `archive.contents` checks the same kinds."""
