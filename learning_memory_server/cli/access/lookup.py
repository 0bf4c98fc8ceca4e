"""One thing by its id, or by the beginning of it, read from the journal without a lock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from learning_memory_server.cli.access.reading import read_entries
from learning_memory_server.cli.terminal import SHOWN, counted, shortened
from learning_memory_server.errors import InvalidInputError, NotFoundError
from learning_memory_server.journal.codec import MEMORY
from learning_memory_server.journal.failures import FailureLog
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import Records
from learning_memory_server.learning.values.log import ValueLog
from learning_memory_server.learning.values.standing import weigh_all
from learning_memory_server.learning.values.verdict_log import VerdictLog
from learning_memory_server.model.cluster import ClusterId
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.value import Value

if TYPE_CHECKING:
    from learning_memory_server.learning.values.standing import Standing
    from learning_memory_server.model.entry import Ghap
    from learning_memory_server.model.failure import Failure
    from learning_memory_server.model.memory import Memory
    from learning_memory_server.server.settings import Settings

    Found = Ghap | Standing | Memory | ClusterId | list[Failure]

_COLUMNS: Final = 28
"""Columns of a candidate's text: with a memory's id and its kind, it fits in 80."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    id: str
    kind: str
    thing: Ghap | Value | Memory | list[Failure]
    text: str


def find_by_id(name: str, settings: Settings) -> Found:
    """Return the entry, value, memory, error or cluster that an id names.

    Args:
        name: The id; the beginning of it is enough, unless several ids begin so. A cluster's id must be complete.
        settings: Where the journal is.

    Returns:
        An entry, a value with its standing, a memory, an error's failures, or a cluster's id.

    Raises:
        InvalidInputError: If several ids begin so. The message lists them.
        NotFoundError: If none does. The message says where was looked.
        JournalUnavailableError: If the journal cannot be read.
    """
    name = name.strip()
    if not name:
        raise InvalidInputError("ID: is empty.", hint="`learning-memory-server list` shows ids.")
    try:
        return ClusterId.parse(name)
    except InvalidInputError:
        pass
    journal = Journal(settings.journal_directory)
    entries, values = read_entries(settings), ValueLog(journal.values)
    memories, failures = Records(journal.memories, MEMORY), FailureLog(journal.failures)
    known = {
        each.id: each
        for each in (
            # A crash can leave the open file of an entry that is resolved; the later one counts.
            *(_Candidate(each.id, "open entry", each, each.goal) for each in journal.open_entries()),
            *(_Candidate(each.id, "entry", each, each.goal) for each in entries.list_resolved()),
            *(_Candidate(each.id, "value", each, each.text) for each in values.all()),
            *(_Candidate(each.id, "memory", each, each.title or each.text) for each in memories.all()),
            *(_Candidate(each[-1].error, "error", each, each[-1].signature) for each in failures.errors()),
        )
    }
    found = (
        [known[name]] if name in known else [known[each] for each in sorted(known) if each.startswith(name)]
    )
    if not found:
        gone = {*entries.all_forgotten(), *values.forgotten_ids(), *memories.forgotten_ids()}
        raise _nothing(name, known.values(), settings, was_forgotten=name in gone)
    if len(found) > 1:
        raise _several(name, found)
    thing = found[0].thing
    if isinstance(thing, Value):
        return weigh_all([thing], values, VerdictLog(journal.verdicts), entries)[0]
    return thing


def _several(name: str, found: list[_Candidate]) -> InvalidInputError:
    shown = [f"  {each.id}  {each.kind}: {shortened(each.text, _COLUMNS)}" for each in found[:SHOWN]]
    rest = [f"  ... and {len(found) - SHOWN:,} more"] if len(found) > SHOWN else []
    lines = "\n".join([f"{len(found):,} ids begin with {one_line(name)!r}:", *shown, *rest])
    return InvalidInputError(lines, hint="Give more of the id.")


def _nothing(
    name: str, candidates: Iterable[_Candidate], settings: Settings, *, was_forgotten: bool
) -> NotFoundError:
    if was_forgotten:
        return NotFoundError(f"{one_line(name)} was forgotten.")
    kinds = [each.kind for each in candidates]
    places = ", ".join(
        counted(kinds.count(kind), kind) for kind in ("entry", "open entry", "value", "memory", "error")
    )
    return NotFoundError(
        f"No id begins with {one_line(name)!r}. Looked among {places} in {settings.journal_directory}.",
        hint="`list`, `search`, `values`, `memories` and `failures` show ids; a cluster's is like full_0, from `clusters`.",
    )
