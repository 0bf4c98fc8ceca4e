"""Sessions in folders whose projects are called otherwise than before, over a real hub."""

import json
import shutil
from pathlib import Path

import pytest

from learning_memory_server.server.app import CONTEXT_URI
from tests.acceptance.hubs import ENTRY, Memory, learn
from tests.acceptance.wire import COMMAND, Wire
from tests.hub.test_hook import answer
from tests.model.test_identity import SHOP
from tests.server.work_folder.repositories import cloned, repository
from tests.sharing.repositories import git

pytestmark = pytest.mark.slow


def session(memory: Memory, folder: Path) -> Wire:
    """Begin a session of a client that names the folder."""
    here = ("env", "-u", "LEARNING_MEMORY_PROJECT", f"CLAUDE_PROJECT_DIR={folder}", str(COMMAND))
    return memory.greeted(str(folder), command=here)


def context(front: Wire) -> str:
    """Return what the session is told at its start."""
    said = front.request("resources/read", uri=CONTEXT_URI)
    text: str = said["contents"][0]["text"]
    return text


def count(front: Wire) -> int:
    found: int = front.call("list_ghap_entries", project="current", limit=5)["count"]
    return found


def test_a_repository_that_gets_a_remote_and_moves_stays_one_project_in_all_sessions(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = repository(tmp_path / "shop")
    first = session(memory, shop)
    learn(first)

    git(shop, "remote", "add", "origin", f"https://{SHOP}.git")

    ghap_id = first.call("start_ghap", **ENTRY)["id"]
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(shop))
    hook = json.dumps({"hook_event_name": "SessionStart", "session_id": "another", "source": "startup"}).encode()
    assert ghap_id in answer(memory.place(), hook, "").decode()
    assert ghap_id in context(session(memory, shop))
    memory.end_hub()
    again = session(memory, shop.rename(tmp_path / "moved"))
    assert ghap_id in context(again)
    assert count(again) == 1
    learn(again)
    assert count(session(memory, cloned(tmp_path / "moved", tmp_path / "clone", remote=SHOP))) == 2


def test_another_repository_is_told_nothing_wherever_it_is_and_whatever_its_remote_says(
    memory: Memory, tmp_path: Path
) -> None:
    shop = repository(tmp_path / "shop", remote=SHOP)
    first = session(memory, shop)
    ghap_id = first.call("start_ghap", **ENTRY)["id"]
    learn(first)
    copies = [cloned(shop, tmp_path / "template"), cloned(shop, tmp_path / "fork", remote="github.com/mine/shop")]
    copies.append(repository(tmp_path / "evil", "another", SHOP))
    shutil.rmtree(shop)
    copies.append(repository(shop, "where it was", SHOP))

    for copy in copies:
        other = session(memory, copy)
        assert ghap_id not in context(other), copy
        assert count(other) == 0, copy
