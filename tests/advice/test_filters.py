"""What keeps a candidate from being shown: each filter alone, and their order."""

from dataclasses import replace
from typing import Any, Final

import pytest

from learning_memory_server.advice import filters
from learning_memory_server.advice.candidates import Candidate
from learning_memory_server.advice.filters import Situation
from learning_memory_server.model.advice import AdviceKind, Citation, Effect, Item, Reason, TriggerKind
from learning_memory_server.model.answer import Said
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.server.composition.services import Services
from tests.advice.parts import POOL, PROMPT, learn, situation
from tests.lessons.values.parts import value
from tests.support import ALICE, about, ghap

LESSON: Final = Candidate(POOL, Reason.SIMILAR)
QUESTION: Final = Candidate(ghap(), Reason.UNRESOLVED)
ERROR: Final = Trigger(TriggerKind.ERROR)
START: Final = Trigger(TriggerKind.SESSION_START)


def shown(candidate: Candidate) -> list[Item]:
    return [candidate.item()]


@pytest.fixture
async def now(services: Services) -> Situation:
    await learn(services, POOL)
    return situation(services)


def test_the_filters_come_in_this_order() -> None:
    assert list(filters.FILTERS) == ["confirmed", "on", "attended", "in force", "new", "seldom", "not loaded"]


async def test_a_candidate_must_pass_all_filters(now: Situation) -> None:
    assert filters.passes(LESSON, now)
    assert not filters.passes(LESSON, replace(now, shown=shown(LESSON)))
    assert not filters.passes(LESSON, replace(now, caller=replace(ALICE, is_told=False)))


@pytest.mark.parametrize("is_confirmed", [True, False])
async def test_confirmed_drops_everything_in_a_folder_that_may_be_of_another_project(
    now: Situation, is_confirmed: bool
) -> None:
    situation = replace(now, caller=replace(ALICE, is_told=is_confirmed))
    assert filters.is_confirmed(LESSON, situation) is is_confirmed
    assert filters.is_confirmed(QUESTION, situation) is is_confirmed


@pytest.mark.parametrize("is_attended", [True, False])
async def test_attended_drops_questions_where_nobody_waits_for_the_answer(now: Situation, is_attended: bool) -> None:
    situation = replace(now, caller=replace(ALICE, is_attended=is_attended))
    assert filters.is_attended(QUESTION, situation) is is_attended
    assert filters.is_attended(LESSON, situation)


async def test_in_force_drops_what_a_person_has_declined(services: Services, now: Situation) -> None:
    assert filters.is_in_force(LESSON, now)
    services.review.answer(services.review.find(POOL.id, ALICE.project), Said.NEVER, utc_now())
    assert not filters.is_in_force(LESSON, now)
    assert filters.is_in_force(QUESTION, now)
    assert filters.is_in_force(Candidate(value("count twice"), Reason.SIMILAR), now)


async def test_in_force_drops_what_a_later_entry_supersedes(services: Services, now: Situation) -> None:
    later = about("types", 9)
    cited = (Citation(POOL.id, AdviceKind.EXPERIENCE, Effect.MISLED),)
    await learn(services, replace(later, resolution=replace(later.outcome, cited=cited)))
    assert not filters.is_in_force(LESSON, now)
    assert filters.is_in_force(Candidate(later, Reason.SIMILAR), now)


async def test_in_force_drops_what_misled_also_without_a_successor(services: Services, now: Situation) -> None:
    # It teaches nothing, so it takes the place of nothing.
    mute = about("types", 9)
    cited = (Citation(POOL.id, AdviceKind.EXPERIENCE, Effect.MISLED),)
    await learn(services, replace(mute, resolution=replace(mute.outcome, lesson=None, cited=cited)))
    assert not filters.is_in_force(LESSON, now)


async def test_in_force_drops_what_was_imported_until_a_person_says_yes(services: Services, now: Situation) -> None:
    imported = replace(about("cache", 2), imported=True)
    services.collector.add_resolved([imported])
    candidate = Candidate(imported, Reason.SIMILAR)
    assert not filters.is_in_force(candidate, now)
    services.review.answer(services.review.find(imported.id, ALICE.project), Said.YES, utc_now())
    assert filters.is_in_force(candidate, now)


async def test_new_drops_what_the_agent_was_shown_for_whatever_reason(now: Situation) -> None:
    assert filters.is_new(LESSON, now)
    for reason in (Reason.SIMILAR, Reason.ERROR, Reason.PLACE):
        assert not filters.is_new(LESSON, replace(now, shown=shown(replace(LESSON, reason=reason))))
    assert filters.is_new(LESSON, replace(now, shown=shown(Candidate(about("pool", 2), Reason.SIMILAR))))


async def test_new_knows_an_open_entry_its_reminder_and_its_lesson_apart(now: Situation) -> None:
    as_open, reminder, resolved = (Candidate(POOL, each) for each in (Reason.OPEN, Reason.UNRESOLVED, Reason.SIMILAR))
    for each in (as_open, reminder, resolved):
        others = [one.item() for one in (as_open, reminder, resolved) if one != each]
        assert filters.is_new(each, replace(now, shown=others))
        assert not filters.is_new(each, replace(now, shown=shown(each)))


async def test_seldom_drops_a_third_wrong_belief_about_a_file(now: Situation) -> None:
    wrong = replace(LESSON, reason=Reason.FILE)
    before = [Item(f"ghap_{number}", AdviceKind.EXPERIENCE, reason=Reason.FILE) for number in range(2)]
    assert filters.is_seldom(wrong, replace(now, shown=before[:1]))
    assert not filters.is_seldom(wrong, replace(now, shown=before))
    assert filters.is_seldom(LESSON, replace(now, shown=before))


@pytest.mark.parametrize(
    ("kind", "passes"),
    [
        (TriggerKind.SESSION_START, False),
        (TriggerKind.PROMPT, False),
        (TriggerKind.ENTRY_START, False),
        (TriggerKind.ERROR, True),
        (TriggerKind.FILE, True),
    ],
)
async def test_not_loaded_drops_what_the_client_loads_as_a_rule_except_at_the_act(
    now: Situation, kind: TriggerKind, passes: bool
) -> None:
    loaded: dict[str, Any] = {"trigger": replace(PROMPT, kind=kind), "loaded": {POOL.id}}
    assert filters.is_not_loaded(LESSON, replace(now, **loaded)) is passes
    assert filters.is_not_loaded(Candidate(about("pool", 2), Reason.SIMILAR), replace(now, **loaded))
