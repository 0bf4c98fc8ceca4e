"""Where the project's folders are is looked up once a session, and a call waits for no disk."""

import asyncio
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from learning_memory_server.server.composition.services import Services
from learning_memory_server.system import timeouts
from tests.rules.making import LIVE, PUSH, accepted
from tests.support import ALICE


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """A folder in a repository."""
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (app := tmp_path / "shop" / "app").mkdir()
    return app


@pytest.fixture
def gone(app: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The same, on a disk that is gone: whoever looks there waits."""
    back, real = Event(), os.path.realpath

    def waits(path: str, *given: object, **more: object) -> str:
        if str(path).startswith(str(app)):
            back.wait()
        return real(path, *given, **more)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(os.path, "realpath", waits)
    monkeypatch.setattr(timeouts, "GIT", 0.01)
    yield app
    back.set()


async def fire(services: Services, folder: Path, name: str, **given: str) -> str:
    event = {"event": name, "folder": str(folder), **given}
    caller = replace(ALICE, folder=str(folder))
    return await asyncio.wait_for(services.hooks.answer(event, caller, caller.session), 5)


async def test_a_call_does_not_wait_for_a_disk_that_is_gone(
    services: Services, gone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "ONE_MESSAGE", -1.0)
    services.rule_log.add(accepted("Never push", PUSH, project=ALICE.project))
    assert await fire(services, gone, "UserPromptSubmit", prompt="hello") == ""
    for number in range(3):
        said = await fire(services, gone, "PreToolUse", command="git push", call=f"toolu_{number}")
        assert ("Never push" in said) is (number == 0)


async def test_without_a_look_the_folder_of_the_session_is_the_projects(services: Services, app: Path) -> None:
    services.rule_log.add(accepted("Work in staging/", LIVE, project=ALICE.project))
    file = {"file": str(app.parent / "live" / "a.txt"), "edit": "true", "content": "x"}
    assert await fire(services, app, "PreToolUse", call="toolu_1", **file) == ""
    await fire(services, app, "UserPromptSubmit", prompt="hello")
    assert "staging/" in await fire(services, app, "PreToolUse", call="toolu_2", **file)
