"""The whole program in this process, for the laws."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.command_line import Run, environment, run, storage
from tests.laws.one_log import Ids, sow_logs
from tests.laws.program import Program, program_in
from tests.sharing.repositories import git
from tests.support import in_one_task

Serve = Callable[[], AbstractAsyncContextManager[Program]]

__all__ = ["environment", "run", "storage"]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that commands run in, with no client's or user's own variables and files."""
    path = tmp_path / "work"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    monkeypatch.chdir(path)
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)

    def kill(pid: int, number: int) -> None:
        if number == 0:  # Only asks whether the process runs
            return
        raise AssertionError(f"The program wanted to end process {pid} with signal {number}, which is a test.")

    # The hub is in this process: a command that ends it would end all tests.
    monkeypatch.setattr(os, "kill", kill)
    return path


@pytest.fixture
def serve(
    storage: Path,
    environment: dict[str, str],
    run: Run,  # noqa: ARG001 - commands start no process
    work: Path,  # noqa: ARG001 - commands run there
    monkeypatch: pytest.MonkeyPatch,
) -> Serve:
    """Start a hub over the store, as often as a test wants one."""
    monkeypatch.setenv("HOME", environment["HOME"])
    # The hub has the default, and would say that others ask for less.
    given = {name: text for name, text in environment.items() if not name.endswith("HUB_IDLE_MINUTES")}
    return lambda: program_in(storage, given)


@pytest.fixture
async def program(serve: Serve) -> AsyncIterator[Program]:
    """A hub over an empty store."""
    async with in_one_task(serve()) as program:
        yield program


@pytest.fixture(scope="module")
def sown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ids]:
    folder = tmp_path_factory.mktemp("sown")
    return folder, asyncio.run(sow_logs(folder))


@pytest.fixture
def store(sown: tuple[Path, Ids], tmp_path: Path) -> Path:
    """A copy of the store's journal: its index is made again."""
    shutil.copytree(sown[0] / "journal", tmp_path / "store" / "journal")
    return tmp_path / "store"
