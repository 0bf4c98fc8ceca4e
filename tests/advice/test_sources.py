"""What each source offers. None writes anything, knows the time, or what was shown before."""

import inspect
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from learning_memory_server.advice import sources as room_of_sources
from learning_memory_server.advice.candidates import Candidate, Observed
from learning_memory_server.advice.sources.base import Source
from learning_memory_server.lessons.values.log import document_of
from learning_memory_server.model.advice import Advice, AdviceKind, Citation, Effect, Item, Reason, TriggerKind
from learning_memory_server.model.entry import Anchor, Lesson, Met
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.model.vocabulary import OutcomeStatus, Stance
from learning_memory_server.server.composition.services import Services
from tests.advice.parts import NOTHING, POOL, PROMPT, journal_of, learn, started
from tests.lessons.values.parts import value
from tests.support import ALICE, BOB, CAROL, NOON, TOPICS, about, start

LINE: Final = "press: error: feed schema mismatch at column <n>"
TIED: Final = replace(about("types", 5), errors=(Met(LINE, "press", is_tied=True),), agent_session=BOB.session)
WRONG: Final = replace(
    about("cache", 6),
    agent_session=BOB.session,
    anchors=(Anchor("shop/cart.py", "0" * 40),),
    resolution=replace(about("cache", 6).outcome, status=OutcomeStatus.FALSIFIED),
)
ERROR: Final = Trigger(TriggerKind.ERROR, command="bin/press feed may.csv")
AT_LINE: Final = Observed(line=LINE, question=f"bin/press feed may.csv\n{LINE}")
READ: Final = Trigger(TriggerKind.FILE, file="shop/cart.py")


def source(services: Services, name: str) -> Source:
    (found,) = (each for each in services.room.sources if type(each).__name__ == name)
    return found


async def offers(
    services: Services, name: str, trigger: Trigger, observed: Observed = NOTHING, caller: Any = ALICE
) -> list[Candidate]:
    return await source(services, name).candidates(trigger, observed, caller)


@pytest.fixture
async def services(services: Services) -> Services:
    await learn(services, POOL, about("cache", 2), TIED, WRONG)
    return services


async def test_the_sources_come_in_this_order(services: Services) -> None:
    assert [type(each).__name__.removesuffix("Source") for each in services.room.sources] == [
        *("Rules", "Ties", "OpenEntries", "Place", "Lessons", "Values", "WrongBeliefs")
    ]


async def test_no_source_writes_or_offers_another_thing_the_second_time(services: Services) -> None:
    entry = started(services)
    before = journal_of(services)
    for each in services.room.sources:
        for trigger in (replace(PROMPT), ERROR, READ, *(Trigger(kind, entry=entry) for kind in TriggerKind)):
            if trigger.kind in each.kinds:
                observed = replace(AT_LINE, file=trigger.file, place="fix/cache-header")
                first = await each.candidates(trigger, observed, ALICE)
                await services.writer.settle()
                assert await each.candidates(trigger, observed, ALICE) == first
    assert journal_of(services) == before


def modules() -> Iterator[str]:
    for path in Path(inspect.getfile(room_of_sources)).parent.glob("*.py"):
        yield path.read_text("utf-8")


def test_no_source_has_a_clock() -> None:
    assert not [each for each in modules() if "clock" in each or "import time" in each or "datetime" in each]


async def test_ties_offer_the_newest_lesson_of_another_session_about_the_error_with_its_line(
    services: Services,
) -> None:
    newer = replace(about("pool", 9), errors=TIED.errors, agent_session=BOB.session)
    await learn(services, newer)
    (candidate,) = await offers(services, "TiesSource", ERROR, AT_LINE)
    assert (candidate.id, candidate.others) == (newer.id, (TIED.id,))
    assert (candidate.reason, candidate.origin, candidate.score) == (Reason.ERROR, LINE, 1.0)
    assert await offers(services, "TiesSource", ERROR, AT_LINE, BOB) == []
    assert await offers(services, "TiesSource", ERROR, AT_LINE, CAROL) == []
    assert await offers(services, "TiesSource", ERROR) == []


async def test_open_entries_are_offered_at_a_start_and_ones_own_at_the_end(services: Services) -> None:
    mine, theirs = started(services), start(services.collector, BOB)
    services.live.heard(BOB.session)
    name = "OpenEntriesSource"
    at_start = await offers(services, name, Trigger(TriggerKind.SESSION_START))
    assert [(each.id, each.reason) for each in at_start] == [(mine.id, Reason.OPEN), (theirs.id, Reason.ELSEWHERE)]
    assert all(each.kind is AdviceKind.ENTRY for each in at_start)
    services.live.ended(BOB.session)
    left = await offers(services, name, Trigger(TriggerKind.SESSION_START))
    assert [(each.id, each.reason) for each in left] == [(mine.id, Reason.OPEN), (theirs.id, Reason.OPEN)]
    for kind in (TriggerKind.STOP, TriggerKind.SUBAGENT_STOP):
        assert [each.id for each in await offers(services, name, Trigger(kind))] == [mine.id]
        assert await offers(services, name, Trigger(kind, is_again=True)) == []
        assert await offers(services, name, Trigger(kind), caller=CAROL) == []


@pytest.mark.parametrize(("place", "found"), [("fix/cache-header", True), ("main\nshop/pool.py", False), ("", False)])
async def test_lessons_that_name_the_place_are_offered_at_a_start(services: Services, place: str, found: bool) -> None:
    offered = await offers(services, "PlaceSource", Trigger(TriggerKind.SESSION_START), Observed(place=place))
    assert {each.id for each in offered} == ({about("cache", 2).id, WRONG.id} if found else set())
    assert {each.reason for each in offered} <= {Reason.PLACE}


async def test_where_nothing_is_shown_at_prompts_the_lessons_that_helped_most_are_offered_at_a_start(
    services: Services,
) -> None:
    cited = (Citation(POOL.id, AdviceKind.EXPERIENCE, Effect.HELPED),)
    helped = about("pool", 20)
    await learn(services, replace(helped, resolution=replace(helped.outcome, cited=cited)))
    for is_alone in (True, False):
        trigger = Trigger(TriggerKind.SESSION_START, has_no_prompts=is_alone)
        offered = await offers(services, "PlaceSource", trigger)
        assert [(each.id, each.reason) for each in offered] == ([(POOL.id, Reason.HELPED)] if is_alone else [])


async def test_a_lesson_near_a_prompt_is_offered_whether_or_not_it_was_shown(services: Services) -> None:
    services.advice_log.record(
        Advice(TriggerKind.PROMPT, (Item(POOL.id, AdviceKind.EXPERIENCE),), ALICE.project, NOON, session=ALICE.session)
    )
    assert [each.id for each in await offers(services, "LessonsSource", PROMPT)] == [POOL.id]


@pytest.mark.parametrize("prompt", ["", "go on", "fix the pool", "draw the owl in the meadow at midnight"])
async def test_a_prompt_that_says_little_or_something_else_is_offered_nothing(services: Services, prompt: str) -> None:
    assert await offers(services, "LessonsSource", replace(PROMPT, text=prompt)) == []


async def test_only_the_beginning_of_a_long_prompt_counts(services: Services) -> None:
    long = f"{PROMPT.text}\n" + "unrelated words of a pasted log " * 60_000
    whole, cut = [await offers(services, "LessonsSource", replace(PROMPT, text=text)) for text in (long, long[:2_000])]
    assert whole == cut


async def test_a_long_error_line_is_looked_for_without_its_command_too(services: Services) -> None:
    line = f"error: {TOPICS['pool']}"
    command = "gantry unload --vessel Aurora --berth 12 --crane north-quay --manifest today.csv --shift late"
    for question, found in ((f"{command}\n{line}", [POOL.id]), (f"{command} {line}", [])):
        offered = await offers(services, "LessonsSource", ERROR, Observed(question=question))
        assert [each.id for each in offered] == found


@pytest.mark.parametrize(("tool", "found"), [("checkout", True), ("shipit", False)])
async def test_where_it_is_in_doubt_that_a_command_failed_a_lesson_must_name_its_tool(
    services: Services, tool: str, found: bool
) -> None:
    observed = Observed(question=f"./{tool} go\nerror: {TOPICS['pool']}", tools=frozenset({tool}))
    assert bool(await offers(services, "LessonsSource", ERROR, observed)) is found


async def test_the_newest_lesson_about_a_matter_is_offered_in_place_of_the_nearest(services: Services) -> None:
    newer = about("pool", 30)
    same = Lesson("", f"{POOL.learned} at last")
    await learn(services, replace(newer, resolution=replace(newer.outcome, lesson=same)))
    assert [each.id for each in await offers(services, "LessonsSource", PROMPT)] == [newer.id]


@pytest.mark.parametrize(
    ("command", "found"), [("sha1sum bin/press", False), ("cat bin/press", False), ("bin/press tomorrow.txt", True)]
)
async def test_a_name_alone_is_no_reason_unless_a_command_runs_the_thing(
    services: Services, command: str, found: bool
) -> None:
    of = "bin/press"
    named = replace(about("types", 7), goal=of, hypothesis=of, action=of, prediction=of)
    await learn(services, replace(named, resolution=replace(named.outcome, lesson=Lesson("", of))))
    offered = await offers(services, "LessonsSource", ERROR, Observed(question=f"{command}\nno such luck"))
    assert bool(offered) is found


async def test_a_lesson_that_names_the_same_needs_less_until_it_was_shown_twice_without_helping(
    services: Services,
) -> None:
    words = TOPICS["types"]
    named = replace(about("types", 7), agent_session=BOB.session)
    lesson = Lesson("", f"Give bin/press its salt before {words}")
    await learn(services, replace(named, resolution=replace(named.outcome, lesson=lesson)))
    asked = f"make the weekly report again {words.split()[0]} {words.split()[1]}"

    async def found(text: str) -> list[str]:
        return [each.id for each in await offers(services, "LessonsSource", replace(PROMPT, text=text))]

    assert await found(f"{asked} by hand") == []
    for number in range(2):
        assert await found(f"{asked} with bin/press") == [named.id]
        item = Item(named.id, AdviceKind.EXPERIENCE, reason=Reason.SIMILAR)
        line = Advice(TriggerKind.PROMPT, (item,), ALICE.project, NOON, session=f"{number:016x}")
        services.advice_log.record(line)
    assert await found(f"{asked} with bin/press") == []


async def test_a_value_is_offered_unless_an_entry_contradicts_it_or_it_is_about_something_else(
    services: Services,
) -> None:
    good, other = value(TOPICS["pool"], project=ALICE.project), value(TOPICS["types"], project=ALICE.project)
    for each in (good, other):
        services.value_log.add(each)
        await services.writer.write([document_of(each)])
    trigger = Trigger(TriggerKind.ENTRY_START, entry=started(services))
    (candidate,) = await offers(services, "ValuesSource", trigger)
    assert (candidate.id, candidate.kind, candidate.reason) == (good.id, AdviceKind.VALUE, Reason.SIMILAR)
    # It is still in force.
    supporting = dict.fromkeys((about("cache", 2).id, TIED.id, WRONG.id), Stance.SUPPORTS)
    services.verdicts.record(ALICE, good, NOON, {POOL.id: Stance.CONTRADICTS, **supporting})
    assert await offers(services, "ValuesSource", trigger) == []


async def test_a_wrong_belief_about_a_file_is_offered_to_another_session_that_reads_it(services: Services) -> None:
    observed = Observed(file="shop/cart.py")
    (candidate,) = await offers(services, "WrongBeliefsSource", READ, observed)
    assert (candidate.id, candidate.reason, candidate.origin) == (WRONG.id, Reason.FILE, "shop/cart.py")
    assert await offers(services, "WrongBeliefsSource", replace(READ, is_edit=True), observed) == []
    assert await offers(services, "WrongBeliefsSource", READ, observed, BOB) == []
    assert await offers(services, "WrongBeliefsSource", READ) == []
