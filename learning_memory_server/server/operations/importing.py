"""The operations that import records from elsewhere. All are idempotent; `added` has the ids of the new ones."""

from typing import Any, TypeVar

import msgspec

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.index.document import documents_of
from learning_memory_server.journal import kinds
from learning_memory_server.journal.archive.comparison import Numbering, is_answered, newest_answers, numbering_of
from learning_memory_server.journal.archive.contents import checked_record, checked_thing
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.kinds import RecordKind
from learning_memory_server.journal.names import Names
from learning_memory_server.model.rule import Rule
from learning_memory_server.redaction.gate import RedactedData
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.operations.erasing import learned
from learning_memory_server.server.operations.report import Report

T = TypeVar("T")


async def add_records(services: Services, _report: Report, *, records: list[dict[str, Any]]) -> dict[str, Any]:
    """Import records of any kind, as in journal lines; all of them or none. Entries are indexed later."""
    checked = [_checked(number, fields, services.journal.names) for number, fields in enumerate(records)]
    gone = services.collector.forgotten_ids() | services.value_log.forgotten_ids()
    rules_gone = services.rule_log.forgotten_ids()

    def of(kind: RecordKind[T]) -> list[T]:
        return [thing for name, thing in checked if name == kind.kind]

    # Clusters before any entry: otherwise the clusterer would number the entries' clusters itself.
    clusters = _import_clusters(services, [record for kind, record in checked if kind == kinds.CLUSTERS.kind])
    resolved = services.collector.add_resolved([entry for entry in of(kinds.GHAP) if entry.resolution])
    services.writer.postpone([document for entry in resolved for document in documents_of(entry)])
    memories = services.memory_log.add_new(of(kinds.MEMORY))
    services.writer.postpone([chunk for each in memories for chunk in services.memory_log.documents_of(each)])
    added: list[Any] = [
        *clusters,
        *resolved,
        *services.collector.add_open([entry for entry in of(kinds.GHAP) if not entry.resolution]),
        *services.values.add_new(of(kinds.VALUE)),
        *services.verdicts.import_new(of(kinds.VERDICT), gone),
        *services.advice_log.import_new(of(kinds.ADVICE), gone),
        *services.failure_log.add_new(of(kinds.FAILURE)),
        *services.answers.add_new(of(kinds.ANSWER)),
        *services.rule_log.add_new(_unanswered(services, of(kinds.RULE))),
        *services.rule_counts.add_new(each for each in of(kinds.RULE_COUNT) if each.rule not in rules_gone),
        *memories,
    ]
    return {"added": [each.id for each in added]}


def _unanswered(services: Services, rules: list[Rule]) -> list[Rule]:
    """Return imported rules without those about which a person here has said something newer, under another id."""
    answered = newest_answers(services.rule_log.all())
    return [each for each in rules if not is_answered(each, answered)]


async def apply_deletions(
    services: Services, _report: Report, *, forgotten: dict[str, list[str]], existing_too: bool
) -> dict[str, Any]:
    """Forget what was forgotten elsewhere, by kind, and unknown ids, so that they are never imported.

    Present things are forgotten only with `existing_too`, and counted as `forgotten`, unknown ids as `noted`.
    """
    reply: dict[str, Any] = {"forgotten": 0, "noted": 0, "indexed": True}
    points = []
    about = {*forgotten.get(kinds.GHAP.kind, ()), *forgotten.get("value", ())} if existing_too else set()
    for kind, log in learned(services).items():
        looked = log.look_up(forgotten.get(kind, ()))
        # A rule that is here is forgotten by a person alone.
        found = [each.id for each in looked.found] if existing_too and kind != kinds.RULE.kind else []
        gone = log.forget([*looked.unknown, *found], services.clock(), unknown_too=True)
        reply["noted"] += len(looked.unknown)
        reply["forgotten"] += len(found)
        points += log.points_of(gone)
        if kind == "verdict":
            # Those that were listed are counted above; these go before what they are about.
            services.verdicts.forget((each.id for each in services.verdicts.about(about)), services.clock())
        if kind == "advice":
            services.advice_log.forget(services.advice_log.about(about), services.clock())
            services.answers.forget((each.id for each in services.answers.all() if each.id in about), services.clock())
    if points:
        reply["indexed"] = await services.writer.remove(points)
    return reply


def _checked(number: int, fields: object, names: Names) -> tuple[str, Any]:
    """Return the kind of a record, and what it describes after the checks that a line of a file gets."""
    place = f"records[{number}]"
    try:
        record = msgspec.convert(fields, JournalRecord)
        record.to_line()  # JSON can express what a journal line cannot
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"{place}: {error}.") from None
    except (TypeError, ValueError, RecursionError):
        raise InvalidInputError(f"{place}: cannot be stored in the journal.") from None
    if record.kind == kinds.PROJECT.kind:
        raise InvalidInputError(f"{place}: what projects are called is changed while no hub runs.")
    try:
        return record.kind, checked_record(record) if record.kind == kinds.CLUSTERS.kind else names.renamed(
            checked_thing(record)
        )
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}: {error.message}") from None


def _import_clusters(services: Services, records: list[JournalRecord]) -> list[JournalRecord]:
    log, collector = services.journal.clusters, services.collector
    ours = log.read().records if records else []
    is_empty = not (collector.list_resolved() or collector.forgotten_ids())
    if numbering_of(records, ours, is_empty=is_empty) is not Numbering.NEW:
        return []
    # All in one write.
    log.append(records[len(ours) :])
    services.clusterer.reread_numbers()
    return records[len(ours) :]


async def redacted_records(services: Services, records: list[dict[str, Any]]) -> RedactedData:
    """Return what `add_records` is given, without secrets, under the name `records`."""
    fields = {"records": records}
    try:
        redacted = await services.redaction.pass_data(fields)
    except RecursionError:
        raise InvalidInputError("add_records: is nested too deeply to be stored.") from None
    for before, after in zip(records, redacted.data["records"], strict=True):
        old, new = (record.get("data") if isinstance(record, dict) else None for record in (before, after))
        if isinstance(old, dict) and isinstance(new, dict) and old.get("text") != new.get("text"):
            new.pop("cuts", None)  # The chunks are those of another text
    return redacted
