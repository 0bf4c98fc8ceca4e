"""Which lessons are found near a text: in the index, in what is not indexed yet, and of which projects."""

from dataclasses import replace
from typing import Any

import pytest

from learning_memory_server.advice import constants
from learning_memory_server.advice.finder import LessonFinder, NotReadyError, named_among
from learning_memory_server.advice.lessons import Lessons
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.settings import Settings
from tests.advice.parts import MeasuredModel, learn
from tests.embedding.test_scale import Unknown
from tests.server.agent import at_work
from tests.services import opened
from tests.support import ALICE, CAROL, MINUTES, NOON, TOPICS, about


def finder_over(services: Services, **changes: Any) -> LessonFinder:
    return LessonFinder(replace(services.room.lessons, **changes), services.index)


async def found(services: Services, *texts: str, bar: float = constants.START, **changes: Any) -> set[str]:
    """Return the ids of the lessons from a score on."""
    near = await finder_over(services, **changes).find(texts or [TOPICS["pool"]], ALICE)
    return {each.entry.id for each in near.scored if each.score >= bar}


POOL = about("pool", 1).id


async def test_lessons_of_the_same_kind_are_near_and_others_are_not(services: Services) -> None:
    assert await found(services) == set()
    await learn(services, about("pool", 1), about("cache", 2), about("types", 3))
    assert await found(services) == {POOL}
    assert await found(services, "Paint the shed. Two coats will cover the old colour") == set()


async def test_pending_lessons_are_found_too(services: Services) -> None:
    services.collector.add_resolved([about("pool", 1), about("cache", 2)])
    assert await found(services) == {POOL}


async def test_lessons_of_other_projects_are_found_only_if_wanted(services: Services) -> None:
    await learn(services, replace(about("pool", 1), project=CAROL.project))
    assert await found(services) == set()
    assert await found(services, is_everywhere=True) == {POOL}


async def test_what_is_forgotten_is_not_found_while_the_index_still_has_it(services: Services) -> None:
    await learn(services, about("pool", 1), about("cache", 2))
    services.collector.forget([POOL], NOON)
    assert await found(services) == set()


async def test_what_has_no_lesson_is_not_found(services: Services) -> None:
    mute = about("pool", 1)
    await learn(services, replace(mute, resolution=replace(mute.outcome, lesson=None)))
    assert await found(services, bar=-1) == set()


async def test_the_entry_that_asks_is_no_lesson_for_itself(services: Services) -> None:
    await learn(services, about("pool", 1))
    near = await finder_over(services).find([TOPICS["pool"]], ALICE, POOL)
    assert near.scored == []


async def test_of_several_texts_the_better_answer_counts(services: Services) -> None:
    await learn(services, about("pool", 1), about("cache", 2))

    async def scores(*texts: str) -> dict[str, float]:
        near = await finder_over(services).find(texts, ALICE)
        return {each.entry.id: each.score for each in near.scored}

    alone = [await scores(TOPICS[topic]) for topic in ("pool", "cache")]
    both = await scores(TOPICS["pool"], TOPICS["cache"])
    assert both == {name: max(each[name] for each in alone) for name in alone[0]}


async def test_an_old_lesson_is_found_behind_many_newer_ones(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await learn(services, about("pool", 1), *(about("cache", number) for number in range(2, 9)))
    monkeypatch.setattr(constants, "BACKGROUND", 4)
    assert await found(services) == {POOL}


async def test_it_knows_which_terms_lessons_have(services: Services) -> None:
    await learn(services, about("pool", 1))
    finder = finder_over(services)
    assert finder.is_known({"checkout", "nowhere"}, ALICE.project)
    assert not finder.is_known({"nowhere"}, ALICE.project)
    assert not finder.is_known({"checkout"}, CAROL.project)


async def test_of_lessons_with_a_name_those_that_are_near_enough_count(services: Services) -> None:
    await learn(services, about("pool", 1), about("cache", 2))
    near = await finder_over(services).find([TOPICS["pool"]], ALICE)
    everything = {each.entry.id for each in near.scored}
    assert [each.entry.id for each in named_among(near.scored, everything)] == [POOL]
    assert named_among(near.scored, set()) == []


async def test_an_index_that_is_not_open_is_waited_for_and_then_not_ready(settings: Settings) -> None:
    async with opened(settings, load=MeasuredModel) as services:
        services.collector.add_resolved([about("pool", 1)])
        finder = finder_over(services)
        with pytest.raises(NotReadyError):
            await finder.find([TOPICS["pool"]], ALICE, patience=0.05)
        await services.index.open()
        assert (await finder.find([TOPICS["pool"]], ALICE, patience=MINUTES)).scored


@pytest.mark.parametrize(("model", "is_measured"), [(HashingEmbedder, False), (Unknown, True)])
async def test_a_model_is_ready_once_its_scale_is_known(settings: Settings, model: Any, is_measured: bool) -> None:
    async with at_work(settings, load=model) as services:
        await learn(services, about("pool", 1))
        if is_measured:
            await services.writer.complete()
            assert (await finder_over(services).find([TOPICS["pool"]], ALICE)).scored
        else:
            with pytest.raises(NotReadyError):
                await finder_over(services).find([TOPICS["pool"]], ALICE)


async def test_where_there_is_no_lesson_there_is_nothing_to_find(services: Services) -> None:
    lessons: Lessons = services.room.lessons
    assert not lessons.has_any(ALICE.project)
    await learn(services, about("pool", 1))
    assert lessons.has_any(ALICE.project)
    assert not lessons.has_any(CAROL.project)
    assert replace(lessons, is_everywhere=True).has_any(CAROL.project)
