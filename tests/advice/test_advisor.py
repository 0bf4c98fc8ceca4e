"""What is shown, and what is kept of it."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from learning_memory_server.advice.advisor import Related
from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.index.ranking.threshold import least_of_advice
from learning_memory_server.journal.codec import ADVICE, JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.lessons.shown import AdviceLog, counts_of
from learning_memory_server.lessons.values.log import document_of
from learning_memory_server.model.advice import Advice, AdviceKind, Channel, Effect, Item, Reason
from learning_memory_server.model.entry import Ghap, Lesson
from learning_memory_server.system.recent import Recent
from tests.advice.parts import advisor
from tests.lessons.values.parts import value
from tests.support import ALICE, CAROL, MINUTES, NOON, TOPICS, Parts, about, ids, open_parts, start

OLD = about("pool", 1)
THEY = [Item(OLD.id, AdviceKind.EXPERIENCE)]


@pytest.fixture
async def parts(parts: Parts) -> Parts:
    await parts.learn(OLD, about("cache", 2))
    return parts


def started(parts: Parts, topic: str = "pool") -> Ghap:
    return start(parts.collector, goal=f"{TOPICS[topic]} again", hypothesis=f"{TOPICS[topic]} because")


async def test_where_there_is_no_lesson_nobody_waits_for_the_index(tmp_path: Path) -> None:
    async with open_parts(tmp_path / "empty") as empty, asyncio.timeout(MINUTES / 10):
        assert not empty.index.is_open
        assert await advisor(empty).find_lesson(PROMPT, ALICE, patience=MINUTES) is None


@pytest.fixture
async def told(parts: Parts) -> Ghap:
    """An entry at whose start the old one was shown."""
    entry = started(parts)
    await advisor(parts).advise(entry, Channel.START)
    return entry


def mark(parts: Parts, entry: Ghap, effect: Effect) -> None:
    AdviceLog(parts.journal.advice).mark(entry, {OLD.id: effect}, NOON)


def shown_to(parts: Parts, entry: Ghap) -> set[str]:
    """Return the ids of what counts as shown for an entry."""
    return {item.id for each in AdviceLog(parts.journal.advice).of(entry) for item in each.items}


def kept(parts: Parts) -> list[Any]:
    return AdviceLog(Journal(parts.journal.path).advice).all()


async def test_what_is_shown_is_kept_once_for_an_entry_its_iteration_and_the_channel(parts: Parts) -> None:
    entry = started(parts)
    shown = await advisor(parts).advise(entry, Channel.START)
    assert ids(list(shown.experiences)) == [OLD.id]
    await parts.learn(about("pool", 3))
    assert await advisor(parts).advise(entry, Channel.START) == shown
    (advice,) = kept(parts)
    assert (advice.ghap_id, advice.revision, advice.channel) == (entry.id, 1, Channel.START)
    (item,) = advice.items
    assert (item.id, item.reason) == (OLD.id, Reason.SIMILAR)
    assert item.score is not None
    assert item.score > least_of_advice(2)


@pytest.mark.usefixtures("told")
async def test_what_was_shown_before_is_not_shown_again_for_a_new_hypothesis(parts: Parts) -> None:
    changed = parts.collector.update(ALICE, hypothesis=f"{TOPICS['pool']} after all")
    assert await advisor(parts).advise(changed, Channel.UPDATE) == Related()
    await parts.learn(about("pool", 3))
    shown = await advisor(parts).advise(changed, Channel.UPDATE)
    assert ids(list(shown.experiences)) == [about("pool", 3).id]
    assert [advice.revision for advice in kept(parts)] == [1, 2]


async def test_nothing_is_kept_where_nothing_is_shown(parts: Parts) -> None:
    assert await advisor(parts).advise(started(parts, "types"), Channel.START) == Related()
    assert kept(parts) == []


async def test_values_take_the_room_that_experiences_leave(parts: Parts) -> None:
    parts.values.add(good := value(TOPICS["pool"], project=ALICE.project))
    await parts.writer.write([document_of(good)])
    assert await advisor(parts).advise(started(parts), Channel.START) == Related((OLD,), (good,))
    await parts.learn(about("pool", 3))
    shown = await advisor(parts).advise(started(parts), Channel.START)
    assert (len(shown.experiences), shown.values) == (2, ())


async def test_what_is_late_is_not_shown_and_an_engine_that_fails_says_nothing(parts: Parts) -> None:
    assert await advisor(parts, within=0.0).advise(started(parts), Channel.START) == Related()
    parts.store.down = StorageUnavailableError("down")
    assert await advisor(parts).advise(started(parts), Channel.START) == Related()


async def test_advice_that_is_skipped_is_logged_also_while_the_model_and_the_index_are_loaded(
    parts: Parts, tmp_path: Path
) -> None:
    async with open_parts(tmp_path / "loading") as loading:
        with capture_logs() as logs:
            assert await advisor(loading).advise(started(loading), Channel.START) == Related()
            assert await advisor(parts, within=0.0).advise(started(parts), Channel.START) == Related()
            parts.store.down = StorageUnavailableError("down")
            assert await advisor(parts).advise(started(parts), Channel.START) == Related()
    skipped = [entry["reason"] for entry in logs if entry["event"] == "advice.skipped"]
    assert skipped == ["NotReady", "TimeoutError", "StorageUnavailableError"]


async def test_lessons_that_misled_sink(parts: Parts) -> None:
    for _ in range(9):
        entry = started(parts)
        judge = advisor(parts)
        if not (await judge.advise(entry, Channel.START)).experiences:
            break
        mark(parts, entry, Effect.MISLED)
    else:
        pytest.fail("it is still shown")
    misled, helped = AdviceLog(parts.journal.advice).effects()[OLD.id]
    assert misled > helped == 0


async def test_the_same_effects_stated_again_change_nothing(parts: Parts, told: Ghap) -> None:
    mark(parts, told, Effect.HELPED)
    before = (parts.journal.path / "advice.jsonl").read_bytes()
    mark(parts, told, Effect.HELPED)
    assert (parts.journal.path / "advice.jsonl").read_bytes() == before
    assert AdviceLog(parts.journal.advice).effects() == {OLD.id: (0, 1)}


async def test_effects_count_from_when_they_are_stated(parts: Parts, told: Ghap) -> None:
    log = AdviceLog(parts.journal.advice)
    assert log.effects() == {}
    log.mark(told, {OLD.id: Effect.MISLED}, NOON)
    assert log.effects() == {OLD.id: (1, 0)}
    log.mark(told, {}, NOON)
    assert log.effects() == {}


async def test_what_was_shown_twice_without_helping_is_worn_also_after_changes(parts: Parts) -> None:
    log, entries = AdviceLog(parts.journal.advice), [started(parts) for _ in range(3)]
    for entry in entries:
        assert log.is_worn(OLD.id) is (entry is entries[2])
        items = (Item(OLD.id, AdviceKind.EXPERIENCE),)
        log.add(Advice(entry.id, 1, Channel.START, items, entry.project, NOON))
    assert log.is_worn(OLD.id) is AdviceLog(parts.journal.advice).is_worn(OLD.id) is True
    assert not log.is_worn("ghap_other")
    log.mark(entries[0], {OLD.id: Effect.HELPED}, NOON)
    assert not log.is_worn(OLD.id)
    log.mark(entries[0], {}, NOON)
    assert log.is_worn(OLD.id)
    log.forget(log.about({each.id for each in entries[1:]}), NOON)
    assert not log.is_worn(OLD.id)


async def test_advice_is_counted_once_for_an_entry_however_often_it_was_shown(parts: Parts) -> None:
    entry = started(parts)
    judge = advisor(parts)
    await judge.advise(entry, Channel.START)
    judge.record_shown(ALICE, Channel.CONTEXT, THEY)
    mark(parts, entry, Effect.HELPED)
    assert counts_of(AdviceLog(parts.journal.advice).all()) == {"entries": 1, "items": 1, "helped": 1, "misled": 0}


async def test_what_an_earlier_version_withheld_was_never_shown_and_is_forgotten_with_its_entry(parts: Parts) -> None:
    entry = started(parts)
    items = (Item(OLD.id, AdviceKind.EXPERIENCE),)
    line = Advice(entry.id, 1, Channel.START, items, entry.project, NOON, others={"withheld": True, "probability": 0.5})
    parts.journal.advice.append([JournalRecord.of(ADVICE, line)])
    log = AdviceLog(parts.journal.advice)
    assert log.all() == log.of(entry) == []
    assert log.import_new([replace(line, ghap_id="ghap_other")], set()) == []
    log.forget(log.about({entry.id}), NOON)
    assert parts.journal.advice.read().records == []


async def test_advice_about_something_forgotten_is_dropped(parts: Parts, told: Ghap) -> None:
    log = AdviceLog(parts.journal.advice)
    assert log.about({OLD.id}) == log.about({told.id}) == [advice.id for advice in log.all()]
    assert log.about({"another"}) == []
    mark(parts, told, Effect.MISLED)
    log = AdviceLog(parts.journal.advice)
    assert log.effects()
    log.forget(log.about({OLD.id}), NOON)
    assert log.effects() == {}
    assert kept(parts) == []


async def test_an_experience_that_is_forgotten_since_is_not_repeated(parts: Parts, told: Ghap) -> None:
    parts.collector.forget([OLD.id], NOON)
    assert await advisor(parts).advise(told, Channel.START) == Related()


def said(parts: Parts) -> list[tuple[Channel, list[str]]]:
    return [(each.channel, [item.id for item in each.items]) for each in kept(parts)]


async def test_what_a_session_is_shown_is_kept_with_its_open_entry(parts: Parts) -> None:
    entry = started(parts)
    for _ in range(2):
        advisor(parts).record_shown(ALICE, Channel.CONTEXT, THEY)
    advisor(parts).record_shown(ALICE, Channel.CONTEXT, [*THEY, Item("value_1", AdviceKind.VALUE)])
    assert said(parts) == [(Channel.CONTEXT, [OLD.id, "value_1"])]
    assert {OLD.id} <= shown_to(parts, entry)


async def test_what_a_session_is_shown_before_its_first_entry_is_kept_with_that(parts: Parts) -> None:
    shows = advisor(parts)
    shows.record_shown(ALICE, Channel.CONTEXT, THEY)
    shows.record_shown(ALICE, Channel.HOOK, [])
    assert kept(parts) == []
    assert await shows.advise(started(parts), Channel.START) == Related()
    assert said(parts) == [(Channel.CONTEXT, [OLD.id])]
    await shows.advise(started(parts, "types"), Channel.START)
    assert len(kept(parts)) == 1


async def test_what_an_agent_was_told_by_any_channel_is_told_again_only_once_its_context_was_emptied(
    parts: Parts,
) -> None:
    shows = advisor(parts)
    shows.record_shown(ALICE, Channel.CONTEXT, THEY)
    assert await shows.find_lesson(PROMPT, ALICE) is None
    assert (await shows.advise(started(parts), Channel.START)).experiences == ()
    assert await shows.find_lesson(PROMPT, replace(ALICE, agent="a subagent")) == OLD
    # After /clear a client calls its session by another name; a compaction empties what is known of it.
    shows.told.heard(ALICE.session, "another name")
    assert await shows.find_lesson(PROMPT, ALICE) == OLD
    shows.told.heard(ALICE.session, ALICE.session)
    assert await shows.find_lesson(PROMPT, ALICE) is None
    shows.told.to(ALICE.session, ALICE.agent).clear()
    assert await shows.find_lesson(PROMPT, ALICE) == OLD


async def test_only_the_newest_sessions_without_an_entry_are_remembered(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    shows = advisor(parts)
    monkeypatch.setattr(shows, "_ahead", Recent(2))
    for session in (ALICE.session, "b", "c"):
        shows.record_shown(replace(ALICE, session=session), Channel.CONTEXT, THEY)
    await shows.advise(started(parts, "types"), Channel.START)
    assert kept(parts) == []


PROMPT = f"please look into this: {TOPICS['pool']}"


async def test_a_prompt_is_shown_the_one_experience_that_bears_on_it(parts: Parts) -> None:
    await parts.learn(about("pool", 3))

    shows = advisor(parts)
    found = await shows.find_lesson(PROMPT, ALICE)

    assert found is not None
    assert found.id in {OLD.id, about("pool", 3).id}
    # It is not told to the same agent again, and another agent has not heard it.
    assert found != await shows.find_lesson(PROMPT, ALICE)
    assert found == await shows.find_lesson(PROMPT, replace(ALICE, agent="a subagent"))


async def test_a_lesson_that_names_the_same_thing_is_told_at_a_lower_bar_until_it_was_told_twice_in_vain(
    parts: Parts,
) -> None:
    words = TOPICS["types"]
    named = about("types", 7)
    resolved = replace(named.outcome, lesson=Lesson("", f"Give bin/press its salt before {words}"))
    await parts.learn(replace(named, resolution=resolved))
    shows, asked = advisor(parts), f"make the weekly report again {words.split()[0]} {words.split()[1]}"

    assert await shows.find_lesson(f"{asked} by hand", ALICE) is None
    assert await shows.find_lesson(f"{asked} with bin/press", ALICE, by_name=True)
    for session in ("1" * 16, "2" * 16):
        caller = replace(ALICE, session=session)
        start(parts.collector, caller, goal="Draw the owl")
        assert await shows.find_lesson(f"{asked} with bin/press", caller)
    assert await shows.find_lesson(f"{asked} with bin/press", replace(ALICE, session="3" * 16)) is None


@pytest.mark.parametrize(
    ("text", "by_name", "is_told"),
    [
        ("who painted bin/press green yesterday?", False, False),
        ("sha1sum bin/press", True, False),
        ("cat bin/press", True, False),
        ("bin/press tomorrow.txt", True, True),
    ],
)
async def test_a_name_alone_is_no_reason_unless_a_command_runs_the_thing(
    parts: Parts, text: str, by_name: bool, is_told: bool
) -> None:
    of = "bin/press"
    named = replace(about("types", 7), goal=of, hypothesis=of, action=of, prediction=of)
    await parts.learn(replace(named, resolution=replace(named.outcome, lesson=Lesson("", "bin/press"))))
    assert bool(await advisor(parts).find_lesson(text, ALICE, by_name=by_name)) is is_told


async def test_a_long_error_line_is_looked_for_without_its_command_too(parts: Parts) -> None:
    line = f"error: {TOPICS['pool']}"
    command = "gantry unload --vessel Aurora --berth 12 --crane north-quay --manifest today.csv --shift late"
    assert await advisor(parts).find_lesson(f"{command}\n{line}", ALICE, tools=frozenset()) == OLD
    assert await advisor(parts).find_lesson(f"{command} {line}", ALICE, tools=frozenset()) is None


@pytest.mark.parametrize("prompt", ["", "go on", "fix the pool", "draw the owl in the meadow at midnight"])
async def test_a_prompt_saying_little_or_something_else_is_shown_nothing(parts: Parts, prompt: str) -> None:
    assert await advisor(parts).find_lesson(prompt, ALICE) is None
    assert kept(parts) == []


async def test_another_project_is_shown_nothing(parts: Parts) -> None:
    assert await advisor(parts).find_lesson(PROMPT, CAROL) is None


async def test_what_a_prompt_was_shown_is_recorded_with_the_entry_and_not_repeated_at_its_start(parts: Parts) -> None:
    shows = advisor(parts)
    found = await shows.find_lesson(PROMPT, ALICE)
    assert found is not None
    assert kept(parts) == []

    entry = started(parts)

    assert found not in (await shows.advise(entry, Channel.START)).experiences
    assert (Channel.HOOK, found.id) in {(each.channel, item.id) for each in kept(parts) for item in each.items}
    assert found.id in shown_to(parts, entry)


async def test_only_the_beginning_of_a_long_prompt_counts(parts: Parts) -> None:
    long = f"{PROMPT}\n" + "unrelated words of a pasted log " * 60_000

    found = await advisor(parts).find_lesson(long[:2_000], ALICE)

    assert await advisor(parts).find_lesson(long, ALICE) == found
