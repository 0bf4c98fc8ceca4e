"""Checks of imported things: each returns the thing as it may be stored, or raises `InvalidInputError`."""

import math
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any, Final

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model import limits
from learning_memory_server.model.advice import Advice
from learning_memory_server.model.answer import Answer
from learning_memory_server.model.caller import session_hash
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.memory import REFUSAL, Memory, checked_metadata
from learning_memory_server.model.project import Naming
from learning_memory_server.model.rule import OriginKind, Rule, RuleCount, RuleState
from learning_memory_server.model.value import Value, Verdict
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.redaction.base import shortened_markers

_ID: Final = re.compile(r"[A-Za-z0-9_-]+")
_HASH: Final = re.compile(r"[0-9a-f]{16}")
_FAILURE_ID: Final = re.compile(r"failure_[0-9a-f]{16}_[0-9a-f]{12}")
_SCORE_MAX: Final = 10  # The highest score of advice: present ones are below 1.2
_NUMBER_MAX: Final = 100_000_000  # A cluster's highest number, short enough for an id that a tool accepts
_TEXTS: Final = {
    **dict.fromkeys(("goal", "hypothesis", "action", "prediction"), limits.STATEMENT_MAX),
    **dict.fromkeys(("result", "description", "notes"), limits.NARRATIVE_MAX),
    "agent_session": limits.ID_MAX,
    "command": limits.RUN_COMMAND_MAX,
}
"""The limits of texts of an entry that must not be empty. Others may be, and have the limit of `notes`."""


def is_id(text: str) -> bool:
    """Return whether a text can be an id."""
    return _ID.fullmatch(text) is not None and len(text) <= limits.ID_MAX


def _check_ids(**ids: str) -> None:
    for name, given in ids.items():
        if not is_id(given):
            raise InvalidInputError(f"{name}: {given!r} is not a valid id.")


def checked_entry(entry: Ghap) -> Ghap:
    """Return an entry as it may be stored."""
    _check_ids(id=entry.id, same_as=entry.same_as or entry.id)
    needed = _TEXTS.keys() - ({"action", "prediction"} if entry.afterwards else set())
    for name, part in leaves("", entry):
        if isinstance(part, str) and (part or name in needed):
            limits.checked_text(name, part, _TEXTS.get(name, limits.NARRATIVE_MAX), shortened_markers)
        elif isinstance(part, datetime) and part.tzinfo is None:
            raise InvalidInputError(f"{name}: must have an offset from UTC.")
        elif isinstance(part, float) and not 0 <= part <= 1:
            raise InvalidInputError(f"{name}: must be a number from 0 to 1.")
    if end := entry.resolution:
        end.require_explanation()
        entry = replace(entry, resolution=replace(end, words=one_line(end.words)[: limits.PERSON_WORDS_MAX]))
    elif entry.afterwards:
        raise InvalidInputError("afterwards: an open entry was not written afterwards.")
    # `requests` names calls of fronts that have ended. Anything but a hash of a session is hashed.
    session = entry.agent_session
    return replace(
        entry,
        agent_session=session if _HASH.fullmatch(session) else session_hash(session),
        agent="",
        requests=(),
        orphaned=entry.resolution is None,
    )


def leaves(name: str, part: Any) -> Iterator[tuple[str, Any]]:
    """Yield every text, number and time in a thing, and what it has under unknown names, with the name of its field."""
    if is_dataclass(part):
        for each in fields(part):
            yield from leaves(each.name, getattr(part, each.name))
    elif isinstance(part, tuple):
        for each in part:
            yield from leaves(name, each)
    elif not isinstance(part, Enum):
        yield name, part


def checked_value(value: Value) -> Value:
    """Return a value as it may be stored."""
    _check_ids(id=value.id, supersedes=value.supersedes or value.id)
    limits.checked_text("text", value.text, limits.VALUE_MAX, shortened_markers)
    if value.supersedes == value.id:
        raise InvalidInputError("supersedes: a value cannot supersede itself.")
    evidence = value.evidence
    if not all(
        map(math.isfinite, (*evidence.centroid, evidence.similarity, evidence.centroid_distance, evidence.threshold))
    ):
        raise InvalidInputError("evidence: its metrics must be finite numbers.")
    return replace(value, request=None)  # `request` names a call of a front that has ended


def checked_verdict(verdict: Verdict) -> Verdict:
    """Return a verdict as it may be stored."""
    _check_ids(value_id=verdict.value_id, ghap_id=verdict.ghap_id)
    return replace(verdict, requests=())


def checked_advice(advice: Advice) -> Advice:
    """Return advice as it may be stored."""
    for given in filter(None, (advice.ghap_id, *(item.id for item in advice.items))):
        _check_ids(items=given)
    if advice.revision < bool(advice.ghap_id) or not (advice.ghap_id or advice.session):
        raise InvalidInputError("ghap_id, revision, session: are not what this program writes.")
    for name in filter(None, (advice.session, advice.context, advice.agent, advice.key)):
        limits.checked_text("session, context, agent, key", name, limits.ID_MAX)
    if not all(-_SCORE_MAX <= item.score <= _SCORE_MAX for item in advice.items if item.score is not None):
        raise InvalidInputError(f"score: must be a number from -{_SCORE_MAX} to {_SCORE_MAX}.")
    return advice


def checked_failure(failure: Failure) -> Failure:
    """Return a failure as it may be stored."""
    if not _FAILURE_ID.fullmatch(failure.id):
        raise InvalidInputError(f"id: {failure.id!r} is not a valid id of a failure.")
    limits.checked_text("session", failure.session, limits.ID_MAX)
    limits.checked_text("signature", failure.signature, limits.SIGNATURE_MAX, shortened_markers)
    limits.checked_text("line", failure.named_line, limits.SIGNATURE_MAX, shortened_markers)
    _check_ids(
        advice=failure.advice.id if failure.advice else failure.id,
        during=failure.during.entry if failure.during else failure.id,
    )
    for command in (failure.command, *([failure.worked] if failure.worked is not None else ())):
        limits.checked_text("command, remedy", command, limits.COMMAND_MAX, shortened_markers)
    if failure.folder:
        limits.checked_text("folder", failure.folder, limits.COMMAND_MAX, shortened_markers)
    if failure.times < 1:
        raise InvalidInputError("times: must be a whole number above 0.")
    for name in filter(None, (failure.agent, failure.context)):
        limits.checked_text("agent, context", name, limits.ID_MAX)
    return failure


def checked_memory(memory: Memory) -> Memory:
    """Return a memory as it may be stored."""
    _check_ids(id=memory.id, replaces=memory.replaces or memory.id)
    limits.checked_text("text", memory.text, limits.MEMORY_MAX, shortened_markers)
    # What another store says that its user refused is a plain text here.
    refusal = memory.refusal
    said = (refusal.tool, refusal.call, refusal.words, refusal.when) if refusal and not memory.imported else ("\n",)
    refusal = refusal if all(each == one_line(each) and len(each) <= limits.COMMAND_MAX for each in said) else None
    metadata = checked_metadata({} if memory.refusal else memory.metadata, shortened_markers)
    metadata |= {"source": REFUSAL} if refusal else {}
    if memory.date.tzinfo is None:
        raise InvalidInputError("date: must have an offset from UTC.")
    # The chunks depend on the model of this store, so they are not imported.
    return replace(memory, metadata=metadata, request=None, chunking=None, refusal=refusal)


def checked_answer(answer: Answer) -> Answer:
    """Return a person's answer as it may be stored."""
    _check_ids(id=answer.id)
    return answer


_ANSWERED: Final = (RuleState.DECLINED, RuleState.RETIRED)


def checked_rule(rule: Rule) -> Rule:
    """Return a rule as it may be stored: as it was answered, or as a suggestion if it is another store's."""
    _check_ids(id=rule.id, replaces=rule.replaces or rule.id)
    text = limits.checked_text("text", one_line(rule.text), limits.RULE_MAX, shortened_markers)
    for name, part in leaves("", rule):
        if isinstance(part, datetime) and part.tzinfo is None:
            raise InvalidInputError(f"{name}: must have an offset from UTC.")
    evidence = rule.evidence[: limits.RULE_EVIDENCE_MAX]
    _check_ids(**{f"evidence[{number}]": name for number, name in enumerate(evidence)})
    rule = replace(rule, text=text, words=one_line(rule.words)[: limits.RULE_MAX], evidence=evidence)
    return suggested_rule(rule) if rule.imported else rule


def suggested_rule(rule: Rule) -> Rule:
    """Return a rule of another store as a suggestion, which no person here has answered."""
    return replace(
        rule,
        origin=replace(rule.origin, kind=OriginKind.IMPORTED),
        # What was declined or retired there is not asked about here. This is also read a second time.
        state=RuleState.DECLINED if rule.state in _ANSWERED else RuleState.POSTPONED,
        is_everywhere=False,
        is_enforced=False,
        words="",
        replaces="",
        suggestion="",
        imported=True,
    )


def checked_count(count: RuleCount) -> RuleCount:
    """Return how a rule fared in a session as it may be stored."""
    _check_ids(id=count.id, rule=count.rule)
    limits.checked_text("session", count.session, limits.ID_MAX)
    if min(count.followed, count.reminded, count.broken, count.stopped) < 0:
        raise InvalidInputError("followed, reminded, broken, stopped: must be whole numbers from 0.")
    return count


def checked_naming(naming: Naming) -> Naming:
    """Return what a person said of a project as it may be stored."""
    for text in (naming.name, naming.into):
        if text is not None:
            limits.checked_text("name, into", text, limits.PROJECT_MAX, shortened_markers)
    return naming


def check_clusters(axis: str, data: dict[str, Any]) -> None:
    """Refuse a change of cluster numbers that this program would not have written."""
    Axis(axis)
    given = [number for number in data["moved"].values() if number is not None]
    following = data["next_number"]
    if not all(
        isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= _NUMBER_MAX
        for number in (following, *given)
    ):
        raise InvalidInputError(f"next_number, moved: must be whole numbers from 0 to {_NUMBER_MAX:,}.")
    if given and following <= max(given):
        raise InvalidInputError(f"next_number: {following} is not above {max(given)}, which is taken already.")
