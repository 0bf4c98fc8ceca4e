"""Fixtures for every test, and where tests keep their files."""

import gc
import os
import shutil
import signal
from collections.abc import AsyncIterator, Generator, Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import settings

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.cli import out
from learning_memory_server.journal.journal import Journal
from tests.acceptance.hubs import Memory, memory_in
from tests.acceptance.wire import Wire
from tests.capture.memories.shelf import Shelf, open_shelf
from tests.left_behind import (
    nothing_left_behind_by_fixtures_of_a_module,
    nothing_left_behind_by_this_test,
    restored_process,
)
from tests.logs import log_plainly
from tests.support import Parts, TickingClock, open_parts
from tests.tiny_reranker import save_reranker

# Fixtures, which are found by their names.
__all__ = ["nothing_left_behind_by_fixtures_of_a_module", "nothing_left_behind_by_this_test", "restored_process"]

if TYPE_CHECKING:
    from tests.index.engines.double import QdrantDouble

# The disk decides how long an example takes.
settings.register_profile("durable", deadline=None, max_examples=60)
settings.load_profile("durable")

_SHM: Final = Path("/dev/shm")  # noqa: S108 - a folder for this process alone is created in it
_NEEDED: Final = 4 << 30
"""Bytes free in RAM before tests keep their files there: the whole suite uses up to 1 GiB."""
_NAME: Final = "learning-memory-tests-"
_OF_CALLERS: Final = ("CI", *out.CLIENTS)
"""What a build server or an agent's client sets. A test sets it where it matters."""
_SLOW_FIXTURES: Final = {"reranker_folder", "start_hub"}
_TORCH_IS_MISSING: Final = find_spec("torch") is None
_LEFT_OUT: Final = pytest.StashKey[int]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Run as in a person's terminal: Ctrl-C ends what tests start, and files are kept in RAM where there is room.

    An index opens twenty times as fast there. The folder is removed at the end; to look at the files of a failed
    test, run it with `--basetemp`, which names another.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # As in the background of a shell. What tests start and interrupt would inherit it, and have to be killed.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    log_plainly()
    for name in _OF_CALLERS:
        os.environ.pop(name, None)
    if not _TORCH_IS_MISSING:
        # As before each import of torch, which reads it once: this process keeps it.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # A worker in a parallel run gets its folder from the main process.
    if config.option.basetemp or hasattr(config, "workerinput") or not _SHM.is_dir():
        return
    for path in _SHM.glob(f"{_NAME}*"):
        owner = path.name.removeprefix(_NAME)
        if not Path("/proc", owner).exists():
            # Left by a run that was killed.
            shutil.rmtree(path, ignore_errors=True)
    if shutil.disk_usage(_SHM).free >= _NEEDED:
        folder = _SHM / f"{_NAME}{os.getpid()}"
        config.option.basetemp = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what loads a real model or starts a hub as slow, and leave out what needs torch where it is missing."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if _SLOW_FIXTURES.intersection(fixtures):
            item.add_marker(pytest.mark.slow)
        if "reranker_folder" in fixtures:
            item.add_marker(pytest.mark.torch)
    if _TORCH_IS_MISSING:
        left_out = [item for item in items if item.get_closest_marker("torch")]
        items[:] = [item for item in items if not item.get_closest_marker("torch")]
        config.hook.pytest_deselected(items=left_out)
        config.stash[_LEFT_OUT] = len(left_out)
        if hasattr(config, "workeroutput"):
            config.workeroutput["left_out"] = len(left_out)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the number from a worker of a parallel run: each of them collects the same tests."""
    node.config.stash[_LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how many tests were left out, and how to have them, and how to have this order again."""
    if left_out := config.stash.get(_LEFT_OUT, 0):
        terminalreporter.write_line(
            f"{left_out} tests need torch, which is not installed, and were left out. Run them with: make test-torch"
        )
    # What is said at the beginning is not shown with -q.
    if (seed := config.getoption("randomly_seed", None)) is not None:
        terminalreporter.write_line(f"The same order again: --randomly-seed={seed}")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while tests are imported, which makes a million objects, and never again among those."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture
def runtime() -> Iterator[Path]:
    """A folder for sockets: pytest's own have names that are too long for one."""
    with TemporaryDirectory(prefix="lms-") as path:
        yield Path(path)


@pytest.fixture
def clock() -> TickingClock:
    return TickingClock()


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


@pytest.fixture
def collector(journal: Journal, clock: TickingClock) -> ObservationCollector:
    return ObservationCollector(journal, clock)


@pytest.fixture
async def parts(tmp_path: Path) -> AsyncIterator[Parts]:
    """Everything over an empty journal, and an index that is not open yet."""
    async with open_parts(tmp_path) as opened:
        yield opened


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Shelf]:
    """No memories, and an index that is not open yet."""
    async with open_shelf(tmp_path) as opened:
        yield opened


@pytest.fixture
def double() -> "Iterator[QdrantDouble]":
    """A Qdrant server, as far as clients can tell."""
    from tests.index.engines.double import serving

    with serving() as server:
        yield server


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A storage folder, and fronts that end with the test."""
    storage = tmp_path / "data"
    storage.mkdir(mode=0o700)
    with memory_in(storage) as memory:
        yield memory


@pytest.fixture
def front(memory: Memory) -> Wire:
    """A client's session that has a hub."""
    return memory.greeted()


@pytest.fixture(scope="session")
def reranker_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A re-ranking model that favours one word."""
    return save_reranker(tmp_path_factory.mktemp("models") / "favouring")
