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
from learning_memory_server.rules.suggesting.polarity import contradict, is_negative, without_will
from learning_memory_server.rules.suggesting.preferences import preferences_of
from learning_memory_server.rules.suggesting.refusals import can_be_kept

_QUESTION: Final = re.compile(r"\?(?:\W|$)")
PREFIX: Final = "suggestion_"  # Of the id of a suggestion
_HEX: Final = 32  # Digits of an id: 128 bits
_COMMON: Final = 3  # Terms that two sentences have in common at least, if one has another one besides
_OPEN: Final = (RuleState.ACCEPTED, RuleState.POSTPONED)  # Of a rule in another store, before and after an import
_LATER: Final = timedelta(days=limits.LATER_DAYS)


def suggestion_id(kind: OriginKind, text: str, project: str) -> str:
    """Return the id of a suggestion, which is the same each time."""
    named = f"{kind}\0{text}\0{project}"
    return f"{PREFIX}{hashlib.sha256(named.encode('utf-8', 'replace')).hexdigest()[:_HEX]}"


def suggestion(text: str, origin: Origin, project: str, *, is_everywhere: bool = False, words: str = "") -> Suggestion:
    """Return the suggestion of a sentence, with a pattern if the sentence has one of the common forms.

    The person said `words`, if the sentence is a part of them.
    """
    words = "" if words == text else shortened(words, limits.RULE_MAX)
    formed = form_of(text)
    when, pattern, folder = formed or (When.SESSION, None, "")
    name = suggestion_id(origin.kind, text, "" if is_everywhere else project)
    return Suggestion(
        name, text, origin, project, when, pattern, is_everywhere=is_everywhere, folder=folder, words=words
    )


async def of_files(found: Sequence[Sentence], project: str, gate: RedactionGate) -> list[Suggestion]:
    """Return the suggestions of sentences in files: those with a pattern, and those that say what to do."""
    given = {"texts": [each.text for each in found], "words": [each.words for each in found]}
    texts, words = (await gate.pass_data(given)).data.values()
    made = [
        (each, suggestion(text, each.origin, project, is_everywhere=each.is_everywhere, words=said))
        for each, text, said in zip(found, texts, words, strict=True)
    ]
    return [one for each, one in made if one.pattern or each.states]


def of_refusals(refused: Iterable[Refusal], project: str) -> list[Suggestion]:
    """Return the suggestions of refused calls with words that may be meant to last; a question says nothing."""
    found = list[Suggestion]()
    for each in refused:
        if text := _lasting(each.words):
            origin = Origin(OriginKind.REFUSAL, each.call or each.tool, each.at)
            found.append(suggestion(text, origin, project, words=each.words))
    return found


def of_preferences(memories: Iterable[Memory], project: str) -> list[Suggestion]:
    """Return the suggestions of refused calls that an earlier version kept."""
    found = list[Suggestion]()
    for each in preferences_of(memories, project):
        if each.refusal and (text := _fits(each.refusal.words)):
            origin = Origin(OriginKind.PREFERENCE, each.refusal.call or each.refusal.tool, each.refusal.at)
            found.append(suggestion(text, origin, project, words=each.refusal.words))
    return found


def of_report(failing: str, instead: str, at: datetime, project: str) -> Suggestion | None:
    """Return the suggestion to run another command in place of one that fails, None if they differ in operands only."""
    before, after = _name(failing), _name(instead)
    text = f"Use `{' '.join(after)}`, not `{' '.join(before)}`"
    # A rule that its own remedy breaks, or that is about all of a program, would stop what works.
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
    """Return suggestions, near copies as one with all origins, and by the id of each the id of the one it is in."""
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
        # One of which a machine can see breaches stands for the others.
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
    """Return the suggestions that no answer silences: a later one is asked again after days, others never are."""
    said = [
        each
        for each in rules
        if not each.imported and not (each.state is RuleState.POSTPONED and each.changed_at + _LATER <= now)
    ]
    # A person may have put it in other words than those that were found, with or without keeping these.
    ids = {each.suggestion for each in said}
    answers = [Matter.of(each) for each in said]
    answers += [Matter.of(replace(each, text=each.words, pattern=None)) for each in said if each.words]
    return [each for each in found if each.id not in ids and not any(map(Matter.of(each).is_same, answers))]


@dataclass(frozen=True, slots=True)
class Matter:
    """The matter of a sentence, for comparison."""

    text: str
    terms: frozenset[str]
    is_negative: bool
    pattern: Pattern | None

    @classmethod
    def of(cls, given: Suggestion | Rule) -> "Matter":
        """Return the matter of a suggestion or a rule."""
        text = given.text.casefold()
        return cls(text, frozenset(terms(without_will(text))), is_negative(text), given.pattern)

    def is_same(self, other: "Matter") -> bool:
        """Return whether two sentences say the same: by their patterns, else by their terms, all but at most one."""
        if self.text == other.text:
            return True
        if self.pattern and other.pattern:
            return self.pattern == other.pattern
        return self.is_negative == other.is_negative and self._is_near(other, least=_COMMON)

    def contradicts(self, other: "Matter") -> bool:
        """Return whether one forbids what the other demands."""
        if self.pattern and other.pattern and contradict(self.pattern, other.pattern):
            return True
        return self.is_negative != other.is_negative and self._is_near(other, least=2)

    def _is_near(self, other: "Matter", *, least: int) -> bool:
        """Return whether two sentences have the same terms, or all but one and so many in common."""
        # A project may have a thousand sentences, which are all compared.
        both = len(self.terms & other.terms)
        rest = len(self.terms) + len(other.terms) - 2 * both
        return bool(both) and (not rest or (rest == 1 and both >= least))


Item = Suggestion | Rule


def conflicts(new: Iterable[Item], known: Iterable[Rule]) -> list[tuple[Item, Item]]:
    """Return the pairs of sentences that contradict each other: by their patterns, else by their words.

    A pair has an accepted rule of the known ones and a new one, or two new ones.
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
    """Return the words of a refusal if they can be a rule, and are not about this call alone."""
    text = _fits(words)
    return "" if len(ONCE.findall(text)) > len(LASTING.findall(text)) else text


def _fits(words: str) -> str:
    """Return words in one short line without an address, and no question; else nothing."""
    text = words.strip()
    return fitting(text) if can_be_kept(text) and not _QUESTION.search(text) else ""


def _name(command: str) -> tuple[str, ...]:
    """Return a command's program and sub-commands, nothing if it is more than one plain call."""
    words = shown_command(command).split()
    plain = next((number for number, word in enumerate(words) if not _is_plain(word)), len(words))
    rest = words[plain:]
    return tuple(words[:plain]) if not any(set(word) & set("&|;<>$`()") for word in rest) else ()


def _is_plain(word: str) -> bool:
    return word.replace("-", "").replace("_", "").replace(":", "").isalnum() and not word.startswith("-")
