"""The child process makes the same fit as its parent would and leaves nothing behind."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from structlog.testing import capture_logs

from learning_memory_server.errors import InsufficientDataError, LearningMemoryError
from learning_memory_server.lessons.clustering.clusterer import Clusterer
from learning_memory_server.lessons.clusters.child import ChildFitting
from learning_memory_server.lessons.clusters.fitting import FitRequest, fit
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.system.children import detached, module_command
from tests.support import MINUTES


def request_of(count: int = 60) -> FitRequest:
    """Three directions, with a little noise around each."""
    random = np.random.default_rng(5)
    centres = np.eye(3, 16, dtype=np.float32)[np.arange(count) % 3]
    vectors = centres + 0.1 * random.normal(size=(count, 16)).astype(np.float32)
    names = [f"e{row:03}" for row in range(count)]
    return FitRequest(
        Axis.FULL,
        vectors,
        np.ones(count),
        [("pool", "cache", "queue")[row % 3] + f" number {row}" for row in range(count)],
        names,
        before={4: frozenset(names[::3])},
        next_number=7,
    )


def ready(request: FitRequest) -> Callable[[], Awaitable[FitRequest]]:
    async def prepare() -> FitRequest:
        await asyncio.sleep(0)
        return request

    return prepare


@pytest.mark.slow
async def test_a_child_process_makes_the_same_fit() -> None:
    here = fit(request_of(), Clusterer(5, 2))
    fitting = ChildFitting(5, 2)
    there = await fitting.fit(ready(request_of()))
    await fitting.close()

    assert len(there.clusters) == 3
    for ours, theirs in zip(here.clusters, there.clusters, strict=True):
        assert (ours.id, ours.label, ours.members) == (theirs.id, theirs.label, theirs.members)
        np.testing.assert_array_equal(ours.evidence.centroid, theirs.evidence.centroid)
    assert sorted(each.id.number for each in there.clusters) == [4, 7, 8]


@pytest.mark.slow
async def test_a_child_is_kept_for_the_next_request_and_ends_when_it_is_not_used() -> None:
    before = _children()
    fitting = ChildFitting(5, 2, kept_seconds=0.2)
    await fitting.fit(ready(request_of()))
    (child,) = _children() - before
    fitting_long = ChildFitting(5, 2)
    await fitting_long.fit(ready(request_of()))
    kept = _children() - before
    first = await fitting_long.fit(ready(request_of()))
    assert len(first.clusters) == 3
    assert kept - {child} == _children() - before - {child}
    while child in _children():
        await asyncio.sleep(0.05)

    assert len((await fitting.fit(ready(request_of()))).clusters) == 3
    await fitting.close()
    await fitting_long.close()
    assert _children() <= before


@pytest.mark.slow
async def test_a_child_that_was_killed_is_replaced() -> None:
    before = _children()
    fitting = ChildFitting(5, 2)
    await fitting.fit(ready(request_of()))
    (child,) = _children() - before
    # Its threads take a moment to die, so that it may still look alive at the next request.
    os.kill(int(child), signal.SIGKILL)

    assert len((await fitting.fit(ready(request_of()))).clusters) == 3
    await fitting.close()


@pytest.mark.slow
async def test_a_failing_child_is_an_error_whose_reason_stays_in_the_log() -> None:
    request = request_of()
    broken = replace(request, vectors=request.vectors[:, :0], texts=["secret"])

    with capture_logs() as logs, pytest.raises(LearningMemoryError, match="Clustering failed") as caught:
        await ChildFitting(None, 3).fit(ready(broken))

    assert "Traceback" not in str(caught.value)
    assert logs[0]["type"] == "ValueError"
    assert "secret" not in str(logs)


async def test_a_request_that_cannot_be_prepared_ends_the_child() -> None:
    async def refuse() -> FitRequest:
        raise InsufficientDataError("Too few.")

    before = _children()
    with pytest.raises(InsufficientDataError, match="Too few"):
        await ChildFitting(None, 3).fit(refuse)

    assert _children() <= before


@pytest.mark.parametrize("turns", [0, 1, 2, 5, 20, 500])
async def test_cancelling_the_call_ends_the_child(turns: int) -> None:
    task = asyncio.create_task(ChildFitting(None, 3).fit(ready(request_of(2000))))
    before = _children()
    while not (children := _children() - before):
        await asyncio.sleep(0)
    for _ in range(turns):
        await asyncio.sleep(0)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, MINUTES)

    assert children.isdisjoint(_children())


async def test_without_a_child_process_the_fit_runs_in_this_one() -> None:
    there = await ChildFitting(5, 2, ["/nowhere/python"]).fit(ready(request_of()))

    assert len(there.clusters) == 3


@pytest.mark.slow
def test_the_parent_imports_no_library_of_clusters() -> None:
    program = """
import asyncio, sys
from tests.lessons.clusters.test_child import ready, request_of
from learning_memory_server.lessons.clusters.child import ChildFitting
async def main():
    fitting = ChildFitting(5, 2)
    await fitting.fit(ready(request_of()))
    await fitting.close()
asyncio.run(main())
print(sorted({"scipy", "sklearn", "hdbscan"} & set(sys.modules)))
"""
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True, timeout=MINUTES
    )
    assert done.stdout == "[]\n"


def test_a_module_is_found_whatever_the_working_directory_holds(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise SystemExit('shadowed')")

    done = subprocess.run(
        module_command("learning_memory_server", "--version"),
        **{**detached(), "cwd": tmp_path},
        capture_output=True,
        timeout=MINUTES,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def _children() -> set[str]:
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):  # the thread has ended
            found.update((task / "children").read_text().split())
    return found
