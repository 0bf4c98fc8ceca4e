"""The operations that import records from elsewhere. All are idempotent; `added` has the ids of the new ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.index.entry_documents import documents_of
from learning_memory_server.journal.archive.checking import (
    CLUSTERS,
    checked_record,
    entry_of_record,
    open_entry_of_record,
)
from learning_memory_server.journal.archive.comparison import Numbering, numbering_of
from learning_memory_server.journal.codec import ADVICE, FAILURE, GHAP, MEMORY, VALUE, VERDICT, Codec
from learning_memory_server.journal.line import JournalRecord
from learning_memory_server.model.moment import utc_now
from learning_memory_server.server.operations.forgetting import Forgetful, forgetful

if TYPE_CHECKING:
    from learning_memory_server.model.entry import Ghap
    from learning_memory_server.model.memory import Memory
    from learning_memory_server.redaction.gate import RedactedData
    from learning_memory_server.server.composition.services import Services
    from learning_memory_server.server.operations import Report

T = TypeVar("T")

_CARRYING: Final = ("add", "add_open", "add_records")
"""The operations whose fields hold what will be stored. `call` passes its tool's arguments itself."""


async def add(services: Services, _report: Report, *, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Import resolved entries in the journal's format, all of them or none. They are indexed later."""
    added = services.collector.add_resolved(_entries(entries, entry_of_record))
    services.writer.postpone([document for entry in added for document in documents_of(entry)])
    return {"added": [entry.id for entry in added]}


async def add_open(services: Services, _report: Report, *, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Import open entries in the journal's format as orphans."""
    added = services.collector.add_open(_entries(entries, open_entry_of_record))
    return {"added": [entry.id for entry in added]}


async def add_records(
    services: Services, _report: Report, *, records: list[dict[str, Any]]
) -> dict[str, Any]:
    """Import cluster, value, verdict, advice, failure and memory records, as in journal lines; all of them or none."""
    checked = [checked_record(_record(number, fields)) for number, fields in enumerate(records)]
    gone = services.collector.all_forgotten() | services.value_log.forgotten_ids()

    def of(codec: Codec[T]) -> Iterator[T]:
        return (codec.decode(record.data) for record in checked if record.kind == codec.kind)

    # Clusters before any entry: otherwise the clusterer would number the entries' clusters itself.
    added: list[Any] = [
        *_import_clusters(services, [record for record in checked if record.kind == CLUSTERS]),
        *services.values.add_new(of(VALUE)),
        *services.verdicts.import_new(of(VERDICT), gone),
        *services.advice_log.import_new(of(ADVICE), gone),
        *services.failure_log.add_new(of(FAILURE)),
        *_import_memories(services, of(MEMORY)),
    ]
    return {"added": [each.id for each in added]}


async def apply_deletions(
    services: Services, _report: Report, *, forgotten: dict[str, list[str]], existing_too: bool
) -> dict[str, Any]:
    """Forget what was forgotten elsewhere, by kind. Unknown ids are recorded, so that they are never imported.

    What exists here is forgotten only with `existing_too`. The reply counts that as `forgotten`, and unknown ids as
    `noted`; `indexed` is false if points could not be removed yet.
    """
    reply: dict[str, Any] = {"forgotten": 0, "noted": 0, "indexed": True}
    points = []
    about = {*forgotten.get(GHAP.kind, ()), *forgotten.get("value", ())} if existing_too else set()
    logs: dict[str, Forgetful] = {"verdict": services.verdicts, "advice": services.advice_log}
    for kind, log in (logs | forgetful(services)).items():
        looked = log.look_up(forgotten.get(kind, ()))
        found = [each.id for each in looked.found] if existing_too else []
        gone = log.forget([*looked.unknown, *found], services.clock(), unknown_too=True)
        reply["noted"] += len(looked.unknown)
        reply["forgotten"] += len(found)
        points += log.points_of(gone)
        if kind == "verdict":
            # Those that were listed are counted above; these go before what they are about.
            services.verdicts.forget((each.id for each in services.verdicts.about(about)), services.clock())
        if kind == "advice":
            services.advice_log.forget(services.advice_log.about(about), services.clock())
    if points:
        reply["indexed"] = await services.writer.remove(points)
    return reply


def _entries(entries: list[dict[str, Any]], read: Callable[[JournalRecord], Ghap]) -> list[Ghap]:
    """Return the entries, after the checks that a line of a file gets."""
    found = []
    for number, data in enumerate(entries):
        place = f"entries[{number}]"
        if not isinstance(data, dict) or not isinstance(data.get("id"), str):
            raise InvalidInputError(f"{place}: must be an object with an id.")
        record = JournalRecord(GHAP.kind, data["id"], utc_now(), data)
        _check_line(place, record)
        try:
            found.append(read(record))
        except InvalidInputError as error:
            raise InvalidInputError(f"{place}: {error.message}") from None
    return found


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
    """Refuse data that JSON can express but a journal line cannot."""
    try:
        record.to_line()
    except (TypeError, ValueError, RecursionError):
        raise InvalidInputError(f"{place}: cannot be stored in the journal.") from None


def _import_clusters(services: Services, records: list[JournalRecord]) -> list[JournalRecord]:
    log, collector = services.journal.clusters, services.collector
    ours = log.read().records if records else []
    is_empty = not (collector.list_resolved() or collector.all_forgotten())
    if numbering_of(records, ours, is_empty=is_empty) is not Numbering.NEW:
        return []
    # All in one write.
    log.append(records[len(ours) :])
    services.clusterer.reread_numbers()
    return records[len(ours) :]


def _import_memories(services: Services, memories: Iterable[Memory]) -> list[Memory]:
    log, added = services.memory_log, []
    for memory in memories:
        if log.look_up([memory.id]).unknown:
            log.add(memory)
            added.append(memory)
            services.writer.postpone(log.documents_of(memory))
    return added


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
