"""Suggestions come from what a person has said elsewhere, once for each matter, and an answer silences them."""

from dataclasses import replace
from datetime import timedelta

import pytest

from learning_memory_server.journal.checks import checked_rule
from learning_memory_server.lessons.values.log import Standing
from learning_memory_server.model.memory import Memory, Refusal
from learning_memory_server.model.rule import (
    CallForm,
    Origin,
    OriginKind,
    Pattern,
    Rule,
    RuleState,
    Suggestion,
    When,
    new_rule_id,
)
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.redaction.redactor import build_redactor
from learning_memory_server.rules.forms.table import form_of
from learning_memory_server.rules.suggesting import suggestions
from learning_memory_server.rules.suggesting.files import Sentence
from tests.server.dashboard.making import entry, value
from tests.support import NOON

HERE = "acme/shop"
NO_PUSH = Pattern((CallForm(("git", "push")),))
PNPM = Pattern((CallForm(("npm",)),), (CallForm(("pnpm",)),))
NPM = Pattern((CallForm(("pnpm",)),), (CallForm(("npm",)),))


def suggested(
    text: str, pattern: Pattern | None = None, kind: OriginKind = OriginKind.FILE, **more: object
) -> Suggestion:
    made = suggestions.suggestion(text, Origin(kind, "CLAUDE.md"), HERE)
    return replace(made, pattern=pattern, **more)  # type: ignore[arg-type]


def answered(text: str, state: RuleState, pattern: Pattern | None = None, **more: object) -> Rule:
    rule = Rule(new_rule_id(), text, HERE, state, Origin(OriginKind.FILE, "CLAUDE.md"), NOON, NOON, pattern=pattern)
    return replace(rule, **more)  # type: ignore[arg-type]


def refused(words: str, call: str = "git commit -m x") -> Refusal:
    return Refusal("Bash", call, words, NOON)


def test_an_id_is_of_128_bits_and_the_same_each_time() -> None:
    one, two = suggested("Weigh the tea"), suggested("Weigh the tea")
    assert one.id == two.id
    assert one.id.removeprefix("suggestion_").isalnum()
    assert len(one.id) == len("suggestion_") + 32
    assert one.id != suggested("Weigh the bread").id
    assert one.id != suggested("Weigh the tea", kind=OriginKind.MEMORY).id


async def test_a_line_of_a_file_is_a_suggestion_if_it_says_what_to_do() -> None:
    found = [Sentence("Never open the tin.", "CLAUDE.md"), Sentence("The tin is red.", "CLAUDE.md")]
    found.append(Sentence("Tins are red", "memory a.md", OriginKind.MEMORY))
    made = await suggestions.of_files(found, HERE, RedactionGate())
    assert [(each.text, each.origin.name) for each in made] == [
        ("Never open the tin.", "CLAUDE.md"),
        ("Tins are red", "memory a.md"),
    ]


async def test_a_secret_in_a_file_is_not_shown() -> None:
    token = "ghp_" + "a1B2" * 9
    made = await suggestions.of_files(
        [Sentence(f"Always log in with {token}", "CLAUDE.md")], HERE, RedactionGate(build_redactor())
    )
    assert token not in made[0].text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("no, never commit for me", "no, never commit for me"),
        (" use the tin ", "use the tin"),
        ("why?", None),
        ("is there a tin? use that", None),
        ("ask for /tea?kind=green", "ask for /tea?kind=green"),
        ("see https://example.org/a", None),
        ("one\ntwo", None),
        ("x" * 201, None),
        ("wait, first the tea", None),
        ("", None),
    ],
)
def test_words_of_a_refused_call_are_a_suggestion_if_they_may_last(words: str, text: str | None) -> None:
    made = suggestions.of_refusals([refused(words)], HERE)
    assert [each.text for each in made] == ([text] if text else [])
    assert all(each.origin == Origin(OriginKind.REFUSAL, "git commit -m x", NOON) for each in made)


def test_what_an_earlier_version_kept_is_a_suggestion_of_its_project() -> None:
    kept = [
        Memory(name, "told", {}, NOON, project, NOON, refusal=refusal)
        for name, project, refusal in (
            ("1", HERE, refused("never push")),
            ("2", "acme/site", refused("use yarn")),
            ("3", HERE, None),
        )
    ]
    assert [(each.text, each.origin.kind) for each in suggestions.of_preferences(kept, HERE)] == [
        ("never push", OriginKind.PREFERENCE)
    ]


@pytest.mark.parametrize(
    ("failing", "instead", "text"),
    [
        ("tea brew pot", "brew pot", "Use `brew pot`, not `tea brew pot`"),
        ("cd . && npm run weigh", "pnpm run weigh | tail -3", "Use `pnpm run weigh`, not `npm run weigh`"),
        ("npm run weigh --all", "npm run weigh", None),  # Its own remedy would break it
        ("tea", "coffee", None),  # All of a program
        ("tea brew && pack", "coffee brew", None),
        ("./tea brew", "coffee brew", None),
    ],
)
def test_a_command_that_fails_is_a_suggestion_if_another_one_is_named(
    failing: str, instead: str, text: str | None
) -> None:
    made = suggestions.of_report(failing, instead, NOON, HERE)
    assert (made.text if made else None) == text
    if made:
        assert (made.when, made.origin.at) == (When.CALL, NOON)


def test_what_another_store_brought_is_a_suggestion() -> None:
    brought = answered("Never push", RuleState.ACCEPTED, NO_PUSH, imported=True)
    others = [
        replace(brought, state=RuleState.DECLINED),
        replace(brought, imported=False),
        replace(brought, project="acme/site"),
    ]
    everywhere = replace(brought, text="Use tins", project="acme/site", is_everywhere=True)
    made = suggestions.of_kept([brought, *others, everywhere], HERE)
    assert [(each.text, each.pattern, each.origin.kind) for each in made] == [
        ("Never push", NO_PUSH, OriginKind.IMPORTED),
        ("Use tins", NO_PUSH, OriginKind.IMPORTED),
    ]


def standing(number: int, supporting: tuple[str, ...], contradicting: tuple[str, ...] = (), **more: object) -> Standing:
    """A value of this project with its verdicts, or one that differs from it."""
    superseded_by = more.pop("superseded_by", None)
    made = replace(value(number, f"Look first {number}", ()), **{"project": HERE, **more})  # type: ignore[arg-type]
    return Standing(made, supporting, contradicting, superseded_by)  # type: ignore[arg-type]


def test_a_value_that_entries_support_is_a_suggestion_with_these_as_evidence() -> None:
    held = standing(1, ("ghap_1", "ghap_2"), ("ghap_3",))
    others = [
        standing(2, ()),
        standing(3, ("ghap_1",), ("ghap_2",)),
        standing(4, ("ghap_1",), superseded_by="value_5"),
        standing(5, ("ghap_1",), imported=True),
        standing(6, ("ghap_1",), project="acme/site"),
    ]
    (made,) = suggestions.of_values([held, *others], HERE)
    assert (made.text, made.origin.kind, made.origin.name) == ("Look first 1", OriginKind.VALUE, held.value.id)
    rule = made.answered(RuleState.ACCEPTED, NOON)
    assert rule.evidence == ("ghap_1", "ghap_2")


def test_a_lesson_that_came_again_is_a_suggestion_with_each_entry_as_evidence() -> None:
    first = replace(entry(0), project=HERE)
    without = replace(first, id="ghap_9", resolution=replace(first.outcome, lesson=None))
    (made,) = suggestions.of_lessons([(first, ["ghap_1"]), (without, ["ghap_2"])], HERE)
    assert (made.text, made.origin.kind) == (first.outcome.lesson and first.outcome.lesson.takeaway, OriginKind.LESSON)
    assert made.evidence == (first.id, "ghap_1")
    assert suggestions.of_lessons([(first, ["ghap_1"])], "acme/site") == []


def test_a_sentence_of_an_agent_stays_one_and_another_stores_is_no_agents() -> None:
    kept = answered("Never push", RuleState.POSTPONED, NO_PUSH, imported=True, evidence=("moment_1",))
    kept = replace(kept, origin=Origin(OriginKind.PAST, "1 objection of yours in 1 session"))
    (made,) = suggestions.of_kept([kept], HERE)
    assert (made.origin.kind, made.evidence) == (OriginKind.PAST, ("moment_1",))
    (brought,) = suggestions.of_kept([checked_rule(kept)], HERE)
    assert brought.origin.kind is OriginKind.IMPORTED


def test_near_copies_are_one_with_the_evidence_of_both() -> None:
    one, two = suggested("Never open the red tin"), suggested("never open the red tins!", kind=OriginKind.PAST)
    (both,), _ = suggestions.distinct([replace(one, evidence=("a", "b")), replace(two, evidence=("b", "c"))])
    assert both.evidence == ("a", "b", "c")


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (suggested("Use pnpm, not npm.", PNPM), suggested("pnpm instead of npm please", PNPM)),
        (suggested("Never open the red tin"), suggested("never open the red tins!")),
        (suggested("Never open the red tin"), suggested("Do not open the red tin today")),
    ],
)
def test_near_copies_are_one_with_both_origins(one: Suggestion, two: Suggestion) -> None:
    two = replace(two, id="suggestion_2", origin=Origin(OriginKind.MEMORY, "memory a.md"))
    kept, stands = suggestions.distinct([one, two])
    assert [(each.id, each.others) for each in kept] == [(one.id, (two.origin,))]
    assert stands == {one.id: one.id, two.id: one.id}


def test_of_near_copies_the_one_with_a_pattern_stands_for_the_other() -> None:
    plain = suggested("Never open the red tin")
    seen = replace(suggested("Never open the red tin!", NO_PUSH), id="suggestion_2")
    kept, stands = suggestions.distinct([plain, seen])
    assert [(each.id, each.others) for each in kept] == [(seen.id, ())]
    assert stands[plain.id] == seen.id


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (suggested("Use pnpm, not npm.", PNPM), suggested("Use npm, not pnpm.", NPM)),
        (suggested("Always open the red tin"), suggested("Never open the red tin")),
        (suggested("Never use plastic bags"), suggested("Never use plastic tins")),
    ],
)
def test_others_are_two(one: Suggestion, two: Suggestion) -> None:
    assert len(suggestions.distinct([one, two])[0]) == 2


@pytest.mark.parametrize("state", [RuleState.ACCEPTED, RuleState.DECLINED, RuleState.RETIRED])
def test_an_answer_silences_a_suggestion_and_its_near_copies(state: RuleState) -> None:
    given = [suggested("Never open the red tin"), suggested("Do not open the red tin!"), suggested("Weigh the bread")]
    left = suggestions.left(given, [answered("Never open the red tin.", state)], NOON)
    assert [each.text for each in left] == ["Weigh the bread"]


def test_a_postponed_one_is_offered_again_after_a_week() -> None:
    given, answers = [suggested("Weigh the bread")], [answered("Weigh the bread", RuleState.POSTPONED)]
    assert suggestions.left(given, answers, NOON + timedelta(days=6, hours=23)) == []
    assert suggestions.left(given, answers, NOON + timedelta(days=7)) == given


def test_what_another_person_has_answered_silences_nothing() -> None:
    given = [suggested("Weigh the bread")]
    assert suggestions.left(given, [answered("Weigh the bread", RuleState.DECLINED, imported=True)], NOON) == given


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (("Use pnpm, not npm.", PNPM), ("Use npm, not pnpm.", NPM)),
        (
            ("Push when done", Pattern(first=(CallForm(("git", "push")),))),
            ("Never push without me", replace(NO_PUSH, asked=("push",))),
        ),
        (
            ("Always squash", Pattern((CallForm(("gh", "pr", "merge"), lacking=("--squash",)),))),
            ("Never squash", Pattern((CallForm(("gh", "pr", "merge"), having=("--squash",)),))),
        ),
        (("Always open the tin", None), ("Never open the tin", None)),
    ],
)
def test_two_that_contradict_each_other_are_a_pair(
    one: tuple[str, Pattern | None], two: tuple[str, Pattern | None]
) -> None:
    first, second = suggested(*one), suggested(*two)
    assert suggestions.conflicts([first, second], []) == [(first, second)]
    rule = answered(one[0], RuleState.ACCEPTED, one[1])
    assert suggestions.conflicts([second], [rule]) == [(rule, second)]
    assert suggestions.conflicts([], [rule, answered(two[0], RuleState.ACCEPTED, two[1])]) == []
    elsewhere = replace(rule, project="acme/site")
    assert suggestions.conflicts([second], [elsewhere]) == []
    assert suggestions.conflicts([second], [replace(elsewhere, is_everywhere=True)]) != []


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (("Never push", NO_PUSH), ("Never force push", Pattern((CallForm(("git", "push"), having=("--force",)),)))),
        (("Use pnpm, not npm.", PNPM), ("Use uv, not pip", Pattern((CallForm(("pip",)),), (CallForm(("uv",)),)))),
        (("Test before a push", replace(NO_PUSH, first=(CallForm(("make", "test")),))), ("Push at the end", None)),
        (("Never open the tin", None), ("Never shut the tin", None)),
    ],
)
def test_others_contradict_nothing(one: tuple[str, Pattern | None], two: tuple[str, Pattern | None]) -> None:
    assert suggestions.conflicts([suggested(*one), suggested(*two)], []) == []


def suggested_by_form(text: str) -> Suggestion:
    formed = form_of(text)
    return suggested(text, formed.pattern if formed else None)


@pytest.mark.parametrize(
    ("one", "two", "are_a_pair"),
    [
        ("Always push when done", "never push without me", True),
        ("Commit and push after every task", "Do not commit", True),
        ("Use npm, not pnpm", "Use pnpm, not npm", True),
        ("Use `pip`, not `uv`", "Use uv, not pip.", True),
        ("Never run `make test`", "Run `make test` before you say that you are done.", True),
        ("Use `git status`, not `git status --short`", "Use `git status --short`, not `git status`", True),
        ("Never force push", "Always push when done", False),
        ("Never push to main", "Always push when done", False),
        ("Never amend commits", "Always commit when done", False),
        ("Use `pytest -n 2`, not `pytest`", "Run `pytest` before you say that you are done.", False),
        ("Use pnpm, not npm", "Use pnpm, not yarn", False),
        ("Run the tests before each commit", "Always commit when done", False),
    ],
)
def test_sentences_contradict_each_other_by_their_forms(one: str, two: str, are_a_pair: bool) -> None:
    first, second = suggested_by_form(one), suggested_by_form(two)
    assert suggestions.conflicts([first, second], []) == ([(first, second)] if are_a_pair else [])
    assert suggestions.conflicts([second, first], []) == ([(second, first)] if are_a_pair else [])
