"""Memories that are deleted, one or all of a project."""

from pathlib import Path

import pytest

from learning_memory_server.errors import NotFoundError
from tests.capture.memories.shelf import LONG, TEXT, Shelf, open_shelf, reloaded
from tests.support import ALICE, CAROL, NOON


async def test_a_deleted_memory_is_gone_from_everything(tmp_path: Path) -> None:
    async with open_shelf(tmp_path) as shelf:
        await shelf.ready()
        kept, gone = await shelf.add(LONG), await shelf.add(TEXT)
        await shelf.ready()
        await shelf.memories.delete(gone.memory.id)
        assert shelf.log.all() == [kept.memory]
        assert await shelf.points() == kept.chunks
    assert reloaded(tmp_path) == [kept.memory]


async def test_a_pending_memory_that_is_deleted_is_never_indexed(shelf: Shelf) -> None:
    await shelf.ready()
    await shelf.memories.delete((await shelf.add(LONG)).memory.id)
    await shelf.ready()
    assert await shelf.points() == 0


async def test_points_that_outlived_their_memory_are_removed_by_the_next_process(tmp_path: Path) -> None:
    async with open_shelf(tmp_path) as shelf:
        await shelf.ready()
        added = await shelf.add(LONG)
        await shelf.ready()
        shelf.log.forget([added.memory.id], NOON)
        shelf.journal.purge()
    async with open_shelf(tmp_path) as shelf:
        await shelf.ready()
        assert await shelf.points() == 0


async def test_only_an_existing_memory_can_be_deleted(shelf: Shelf) -> None:
    gone = (await shelf.add(TEXT)).memory.id
    await shelf.memories.delete(gone)
    for memory_id, reason in ((gone, "was deleted before"), ("nothing", "there is no memory")):
        with pytest.raises(NotFoundError, match=f"^memory_id: .*{reason}"):
            await shelf.memories.delete(memory_id)


async def test_a_deleted_memory_can_be_added_again(shelf: Shelf) -> None:
    first = await shelf.add(TEXT)
    await shelf.memories.delete(first.memory.id)
    second = await shelf.add(TEXT)
    assert second.is_new
    assert second.memory.id != first.memory.id


async def test_a_project_is_forgotten_with_all_its_memories(shelf: Shelf) -> None:
    await shelf.ready()
    await shelf.add(TEXT)
    await shelf.add(LONG)
    other = await shelf.add(TEXT, CAROL)
    of_project = shelf.log.look_up_project(ALICE.project).found
    forgetting = shelf.log.forget((memory.id for memory in of_project), NOON)
    assert len(forgetting.found) == 2
    await shelf.writer.remove(shelf.log.points_of(forgetting))
    assert shelf.log.all() == [other.memory]
    assert await shelf.points() == 1
