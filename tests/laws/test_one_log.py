"""One log cannot take the rest along: what is wrong with it fails only the calls that are about what it keeps."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.system import files
from tests.laws.one_log import LOGS, OPEN, READING, UNREADABLE, UNWRITABLE, WRITING, Ids, paths, refusing, served
from tests.sharing.repositories import git

pytestmark = pytest.mark.slow


async def test_nothing_fails_where_nothing_is_wrong(sown: tuple[Path, Ids], store: Path) -> None:
    async with served(store) as agent:
        assert await agent.failing(sown[1]) == {}
        assert await agent.denies()


@pytest.mark.parametrize("code", [errno.EACCES, errno.ENOSPC])
@pytest.mark.parametrize("log", [OPEN, *LOGS])
async def test_only_what_saves_in_a_log_fails_when_it_cannot_be_written(
    sown: tuple[Path, Ids], store: Path, monkeypatch: pytest.MonkeyPatch, log: str, code: int
) -> None:
    journal = store / "journal"
    async with served(store) as agent:
        if log != OPEN:
            assert await agent.ask_with("start_ghap", sown[1]) == ""
        before = agent.kept()
        with refusing(monkeypatch, WRITING, [journal / log, journal / f"{log}.jsonl"], code):
            failing = await agent.failing(sown[1])
            kept = agent.kept()
            assert await agent.denies()
        assert failing.keys() <= UNWRITABLE.get(log, set()), failing
        saving = {"start_ghap": 1, "add_memory": 1, "delete_memory": -1}
        assert kept - before == sum(number for name, number in saving.items() if name not in failing)
        for name in failing:
            assert await agent.ask_with(name, sown[1]) == ""


@pytest.mark.parametrize("tool", ["start_ghap", "resolve_ghap", "add_memory"])
async def test_a_call_that_is_refused_has_saved_nothing_whichever_of_its_writes_fails(
    sown: tuple[Path, Ids], store: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    failed = 0
    async with served(store) as agent:
        while True:
            # It has an entry to close, and one that a new entry leaves behind.
            assert await agent.ask_with("start_ghap", sown[1]) == ""
            before = agent.kept(), len(agent.services.collector.all())
            with failing_at(monkeypatch, failed) as writes:
                refused = await agent.ask_with(tool, sown[1])
            after = agent.kept(), len(agent.services.collector.all())
            assert (after == before) == bool(refused), (failed, refused)
            if len(writes) <= failed:
                break
            failed += 1
    # The call has written something, or this says nothing.
    assert failed


@contextmanager
def failing_at(monkeypatch: pytest.MonkeyPatch, number: int) -> Iterator[list[Path]]:
    """Let the disk be full at one write, by its number. Yield the files that are written."""
    writes: list[Path] = []

    def counted(name: str) -> Any:
        as_it_is = getattr(files, name)

        def use(path: Path, *rest: Any, **more: Any) -> Any:
            writes.append(path)
            if len(writes) == number + 1:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
            return as_it_is(path, *rest, **more)

        return use

    with monkeypatch.context() as patch:
        for name in WRITING:
            patch.setattr(files, name, counted(name))
        yield writes


@pytest.mark.parametrize("log", LOGS)
async def test_only_what_is_about_a_log_fails_when_it_cannot_be_read(
    sown: tuple[Path, Ids], store: Path, work: Path, monkeypatch: pytest.MonkeyPatch, log: str
) -> None:
    git(work, "remote", "add", "origin", "https://example.com/acme/garden")
    with refusing(monkeypatch, READING, paths(store, log), errno.EACCES):
        async with served(store) as agent:
            failing = await agent.failing(sown[1])
            assert failing.keys() <= UNREADABLE.get(log, set()), failing
            assert await agent.denies() or log == "rules"
            assert await agent.is_known(work)
