"""Folders of connections: each is looked at in a thread of its own."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from threading import Event

from learning_memory_server.journal.journal import Journal
from learning_memory_server.server.claims import Belonging, Claims, Folders
from tests.server.work_folder.repositories import repository
from tests.sharing.repositories import git


class DeadDisk(Claims):
    """What is known of folders, some of which are on a disk that does not answer."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.mended = Event()

    def find(self, directory: Path, is_stored: Callable[[str], bool] | None = None) -> Belonging:
        if directory.parent.name == "dead":
            self.mended.wait()
        return super().find(directory, is_stored)


def folders_in(claims: Claims, stored: set[str]) -> Folders:
    return Folders(claims, Journal(claims.facts.folder.parent / "journal").names, stored.__contains__)


async def test_folders_on_a_disk_that_does_not_answer_keep_no_other_session_waiting(tmp_path: Path) -> None:
    claims = DeadDisk(tmp_path / "claims")
    folders = folders_in(claims, set())
    waiting = [
        asyncio.create_task(folders.caller(str(tmp_path / "dead" / str(number % 40)), None, "session"))
        for number in range(80)
    ]
    await asyncio.sleep(0)

    assert (await folders.caller(str(repository(tmp_path / "shop")), None, "session")).is_told

    assert not any(each.done() for each in waiting)
    claims.mended.set()
    assert len({each.project for each in await asyncio.gather(*waiting)}) == 40


async def test_what_is_known_of_a_folder_holds_until_something_changes_there(tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    folders = folders_in(Claims(tmp_path / "claims"), set())
    first = await folders.caller(str(shop), None, "session")
    git(shop, "remote", "add", "origin", "https://github.com/acme/shop.git")

    assert await folders.caller(str(shop), None, "session") == first
    Claims(tmp_path / "claims").confirm(shop, "another")
    assert (await folders.caller(str(shop), None, "session")).project == "another"
    assert (await folders.caller(str(shop), "named", "session")).project == "named"
