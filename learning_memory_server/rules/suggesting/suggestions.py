"""Suggestions: sentences that a person has not answered yet. They are computed: only an agent's are stored.

Their order says where a sentence is taken from if it stands in several places: files, memories, preferences, other
stores, agents, lessons that came again, values, refused calls, the report.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain, combinations, product
from typing import Final

from learning_memory_server.index.ranking.terms import terms
from learning_memory_server.lessons.errors.brief import shown_command
from learning_memory_server.lessons.errors.report import LASTING, ONCE
from learning_memory_server.lessons.values.log import Standing
from learning_memory_server.model import limits
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.lines import shortened
from learning_memory_server.model.memory import Memory, Refusal
from learning_memory_server.model.rule import CallForm, Origin, OriginKind, Pattern, Rule, RuleState, Suggestion, When
from learning_memory_server.model.value import Status
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.rules.forms.table import form_of
from learning_memory_server.rules.suggesting.files import Sentence, fitting
from learning_memory_server.rules.suggesting.polarity import before_no, contradict, is_negative, without_will
from learning_memory_server.rules.suggesting.preferences import preferences_of
from learning_memory_server.rules.suggesting.refusals import can_be_kept

_QUESTION: Final = re.compile(r"\?(?:\W|$)")
PREFIX: Final = "suggestion_"  # Prefix of suggestion ids
_HEX: Final = 32  # Digits of an id: 128 bits
_COMMON: Final = 3  # Minimum of common terms of two sentences if one has an additional term
_OPEN: Final = (RuleState.ACCEPTED, RuleState.POSTPONED)  # States of imported rules before and after an import
_LATER: Final = timedelta(days=limits.LATER_DAYS)


def suggestion_id(kind: OriginKind, text: str, project: str) -> str:
    """Return the id of a suggestion, which is deterministic."""
    named = f"{kind}\0{text}\0{project}"
    return f"{PREFIX}{hashlib.sha256(named.encode('utf-8', 'replace')).hexdigest()[:_HEX]}"


def suggestion(text: str, origin: Origin, project: str, *, is_everywhere: bool = False, words: str = "") -> Suggestion:
    """Return a suggestion for a sentence, with a pattern if the sentence is of a known kind.

    `words` are the person's full words if the sentence is only a part.
    """
    words = "" if words == text else shortened(words, limits.RULE_MAX)
    formed = form_of(text)
    when, pattern, folder = formed or (When.SESSION, None, "")
    name = suggestion_id(origin.kind, text, "" if is_everywhere else project)
    return Suggestion(
        name, text, origin, project, when, pattern, is_everywhere=is_everywhere, folder=folder, words=words
    )


async def of_files(found: Sequence[Sentence], project: str, gate: RedactionGate) -> list[Suggestion]:
    """Return suggestions for the sentences in files that have a pattern or are explicit instructions."""
    given = {"texts": [each.text for each in found], "words": [each.words for each in found]}
    texts, words = (await gate.pass_data(given)).data.values()
    made = [
        (each, suggestion(text, each.origin, project, is_everywhere=each.is_everywhere, words=said))
        for each, text, said in zip(found, texts, words, strict=True)
    ]
    return [one for each, one in made if one.pattern or each.states]


def of_refusals(refused: Iterable[Refusal], project: str) -> list[Suggestion]:
    """Return suggestions for refused calls with words that may be meant to last. Questions are left out."""
    found = list[Suggestion]()
    for each in refused:
        if text := _lasting(each.words):
            origin = Origin(OriginKind.REFUSAL, each.call or each.tool, each.at)
            found.append(suggestion(text, origin, project, words=each.words))
    return found


def of_preferences(memories: Iterable[Memory], project: str) -> list[Suggestion]:
    """Return suggestions for refused calls that an earlier version stored."""
    found = list[Suggestion]()
    for each in preferences_of(memories, project):
        if each.refusal and (text := _fits(each.refusal.words)):
            origin = Origin(OriginKind.PREFERENCE, each.refusal.call or each.refusal.tool, each.refusal.at)
            found.append(suggestion(text, origin, project, words=each.refusal.words))
    return found


def of_report(failing: str, instead: str, at: datetime, project: str) -> Suggestion | None:
    """Return a suggestion to replace a failing command by another; None if they differ in operands only."""
    before, after = _name(failing), _name(instead)
    text = f"Use `{' '.join(after)}`, not `{' '.join(before)}`"
    # A rule that its own remedy breaks, or that matches a whole program, would stop working calls.
    if not after or len(before) < 2 or after[: len(before)] == before or len(text) > limits.RULE_MAX:
        return None
    origin, pattern = Origin(OriginKind.REPORT, " ".join(before), at), Pattern((CallForm(before),), (CallForm(after),))
    return Suggestion(suggestion_id(origin.kind, text, project), text, origin, project, When.CALL, pattern)


def of_values(standings: Iterable[Standing], project: str) -> list[Suggestion]:
    """Return the suggestions of a project's own values that entries support, with these as evidence."""
    found = list[Suggestion]()
    for each in standings:
        value = each.value
        is_ours = value.project == project and not value.imported
        is_held = each.is_in_force and each.support.status is Status.SUPPORTED
        if is_ours and is_held and (text := fitting(value.text)):
            origin = Origin(OriginKind.VALUE, value.id, value.created_at)
            found.append(replace(suggestion(text, origin, project), evidence=each.supporting))
    return found


def of_lessons(entries: Iterable[tuple[Ghap, Sequence[str]]], project: str) -> list[Suggestion]:
    """Return the suggestions of lessons that did not hold, each with the entries in which its matter came again."""
    found = list[Suggestion]()
    for entry, again in entries:
        lesson = entry.outcome.lesson
        if entry.project == project and lesson and lesson.takeaway and (text := fitting(lesson.takeaway)):
            origin = Origin(OriginKind.LESSON, entry.id, entry.outcome.resolved_at)
            found.append(replace(suggestion(text, origin, project), evidence=(entry.id, *again)))
    return found


def of_kept(rules: Iterable[Rule], project: str) -> list[Suggestion]:
    """Return the suggestions of unanswered rules where they apply in a project: another store's, or an agent's."""
    return [
        Suggestion(
            suggestion_id(_kind_of(each), each.text, "" if each.is_everywhere else project),
            each.text,
            Origin(_kind_of(each), each.origin.name, each.origin.at),
            project,
            each.when,
            each.pattern,
            each.is_everywhere,
            evidence=each.evidence,
        )
        for each in rules
        if each.imported and each.state in _OPEN and each.applies_in(project)
    ]


def _kind_of(each: Rule) -> OriginKind:
    return OriginKind.PAST if each.origin.kind is OriginKind.PAST else OriginKind.IMPORTED


def distinct(found: Iterable[Suggestion]) -> tuple[list[Suggestion], dict[str, str]]:
    """Return suggestions with near copies merged, all origins included, and a map from each id to the merged id."""
    kept, matters, places = list[Suggestion](), list[Matter](), dict[str, int]()
    for each in found:
        matter = Matter.of(each)
        place = next((number for number, known in enumerate(matters) if known.is_same(matter)), None)
        if place is None:
            places.setdefault(each.id, len(kept))
            kept.append(each)
            matters.append(matter)
            continue
        places.setdefault(each.id, place)
        # Keep a suggestion with a pattern rather than one without.
        first, second = (each, kept[place]) if each.pattern and not kept[place].pattern else (kept[place], each)
        others = dict.fromkeys((*first.others, second.origin, *second.others))
        kept[place] = replace(
            first,
            others=tuple(other for other in others if other != first.origin),
            evidence=tuple(dict.fromkeys((*first.evidence, *second.evidence))),
        )
        matters[place] = Matter.of(first)
    return kept, {name: kept[place].id for name, place in places.items()}


def left(found: Iterable[Suggestion], rules: Iterable[Rule], now: datetime) -> list[Suggestion]:
    """Return the suggestions without an answer. A postponed one returns after some days."""
    said = [
        each
        for each in rules
        if not each.imported and not (each.state is RuleState.POSTPONED and each.changed_at + _LATER <= now)
    ]
    # A person may have reworded a suggestion when accepting it, with or without keeping the original words.
    ids = {each.suggestion for each in said}
    answers = [Matter.of(each) for each in said]
    answers += [Matter.of(replace(each, text=each.words, pattern=None)) for each in said if each.words]
    return [each for each in found if each.id not in ids and not any(map(Matter.of(each).is_same, answers))]


@dataclass(frozen=True, slots=True)
class Matter:
    """The content of a sentence, for comparison."""

    text: str
    terms: frozenset[str]
    is_negative: bool
    pattern: Pattern | None
    demanded: frozenset[str]  # terms of a negative sentence before what it forbids

    @classmethod
    def of(cls, given: Suggestion | Rule) -> "Matter":
        """Return the content of a suggestion or a rule."""
        text = given.text.casefold()
        demanded = frozenset(terms(without_will(before_no(text))))
        return cls(text, frozenset(terms(without_will(text))), is_negative(text), given.pattern, demanded)

    def is_same(self, other: "Matter") -> bool:
        """Whether two sentences mean the same: equal patterns, or terms that differ in at most one."""
        if self.text == other.text:
            return True
        if self.pattern and other.pattern:
            return self.pattern == other.pattern
        return self.is_negative == other.is_negative and self._is_near(other, least=_COMMON)

    def contradicts(self, other: "Matter") -> bool:
        """Whether one sentence forbids the act that the other demands."""
        if self.pattern and other.pattern and contradict(self.pattern, other.pattern):
            return True
        if self.is_negative == other.is_negative or not self._is_near(other, least=2):
            return False
        negative, positive = (self, other) if self.is_negative else (other, self)
        return not positive.terms <= negative.demanded  # "Use pnpm, not npm" demands "Use pnpm"

    def _is_near(self, other: "Matter", *, least: int) -> bool:
        """Whether two sentences have the same terms, or differ in one term and share at least `least`."""
        # A project may have a thousand sentences, all compared with each other.
        both = len(self.terms & other.terms)
        rest = len(self.terms) + len(other.terms) - 2 * both
        return bool(both) and (not rest or (rest == 1 and both >= least))


Item = Suggestion | Rule


def conflicts(new: Iterable[Item], known: Iterable[Rule]) -> list[tuple[Item, Item]]:
    """Return the pairs of sentences that contradict each other, by their patterns or else by their words.

    A pair consists of an accepted rule from `known` and a new sentence, or of two new sentences.
    """
    mine = [(each, Matter.of(each)) for each in new]
    accepted = [(each, Matter.of(each)) for each in known if each.is_accepted]
    return [
        (one, two)
        for (one, first), (two, second) in chain(product(accepted, mine), combinations(mine, 2))
        if _meet(one, two) and first.contradicts(second)
    ]


def _meet(one: Item, two: Item) -> bool:
    return one.project == two.project or one.is_everywhere or two.is_everywhere


def _lasting(words: str) -> str:
    """Return the words of a refusal if they can become a rule; empty if they are about this call only."""
    text = _fits(words)
    return "" if len(ONCE.findall(text)) > len(LASTING.findall(text)) else text


def _fits(words: str) -> str:
    """Return words as one short line; empty if they are a question or have an address."""
    text = words.strip()
    return fitting(text) if can_be_kept(text) and not _QUESTION.search(text) else ""


def _name(command: str) -> tuple[str, ...]:
    """Return the program and sub-commands of a command; empty if it is more than one simple call."""
    words = shown_command(command).split()
    plain = next((number for number, word in enumerate(words) if not _is_plain(word)), len(words))
    rest = words[plain:]
    return tuple(words[:plain]) if not any(set(word) & set("&|;<>$`()") for word in rest) else ()


def _is_plain(word: str) -> bool:
    return word.replace("-", "").replace("_", "").replace(":", "").isalnum() and not word.startswith("-")
