"""What is chosen, of which sources, and how much of it; and that nothing is recorded by that."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pytest

from learning_memory_server.advice.budget import BUDGETS
from learning_memory_server.advice.candidates import Candidate, Observed
from learning_memory_server.advice.room import Room
from learning_memory_server.advice.text import OPENING
from learning_memory_server.model import limits
from learning_memory_server.model.advice import Reason, TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Ghap, Lesson
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.model.vocabulary import OutcomeStatus
from learning_memory_server.server.composition.services import Services
from tests.advice.parts import NOTHING, POOL, PROMPT, journal_of, learn, situation
from tests.support import ALICE, BOB, about, ghap, numbered, start

ERROR: Final = Trigger(TriggerKind.ERROR)
START: Final = Trigger(TriggerKind.SESSION_START)


@dataclass
class Fixed:
    """A source that offers what it is given, wherever it is asked."""

    offers: Sequence[Candidate]
    kinds: frozenset[TriggerKind] = frozenset(TriggerKind)
    asked: list[Trigger] = field(default_factory=list)
    needs_confirmed: bool = True

    async def candidates(self, trigger: Trigger, _observed: Observed, _caller: Caller) -> list[Candidate]:
        """Return them."""
        self.asked.append(trigger)
        return list(self.offers)


def lesson(number: int, **changes: Any) -> Ghap:
    """A lesson about a matter of its own."""
    entry = numbered(number, goal=f"goal{number}", agent_session=f"{number:016x}", **changes)
    return replace(entry, resolution=replace(entry.outcome, lesson=Lesson("", f"lesson{number} on{number}")))


def offered(*entries: Ghap, reason: Reason = Reason.SIMILAR) -> list[Candidate]:
    return [Candidate(each, reason) for each in entries]


def room_of(services: Services, *sources: Fixed) -> Room:
    return Room(sources, services.room.lessons, services.entry_notes, has_deadline=False)


async def passing(services: Services, trigger: Trigger, *sources: Fixed) -> list[str]:
    room = room_of(services, *sources)
    found = await room.offered(trigger, NOTHING, ALICE)
    return [each.id for each in room.passing(found, situation(services, trigger))]


@pytest.mark.parametrize("kind", [*BUDGETS, TriggerKind.CALL, TriggerKind.COMMAND])
async def test_no_trigger_shows_more_than_its_budget(services: Services, kind: TriggerKind) -> None:
    most = {TriggerKind.ENTRY_START: 2, TriggerKind.ENTRY_UPDATE: 2, TriggerKind.SESSION_START: 3}
    found = await passing(services, Trigger(kind), Fixed(offered(*map(lesson, range(9)))))
    assert found == [lesson(number).id for number in range(most.get(kind, 1 if kind in BUDGETS else 0))]


async def test_an_earlier_source_comes_first_and_what_is_enough_asks_no_other(services: Services) -> None:
    first, second = Fixed(offered(lesson(1))), Fixed(offered(lesson(2)))
    assert await passing(services, Trigger(TriggerKind.ENTRY_START), first, second) == [lesson(1).id, lesson(2).id]
    assert await passing(services, ERROR, first, second) == [lesson(1).id]
    assert [each.kind for each in second.asked] == [TriggerKind.ENTRY_START]


async def test_what_is_not_in_force_is_not_enough(services: Services) -> None:
    declined = replace(lesson(1), imported=True)
    assert await passing(services, ERROR, Fixed(offered(declined)), Fixed(offered(lesson(2)))) == [lesson(2).id]


async def test_what_was_shown_already_is_enough_at_an_error(services: Services) -> None:
    room = room_of(services, Fixed(offered(lesson(1))), other := Fixed(offered(lesson(2))))
    found = await room.offered(ERROR, NOTHING, ALICE)
    seen = replace(situation(services, ERROR), shown=[found[0].item()])
    assert (room.passing(found, seen), other.asked) == ([], [])


async def test_a_source_is_asked_only_at_its_own_triggers(services: Services) -> None:
    source = Fixed(offered(lesson(1)), frozenset({TriggerKind.PROMPT}))
    assert await passing(services, ERROR, source) == []
    assert await passing(services, PROMPT, source) == [lesson(1).id]


async def test_of_one_matter_the_newest_is_shown_and_once_it_was_the_older_is_not(services: Services) -> None:
    room = services.room
    wrong = replace(POOL.outcome, status=OutcomeStatus.FALSIFIED)
    first = replace(POOL, agent_session="1", resolution=wrong)
    candidates = offered(first, replace(about("pool", 3), agent_session="1"))
    now = situation(services)
    newest = room.passing(candidates, now)
    assert newest == candidates[1:]
    assert room.passing(candidates, replace(now, shown=[newest[0].item()])) == []


async def test_what_is_not_in_force_takes_no_place_of_what_is(services: Services) -> None:
    declined = replace(about("pool", 3), imported=True)
    assert [each.id for each in services.room.passing(offered(POOL, declined), situation(services))] == [POOL.id]


async def test_a_session_starts_with_five_lines_open_entries_first_then_lessons_then_others(services: Services) -> None:
    open_entries = [ghap(id=f"ghap_open_{number}", goal=f"mine {number}") for number in range(4)]
    elsewhere = [ghap(id=f"ghap_else_{number}", goal=f"theirs {number}") for number in range(4)]
    lessons = [lesson(number) for number in range(4)]
    sources = (
        Fixed(offered(*open_entries, reason=Reason.OPEN) + offered(*elsewhere, reason=Reason.ELSEWHERE)),
        Fixed(offered(*lessons, reason=Reason.PLACE)),
    )
    wanted = [*(f"ghap_open_{number}" for number in range(3)), *(each.id for each in lessons[:2])]
    assert await passing(services, START, *sources) == wanted
    assert await passing(services, START, Fixed(sources[0].offers[3:]), sources[1]) == [
        *("ghap_open_3", *(each.id for each in lessons[:3])),
        "ghap_else_0",
    ]


async def test_what_does_not_fit_into_the_bytes_of_a_start_is_left_out_whole(services: Services) -> None:
    long = [ghap(id=f"ghap_open_{number}", goal="🌹" * 200) for number in range(2)]
    short = ghap(id="ghap_short", goal="Draw the owl")
    room = room_of(services, Fixed(offered(*long, short, reason=Reason.OPEN)))
    found = await room.offered(START, NOTHING, ALICE)
    chosen = room.passing(found, situation(services, START))
    assert [each.id for each in chosen] == ["ghap_open_0", "ghap_short"]
    assert len((await room.context(ALICE, "", has_rules=True)).encode()) <= limits.CONTEXT_MAX


async def test_the_context_is_the_list_of_a_start_and_is_not_recorded(services: Services) -> None:
    await learn(services, POOL)
    mine = start(services.collector, ALICE, goal="Draw the owl")
    start(services.collector, BOB, goal="Paint the shed")
    services.live.heard(BOB.session)
    before = journal_of(services)
    for _ in range(2):
        assert (await services.room.context(ALICE, "fix/checkout-pool", has_rules=True)).startswith(
            f"{OPENING}\nOpen entries (get_active_ghap):\n- {mine.id}: Draw the owl\nLessons:\n- "
        )
    assert "Paint the shed" in await services.room.context(ALICE, "", has_rules=True)
    assert journal_of(services) == before


async def test_a_folder_that_may_be_of_another_project_is_offered_nothing(services: Services) -> None:
    stranger, source = replace(ALICE, is_told=False), Fixed(offered(lesson(1)))
    room = room_of(services, source)
    assert await room.offered(PROMPT, NOTHING, stranger) == []
    assert source.asked == []
    assert "gives no advice here" in await room.context(stranger, "", has_rules=True)
    assert await room_of(services).context(stranger, "", has_rules=True) == ""
