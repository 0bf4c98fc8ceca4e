"""What others have shared is found by whoever searches, and shown to nobody unasked, at no trigger, without a yes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.advice import constants
from learning_memory_server.advice.finder import LessonFinder
from learning_memory_server.index.document import documents_of
from learning_memory_server.index.queries import ExperienceQuery
from learning_memory_server.journal.kinds import VALUE
from learning_memory_server.model.answer import Said
from learning_memory_server.model.moment import utc_now
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.settings import Settings
from tests.advice.parts import MeasuredModel
from tests.hooks.test_reading import session_in, shop, work_on_checkout
from tests.journal.archive.making import value_record
from tests.server.agent import CALLER, CONFIRMED, ENTRY, OWL, at_work
from tests.sharing.repositories import commit, git, lesson, write

__all__ = ["shop"]

BEARS = f"{ENTRY['goal']}: {ENTRY['hypothesis']}"
LESSON = "look at the proxy before you look at the cache"


async def joined(services: Services, folder: Path, count: int) -> None:
    """Join a repository of lessons that all bear on the entry, of two authors who confirm them."""
    git(folder, "init", "-q", "-b", "main")
    for number in range(count):
        texts = {"": f"{ENTRY['goal']} ({number})", "What was believed": ENTRY["hypothesis"], "Lesson": LESSON}
        write(folder, lesson(number, **texts))
    commit(folder, "Share", "Ben")
    await services.shared.join(folder, CALLER.project)
    await services.writer.complete()
    assert len(services.shared.entries) == count


async def everything_shown(services: Services, shop: Path) -> dict[str, Any]:
    services.room.has_deadline = False
    told: dict[str, Any] = {}
    work_on_checkout(shop)
    async with session_in(services, shop, "a") as work:
        told["start"] = await work.fire("SessionStart", session="a", folder=str(shop))
    async with session_in(services, shop, "b") as work:
        await work.fire("SessionStart", session="b")
        told["prompt"] = await work.fire("UserPromptSubmit", session="b", prompt=BEARS)
    async with session_in(services, shop, "c") as work:
        fails = {"command": "shipit deploy", "error": f"Exit code 1\nerror: {BEARS}"}
        told["error"] = await work.fire("PostToolUseFailure", session="c", **fails)
    async with session_in(services, shop, "d") as work:
        await work.fire("PreToolUse", session="d", agent="", prompt=BEARS, kind="Explore")
        told["subagent"] = await work.fire("SubagentStart", session="d", agent="a1", kind="Explore")
    async with session_in(services, shop, "e") as work:
        told["start_ghap"] = (await work.call("start_ghap", **ENTRY)).get("related")
    async with session_in(services, shop, "f") as work:
        await work.call("start_ghap", **OWL)
        told["update_ghap"] = (await work.call("update_ghap", hypothesis=BEARS)).get("related")
    return told


@pytest.mark.parametrize("is_own", [True, False])
async def test_nothing_that_others_have_shared_is_shown_at_any_trigger(
    settings: Settings, shop: Path, is_own: bool
) -> None:
    async with at_work(settings, load=MeasuredModel) as services:
        if is_own:
            async with session_in(services, shop, "first") as first:
                await first.call("start_ghap", **ENTRY)
                await first.call("resolve_ghap", **CONFIRMED)
        else:
            await joined(services, shop, 40)
        told = await everything_shown(services, shop)
        # At the same triggers your own are shown.
        assert {name for name, said in told.items() if bool(said) is not is_own} == set()
        assert is_own or LESSON not in json.dumps(told)
        if not is_own:
            sought = await services.searcher.search_experiences(ExperienceQuery(BEARS, limit=50))
            assert {getattr(each.entry, "shared", "") for each in sought.found} == {"shared, merged by Ben"}
            assert len(sought.found) == 40


async def test_after_a_yes_a_shared_lesson_is_shown_at_every_trigger_with_who_merged_it(
    settings: Settings, shop: Path
) -> None:
    async with at_work(settings, load=MeasuredModel) as services:
        await joined(services, shop, 1)
        (item,) = services.review.waiting(CALLER.project, utc_now())
        assert (item.kind, item.text, item.fared) == ("shared", LESSON, "shared, merged by Ben")
        services.review.answer(item, Said.YES, utc_now())
        told = await everything_shown(services, shop)
        assert {name for name, said in told.items() if LESSON in json.dumps(said)} == set(told)
        assert {name for name, said in told.items() if "merged by Ben" in json.dumps(said)} == {*told} - {"start"}
        services.review.answer(item, Said.UNDO, utc_now())
        assert LESSON not in json.dumps(await everything_shown(services, shop))


async def test_a_shared_lesson_that_an_own_entry_confirms_needs_no_yes(settings: Settings, shop: Path) -> None:
    async with at_work(settings, load=MeasuredModel) as services:
        await joined(services, shop, 1)
        (item,) = services.review.waiting(CALLER.project, utc_now())
        services.shared.effects = lambda: {item.id: (0, 1)}
        assert not services.review.waiting(CALLER.project, utc_now())
        told = await everything_shown(services, shop)
        assert {name for name, said in told.items() if LESSON in json.dumps(said)} == set(told)


async def test_what_a_person_declined_is_found_and_shown_at_no_trigger(settings: Settings, shop: Path) -> None:
    async with at_work(settings, load=MeasuredModel) as services:
        async with session_in(services, shop, "first") as first:
            await first.call("start_ghap", **ENTRY)
            name = (await first.call("resolve_ghap", **CONFIRMED))["id"]
        services.review.answer(services.review.find(name, CALLER.project), Said.NEVER, utc_now())
        assert not any((await everything_shown(services, shop)).values())
        sought = await services.searcher.search_experiences(ExperienceQuery(BEARS, limit=50))
        assert [each.entry.id for each in sought.found] == [name]


async def test_what_was_imported_is_shown_at_no_trigger(settings: Settings, shop: Path) -> None:
    async with at_work(settings, load=MeasuredModel) as services:
        async with session_in(services, shop, "first") as first:
            await first.call("start_ghap", **ENTRY)
            await first.call("resolve_ghap", **CONFIRMED)
        (own,) = services.collector.list_resolved()
    imported = [replace(own, id=f"ghap_20260101_00000{number}_abcdef", imported=True) for number in range(9)]
    still_open = replace(imported[0], id="ghap_20260101_000010_abcdef", resolution=None)
    value = VALUE.decode(value_record(1).data | {"project": own.project, "imported": True})
    other = settings.model_copy(update={"storage_path": settings.storage_path / "other", "journal_path": None})
    async with at_work(other, load=MeasuredModel) as services:
        services.collector.add_resolved(imported)
        services.collector.add_open([still_open])
        services.values.add_new([value])
        services.writer.postpone([document for entry in imported for document in documents_of(entry)])
        await services.writer.complete()
        told = await everything_shown(services, shop)
        assert {name: said for name, said in told.items() if said} == {}
        sought = await services.searcher.search_experiences(ExperienceQuery(BEARS, limit=50))
        assert {each.entry.id for each in sought.found} == {each.id for each in imported}
        head, *rest = services.review.waiting(own.project, utc_now())
        assert {each.id for each in (head, *rest)} == {each.id for each in imported}
        services.review.answer(head, Said.YES, utc_now(), *rest)
        told = await everything_shown(services, shop)
        assert {name for name, said in told.items() if said} >= {"start", "prompt", "subagent", "start_ghap"}


async def test_what_others_have_shared_crowds_out_nothing_of_your_own(
    settings: Settings, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_work(settings, load=MeasuredModel) as services:
        async with session_in(services, shop, "first") as first:
            await first.call("start_ghap", **ENTRY)
            entry = (await first.call("resolve_ghap", **CONFIRMED))["id"]
        await joined(services, shop, 40)
        # None of your own is among the newest, so all come from the index.
        monkeypatch.setattr(constants, "BACKGROUND", 0)
        near = await LessonFinder(services.room.lessons, services.index).find([BEARS], CALLER)
        assert [each.entry.id for each in near.scored] == [entry]
