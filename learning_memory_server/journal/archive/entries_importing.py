"""Parsing GHAP entries to import: lines of JSON in this journal's format or the predecessor's."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.archive.checking import entry_of_record, is_id
from learning_memory_server.journal.archive.entries_foreign import ForeignPart
from learning_memory_server.journal.line import DamagedLineError, JournalRecord
from learning_memory_server.model import limits
from learning_memory_server.model.entry import Ghap, Lesson, Resolution, Revision, RootCause
from learning_memory_server.model.identity import session_hash
from learning_memory_server.model.vocabulary import Domain, OutcomeStatus, RootCauseCategory, Strategy


@dataclass(frozen=True, slots=True)
class Rejection:
    """A line that is not an entry, and why."""

    line_number: int
    reason: str


@dataclass(slots=True)
class ParsedEntries:
    """The content of a file."""

    # The entries by id, in file order, without forgotten ones. The last line about an entry counts.
    entries: dict[str, Ghap] = field(default_factory=dict)
    rejections: list[Rejection] = field(default_factory=list)
    repeated: int = 0  # the number of lines superseded by a later one about the same entry
    # What was changed or dropped, and how often: names that were mapped, fields without an equivalent.
    changes: Counter[str] = field(default_factory=Counter)
    forgotten: set[str] = field(default_factory=set)
    unnamed: set[str] = field(default_factory=set)  # the ids of the entries without a project

    def assign(self, project: str) -> None:
        """Put the entries without a project under this one."""
        for name in self.unnamed:
            self.entries[name] = replace(self.entries[name], project=project)


def parse_entries(lines: Iterable[bytes], *, project: str) -> ParsedEntries:
    """Read resolved entries from lines in UTF-8; blank ones are skipped.

    `project` is that of lines in the predecessor's format, which do not name one.
    """
    parsed = ParsedEntries()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        changes: Counter[str] = Counter()
        try:
            found, is_named = _parse(line, project, changes)
        except InvalidInputError as error:
            parsed.rejections.append(Rejection(number, error.message))
            continue
        if isinstance(found, JournalRecord):
            parsed.forgotten.add(found.id)
            continue
        parsed.repeated += found.id in parsed.entries
        parsed.entries[found.id] = found
        (parsed.unnamed.discard if is_named else parsed.unnamed.add)(found.id)
        parsed.changes.update(changes)
    # Last, because a tombstone counts wherever it is in the file.
    for forgotten in parsed.forgotten:
        parsed.entries.pop(forgotten, None)
    parsed.unnamed -= parsed.forgotten
    return parsed


def _parse(line: bytes, project: str, changes: Counter[str]) -> tuple[Ghap | JournalRecord, bool]:
    """Return the entry of a line, or the line itself if it is a tombstone, and whether it names its project."""
    try:
        body = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InvalidInputError("the line is not UTF-8.") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"the line is not JSON ({error}).") from None
    if not isinstance(body, dict):
        raise InvalidInputError("the line is not a JSON object.")
    if "kind" in body or "sum" in body:
        record = _record(line, body)
        is_tombstone = record.kind == "ghap" and record.is_tombstone
        return record if is_tombstone else entry_of_record(record), True
    return _predecessors(ForeignPart("", body, changes), project), False


def _record(line: bytes, body: dict[str, Any]) -> JournalRecord:
    if "sum" not in body:
        raise InvalidInputError("the journal line has no checksum.")
    try:
        # An editor may have changed the line ending, which the checksum does not cover.
        return JournalRecord.from_line(line.removeprefix(b"\xef\xbb\xbf").strip() + b"\n")
    except DamagedLineError as error:
        raise InvalidInputError(f"the journal line is damaged: {error}.") from None
    except (UnicodeEncodeError, RecursionError):
        # JSON can express values that have no canonical form, and so no checksum.
        raise InvalidInputError("the journal line was not written by a journal.") from None


def _predecessors(part: ForeignPart, project: str) -> Ghap:
    end = part.find_part("outcome")
    if end is None:
        raise InvalidInputError("outcome: missing; only resolved entries can be imported.")
    entry_id = part.text("id", limits.ID_MAX)
    if not is_id(entry_id):
        raise InvalidInputError(f"id: {entry_id!r} has characters other than letters, digits, - and _.")
    entry = Ghap(
        id=entry_id,
        project=project,
        agent_session=session_hash(part.find_text("session_id", limits.NARRATIVE_MAX) or "unknown"),
        created_at=part.moment("created_at"),
        domain=part.category("domain", Domain),
        strategy=part.category("strategy", Strategy),
        goal=part.text("goal", limits.STATEMENT_MAX),
        hypothesis=part.text("hypothesis", limits.STATEMENT_MAX),
        action=part.text("action", limits.STATEMENT_MAX),
        prediction=part.text("prediction", limits.STATEMENT_MAX),
        history=tuple(map(_revision, part.parts("history"))),
        notes=part.texts("notes", limits.NARRATIVE_MAX),
        confidence=part.find_probability("confidence"),
        first_confidence=part.find_probability("first_confidence"),
        resolution=_resolution(end, part),
    )
    # Both follow from the rest here; a reader should know if the file said something else.
    part.note_difference("confidence_tier", entry.tier.value)
    part.note_difference("iteration_count", entry.iteration_count)
    part.note_left_out()
    end.note_left_out()
    return entry


def _revision(part: ForeignPart) -> Revision:
    revision = Revision(
        part.moment("timestamp"),
        part.text("hypothesis", limits.STATEMENT_MAX),
        part.text("action", limits.STATEMENT_MAX),
        part.text("prediction", limits.STATEMENT_MAX),
        part.find_probability("confidence"),
    )
    part.note_left_out()
    return revision


def _resolution(end: ForeignPart, story: ForeignPart) -> Resolution:
    """Return the outcome `end` of the entry `story`, which has surprise, root cause and lesson."""
    cause, lesson = story.find_part("root_cause"), story.find_part("lesson")
    resolution = Resolution(
        status=end.category("status", OutcomeStatus),
        result=end.text("result", limits.NARRATIVE_MAX),
        resolved_at=end.moment("captured_at"),
        surprise=story.find_text("surprise", limits.NARRATIVE_MAX),
        root_cause=None
        if cause is None
        else RootCause(cause.category("category", RootCauseCategory), cause.text("description", limits.NARRATIVE_MAX)),
        lesson=None
        if lesson is None
        else Lesson(
            lesson.text("what_worked", limits.NARRATIVE_MAX), lesson.find_text("takeaway", limits.NARRATIVE_MAX)
        ),
        auto_captured=end.flag("auto_captured"),
    )
    for part in (cause, lesson):
        if part is not None:
            part.note_left_out()
    resolution.require_explanation()
    return resolution
