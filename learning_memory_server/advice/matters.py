"""Lessons about the same matter: only the newest lesson is shown.

Two entries are about the same matter in any of these cases: they are tied to the same error, their texts are nearly the
same, or the later one is the same session's next attempt after the earlier hypothesis was falsified.
"""

from collections.abc import Iterable
from functools import lru_cache

from learning_memory_server.advice import constants
from learning_memory_server.advice.candidates import Candidate
from learning_memory_server.index.ranking.terms import terms
from learning_memory_server.model.advice import AdviceKind
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.moment import as_seen
from learning_memory_server.model.vocabulary import OutcomeStatus


@lru_cache(1_024)
def _terms_in(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def are_alike(one: str, other: str) -> bool:
    """Whether two texts share enough terms to count as near copies."""
    mine, others = _terms_in(one), _terms_in(other)
    shared = len(mine & others)
    return shared > 0 and shared >= constants.ALIKE * len(mine | others)


def are_one(one: Ghap, other: Ghap) -> bool:
    """Whether two entries are about the same matter."""
    if are_alike(one.learned, other.learned):
        return True
    if _lines_of(one) & _lines_of(other):
        return True
    if one.agent_session != other.agent_session or not are_alike(one.goal, other.goal):
        return False
    # A confirmed entry stays valid, whatever the session tried later.
    return min(one, other, key=age).outcome.status is OutcomeStatus.FALSIFIED


def distinct(entries: Iterable[Ghap]) -> list[Ghap]:
    """Return the first entry about each matter."""
    found: list[Ghap] = []
    for entry in entries:
        if not any(are_one(entry, each) for each in found):
            found.append(entry)
    return found


def newest_about(entry: Ghap, others: Iterable[Ghap]) -> Ghap:
    """Return the newest entry about the same matter as `entry`, from `others` or itself."""
    alike = (each for each in others if each.project == entry.project and are_one(entry, each))
    return max((entry, *alike), key=age)


def newest_of_each(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return one candidate for each matter: the newest, at the position of the first."""
    found: list[Candidate] = []
    for candidate in candidates:
        same = next((place for place, each in enumerate(found) if _are_one(candidate, each)), None)
        if same is None:
            found.append(candidate)
        elif age(candidate.entry) > age(found[same].entry):
            found[same] = candidate
    return found


def _are_one(one: Candidate, other: Candidate) -> bool:
    lessons = one.kind is AdviceKind.EXPERIENCE and other.kind is AdviceKind.EXPERIENCE
    return lessons and are_one(one.entry, other.entry)


def age(entry: Ghap) -> tuple[object, str]:
    """Return a sort key for resolved entries, oldest first."""
    return as_seen(entry.outcome.resolved_at), entry.id


def _lines_of(entry: Ghap) -> frozenset[str]:
    return frozenset(each.line for each in entry.errors if each.is_tied)
