"""The child process makes the same fit as its parent would, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from structlog.testing import capture_logs

from learning_memory_server.children import detached, module_command
from learning_memory_server.clustering.child import ChildFitting
from learning_memory_server.clustering.clusterer import Clusterer
from learning_memory_server.clustering.fitting import FitRequest, fit
from learning_memory_server.errors import InsufficientDataError, LearningMemoryError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def request_of(count: int = 60) -> FitRequest:
    """Three directions, with a little noise around each."""
    random = np.random.default_rng(5)
    centres = np.eye(3, 16, dtype=np.float32)[np.arange(count) % 3]
    vectors = centres + 0.1 * random.normal(size=(count, 16)).astype(np.float32)
    names = [f"e{row:03}" for row in range(count)]
    return FitRequest(
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


async def test_the_fit_is_the_same_as_without_a_process_of_its_own() -> None:
    here = fit(request_of(), Clusterer(5, 2))
    there = await ChildFitting(5, 2).fit(ready(request_of()))

    assert len(there.partition.clusters) == 3
    for ours, theirs in zip(here.partition.clusters, there.partition.clusters, strict=True):
        np.testing.assert_array_equal(ours.members, theirs.members)
        np.testing.assert_array_equal(ours.centroid, theirs.centroid)
    assert there.labels == here.labels
    assert there.matching == here.matching
    assert sorted(there.matching.numbers) == [4, 7, 8]


async def test_a_child_that_fails_is_an_error_and_its_output_stays_in_the_log() -> None:
    request = request_of()
    broken = FitRequest(request.vectors[:, :0], request.weights, ["secret"], request.ids, {}, 0)

    with capture_logs() as logs, pytest.raises(LearningMemoryError, match="clustering failed") as caught:
        await ChildFitting(None, 3).fit(ready(broken))

    assert "Traceback" not in str(caught.value)
    assert "Traceback" in logs[0]["output"]


async def test_a_request_that_cannot_be_made_ends_the_child() -> None:
    async def refuse() -> FitRequest:
        raise InsufficientDataError("Too few.")

    before = _children()
    with pytest.raises(InsufficientDataError, match="Too few"):
        await ChildFitting(None, 3).fit(refuse)

    assert _children() <= before


@pytest.mark.parametrize("turns", [0, 1, 2, 5, 20, 500])
async def test_a_caller_who_leaves_takes_the_child_along(turns: int) -> None:
    task = asyncio.create_task(ChildFitting(None, 3).fit(ready(request_of(2000))))
    before = _children()
    while not (children := _children() - before):  # noqa: ASYNC110 - the kernel has no event for it
        await asyncio.sleep(0)
    for _ in range(turns):
        await asyncio.sleep(0)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 20)

    assert children.isdisjoint(_children())


async def test_where_no_process_can_be_started_the_work_is_done_here() -> None:
    there = await ChildFitting(5, 2, ["/nowhere/python"]).fit(ready(request_of()))

    assert len(there.partition.clusters) == 3


def test_the_parent_needs_neither_scipy_nor_hdbscan() -> None:
    program = """
import asyncio, sys
from tests.clustering.test_child import ready, request_of
from learning_memory_server.clustering.child import ChildFitting
asyncio.run(ChildFitting(5, 2).fit(ready(request_of())))
print(sorted({"scipy", "hdbscan", "sklearn"} & set(sys.modules)))
"""
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"


def test_a_module_is_found_whatever_the_working_directory_holds(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise SystemExit('shadowed')")

    done = subprocess.run(
        module_command("learning_memory_server", "--version"),
        **{**detached(), "cwd": tmp_path},
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def _children() -> set[str]:
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):  # the thread has ended
            found.update((task / "children").read_text().split())
    return found
