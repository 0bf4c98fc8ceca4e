"""GHAP entries from elsewhere: lines of JSON, in this journal's own form or in the predecessor's."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.domain import limits
from learning_memory_server.domain.ghap import Ghap, Lesson, Resolution, Revision, RootCause
from learning_memory_server.domain.vocabulary import Domain, OutcomeStatus, RootCauseCategory, Strategy
from learning_memory_server.errors import InvalidInputError, JournalUnavailableError
from learning_memory_server.identity import session_hash
from learning_memory_server.journal.codec import MALFORMED
from learning_memory_server.journal.formats import CURRENT, is_version
from learning_memory_server.journal.record import DamagedLineError, JournalRecord
from learning_memory_server.observation.foreign import ForeignPart

if TYPE_CHECKING:
    from collections.abc import Iterable

_HASH: Final = re.compile(r"[0-9a-f]{16}")
_ID: Final = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Rejection:
    """A line that is no entry, and why."""

    line_number: int
    reason: str


@dataclass(slots=True)
class ParsedEntries:
    """What a file holds.

    Args:
        entries: The entries by id, in the order of the file; of several lines about one, the last. What the file
            says is forgotten is not among them.
        rejections: The lines that were not taken.
        repeated: How many lines were superseded by a later one about the same entry.
        changes: What the entries do not say in the file's words, and how often: names that were mapped,
            fields that have no place here.
        forgotten: The ids of the entries that the file says are forgotten.
    """

    entries: dict[str, Ghap] = field(default_factory=dict)
    rejections: list[Rejection] = field(default_factory=list)
    repeated: int = 0
    changes: Counter[str] = field(default_factory=Counter)
    forgotten: set[str] = field(default_factory=set)


def parse_entries(lines: Iterable[bytes], *, project: str) -> ParsedEntries:
    """Read resolved entries, each line by itself.

    Args:
        lines: The file's lines, in UTF-8. Blank ones are passed over.
        project: The project of lines in the predecessor's form, which name none.
    """
    parsed = ParsedEntries()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        changes: Counter[str] = Counter()
        try:
            found = _parse(line, project, changes)
        except InvalidInputError as error:
            parsed.rejections.append(Rejection(number, error.message))
            continue
        if isinstance(found, JournalRecord):
            parsed.forgotten.add(found.id)
            continue
        parsed.repeated += found.id in parsed.entries
        parsed.entries[found.id] = found
        parsed.changes.update(changes)
    # Only now: a tombstone counts wherever it stands.
    for forgotten in parsed.forgotten:
        parsed.entries.pop(forgotten, None)
    return parsed


def entry_of_record(record: JournalRecord, changes: Counter[str] | None = None) -> Ghap:
    """Return the resolved entry that a line of a journal holds.

    Args:
        record: The line, whose checksum was right.
        changes: Where to count what is not kept as it was.

    Raises:
        InvalidInputError: If it holds none, or one that this program would not have written.
    """
    if record.kind != "ghap" or not isinstance(record.data, dict):
        raise InvalidInputError(f"the journal line is about {record.kind!r}, not a GHAP entry.")
    if record.id != record.data.get("id"):
        raise InvalidInputError("id: the journal line and its data name different ones.")
    entry = _own(record.data, Counter() if changes is None else changes)
    if entry.resolution is None:
        raise InvalidInputError("the entry is still open; only resolved ones can be imported.")
    return entry


def parse_open(text: bytes) -> Ghap:
    """Return the open entry that a file of a journal's open folder holds, as an orphan.

    Raises:
        InvalidInputError: If it holds none.
        JournalUnavailableError: If a newer program wrote it.
    """
    try:
        body = json.loads(text)
        version = body.pop("v", 1)
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise InvalidInputError("the open entry is not a JSON object.") from None
    if not is_version(version):
        raise InvalidInputError("v: must be a whole number.")
    CURRENT.refuse_newer(version)
    try:
        data = CURRENT.upgraded("ghap", body, version)
    except MALFORMED as error:
        raise InvalidInputError(f"the open entry cannot be brought forward ({error}).") from None
    entry = _own(data, Counter())
    if entry.resolution is not None:
        raise InvalidInputError("the open entry is resolved.")
    return replace(entry, orphaned=True)


def _parse(line: bytes, project: str, changes: Counter[str]) -> Ghap | JournalRecord:
    """Return the entry of a line, or the tombstone that it is."""
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
        return record if is_tombstone else entry_of_record(record, changes)
    return _predecessors(ForeignPart("", body, changes), project)


def _record(line: bytes, body: dict[str, Any]) -> JournalRecord:
    if "sum" not in body:
        raise InvalidInputError("the journal line has no checksum.")
    try:
        # An editor may have changed how lines end; the checksum is about what is in them.
        return JournalRecord.from_line(line.removeprefix(b"\xef\xbb\xbf").strip() + b"\n")
    except DamagedLineError as error:
        raise InvalidInputError(f"the journal line is damaged: {error}.") from None
    except JournalUnavailableError as error:
        raise InvalidInputError(error.message) from None
    except (UnicodeEncodeError, RecursionError):
        # JSON can spell what has no canonical form to take a checksum of.
        raise InvalidInputError("the journal line cannot be what a journal has written.") from None


def _own(data: dict[str, Any], changes: Counter[str]) -> Ghap:
    part = ForeignPart("", data, changes)
    end = part.find_part("resolution")
    session = part.text("agent_session", limits.ID_MAX)
    # They name calls of fronts that are gone, and are of no use elsewhere.
    part.texts("requests", limits.ID_MAX)
    part.flag("orphaned")
    entry = _entry(
        part,
        project=part.text("project", limits.PROJECT_MAX),
        # Only what is a hash already may be kept as it is.
        session=session if _HASH.fullmatch(session) else session_hash(session),
        resolution=_resolution(end, end, "resolved_at") if end else None,
        revised="at",
    )
    part.note_left_out()
    if end:
        end.note_left_out()
    return entry


def _predecessors(part: ForeignPart, project: str) -> Ghap:
    end = part.find_part("outcome")
    if end is None:
        raise InvalidInputError("outcome: missing; only resolved entries can be imported.")
    entry = _entry(
        part,
        project=project,
        session=session_hash(part.find_text("session_id", limits.NARRATIVE_MAX) or "unknown"),
        resolution=_resolution(end, part, "captured_at"),
        revised="timestamp",
    )
    # Both follow from the rest here; where they said something else, the reader should know.
    part.note_difference("confidence_tier", entry.tier.value)
    part.note_difference("iteration_count", entry.iteration_count)
    part.note_left_out()
    end.note_left_out()
    return entry


def _entry(
    part: ForeignPart, *, project: str, session: str, resolution: Resolution | None, revised: str
) -> Ghap:
    entry_id = part.text("id", limits.ID_MAX)
    if not _ID.fullmatch(entry_id):
        raise InvalidInputError(f"id: {entry_id!r} has other characters than letters, digits, - and _.")
    return Ghap(
        id=entry_id,
        project=project,
        agent_session=session,
        created_at=part.moment("created_at"),
        domain=part.category("domain", Domain),
        strategy=part.category("strategy", Strategy),
        goal=part.text("goal", limits.STATEMENT_MAX),
        hypothesis=part.text("hypothesis", limits.STATEMENT_MAX),
        action=part.text("action", limits.STATEMENT_MAX),
        prediction=part.text("prediction", limits.STATEMENT_MAX),
        history=tuple(_revision(item, revised) for item in part.parts("history")),
        notes=part.texts("notes", limits.NARRATIVE_MAX),
        resolution=resolution,
    )


def _revision(part: ForeignPart, revised: str) -> Revision:
    revision = Revision(
        part.moment(revised),
        part.text("hypothesis", limits.STATEMENT_MAX),
        part.text("action", limits.STATEMENT_MAX),
        part.text("prediction", limits.STATEMENT_MAX),
    )
    part.note_left_out()
    return revision


def _resolution(end: ForeignPart, story: ForeignPart, resolved: str) -> Resolution:
    """Return the outcome. `story` is where surprise, root cause and lesson stand: in `end`, or around it."""
    cause, lesson = story.find_part("root_cause"), story.find_part("lesson")
    resolution = Resolution(
        status=end.category("status", OutcomeStatus),
        result=end.text("result", limits.NARRATIVE_MAX),
        resolved_at=end.moment(resolved),
        surprise=story.find_text("surprise", limits.NARRATIVE_MAX),
        root_cause=None
        if cause is None
        else RootCause(
            cause.category("category", RootCauseCategory), cause.text("description", limits.NARRATIVE_MAX)
        ),
        lesson=None
        if lesson is None
        else Lesson(
            lesson.text("what_worked", limits.NARRATIVE_MAX),
            lesson.find_text("takeaway", limits.NARRATIVE_MAX),
        ),
        auto_captured=end.flag("auto_captured"),
    )
    for part in (cause, lesson):
        if part is not None:
            part.note_left_out()
    resolution.require_explanation()
    return resolution
