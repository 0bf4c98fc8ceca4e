"""Mistakes with commands that agents repeated, and what they are told when it happens again.

One mistake may show as many errors: with the wrong interpreter, each script fails in its own way. So failures are put
together by the edit that mended them.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from learning_memory_server.learning.failures.changes import Edit
from learning_memory_server.learning.failures.remedies import mended, remedy_for
from learning_memory_server.model.failure import Failure

_OF_A_FOLDER: Final = frozenset({"leave", "enter"})
"""Edits that are right in one working directory, and wrong in others."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake that was made in two sessions or more."""

    command: str  # the shortest command that failed
    remedy: str  # what an agent is told worked instead
    signatures: tuple[str, ...]  # the errors that it led to, the most frequent first
    sessions: int  # those in which it was made, and mended in this way
    last: datetime  # when it was made last
    is_of_a_folder: bool  # whether it is one in some working directories only


def repeated_mistakes(errors: Iterable[Sequence[Failure]], folder: str | None = None) -> list[Mistake]:
    """Return the mistakes that came back, those of most sessions first.

    Only what an agent would be told: see `remedies.remedy_for`. A session counts if it mended its failure in that way.

    Args:
        errors: The failures of each error of a project, oldest first.
        folder: The project's folder, for what depends on its files.
    """
    found: dict[frozenset[Edit], list[tuple[Failure, str]]] = defaultdict(list)
    for known in errors:
        for each in known:
            # Without a folder, a change of folder is told, too: a session will be in the one where it is right.
            told = remedy_for(each.command, known, named=each.named)
            told = told or remedy_for(each.command, known, named=each.named, folder=folder)
            made = mended(each.command, told.text) if told else None
            own = mended(each.command, each.remedy) if each.remedy else None
            if told and made and own and made.edits and made.edits <= own.edits:
                found[made.edits].append((each, told.text))
    mistakes = [_mistake(edits, cases) for edits, cases in found.items()]
    return sorted((each for each in mistakes if each.sessions > 1), key=lambda each: (-each.sessions, each.command))


def _mistake(edits: frozenset[Edit], cases: Sequence[tuple[Failure, str]]) -> Mistake:
    sessions: dict[str, set[str]] = defaultdict(set)
    for failure, _ in cases:
        sessions[failure.signature].add(failure.session)
    shortest, remedy = min(cases, key=lambda case: (len(case[0].command), case[0].command))
    return Mistake(
        shortest.command,
        remedy,
        tuple(sorted(sessions, key=lambda name: (-len(sessions[name]), name))),
        len(set[str]().union(*sessions.values())),
        max(failure.created_at for failure, _ in cases),
        is_of_a_folder=any(edit.kind in _OF_A_FOLDER for edit in edits),
    )
