"""Fitting in a child process: `python -m learning_memory_server.lessons.clusters.child MIN_SIZE MIN_SAMPLES`.

Clustering holds the GIL, and its imports take two seconds and 100 MB. The child ends after a minute without a request,
or with its parent.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.system import timeouts
from learning_memory_server.system.children import ATTEMPTS, Child, ChildFailedError, answer_requests, module_command
from learning_memory_server.system.ram import without_collections

if TYPE_CHECKING:
    from learning_memory_server.lessons.clusters.clusters import AxisFit
    from learning_memory_server.lessons.clusters.fitting import FitRequest

log = structlog.get_logger()

_MODULE: Final = "learning_memory_server.lessons.clusters.child"
_POLITE: Final = 5  # The child's niceness: a caller may be waiting for clusters, but others are waiting for searches


class ChildFitting:
    """Runs fits in a child process. `command` runs this module; by default, this interpreter does.

    The child is kept for `kept_seconds` after a fit, and has `fit_seconds` for one.
    """

    def __init__(
        self,
        min_cluster_size: int | None,
        min_samples: int,
        command: Sequence[str] | None = None,
        kept_seconds: float = timeouts.FIT_CHILD_KEPT,
        fit_seconds: float = timeouts.FIT,
    ) -> None:
        self._arguments = (str(min_cluster_size or ""), str(min_samples))
        self._command = module_command(_MODULE) if command is None else command
        self._kept_seconds = kept_seconds
        self._fit_seconds = fit_seconds
        self._child: Child | None = None
        self._ending: asyncio.TimerHandle | None = None

    async def fit(self, prepare: Callable[[], Awaitable[FitRequest]]) -> AxisFit:
        """See `Fitting`. If no process can be started, the fit runs in this one."""
        if self._ending is not None:
            self._ending.cancel()
        for _ in range(ATTEMPTS):
            try:
                child = self._started()
            except OSError as error:
                log.warning("clustering.without_child", reason=error.strerror)
                return await asyncio.to_thread(_fit, await prepare(), self._arguments)
            try:
                answer = await self._answer(child, prepare)
            except ChildFailedError as error:
                log.error("clustering.failed", type=error.reason)  # noqa: TRY400 - the traceback is ours, not the child's
            else:
                self._ending = asyncio.get_running_loop().call_later(self._kept_seconds, self._end)
                return answer
        raise LearningMemoryError("Clustering failed.", hint="The log says why: see `learning-memory-server hub logs`.")

    async def _answer(self, child: Child, prepare: Callable[[], Awaitable[FitRequest]]) -> AxisFit:
        """Return a child's answer. A child that has none to give is ended."""
        loop, talk = asyncio.get_running_loop(), None
        try:
            # A new child spends this time on its imports.
            talk = loop.run_in_executor(None, child.ask, await prepare(), self._fit_seconds)
            answer: AxisFit = await asyncio.shield(talk)
        except BaseException:
            # Also if it is cancelled: the child's late answer would be taken for that of the next request.
            self._child = None
            child.kill()
            if talk is not None:
                await asyncio.wait([talk])
            await asyncio.to_thread(child.end)
            raise
        return answer

    async def close(self) -> None:
        """End the child."""
        if self._ending is not None:
            self._ending.cancel()
        if ended := self._end():
            await ended

    def _started(self) -> Child:
        if self._child is not None and not self._child.is_running:
            self._child.end()
            self._child = None
        if self._child is None:
            # A plain process and a thread: asyncio's subprocess hangs if it is cancelled while starting (3.11).
            self._child = Child([*self._command, *self._arguments])
        return self._child

    def _end(self) -> asyncio.Future[None] | None:
        child, self._child = self._child, None
        return asyncio.get_running_loop().run_in_executor(None, child.end) if child else None


def main(arguments: Sequence[str]) -> None:
    """Answer requests until there are no more."""
    if hasattr(os, "nice"):
        os.nice(_POLITE)
    # Two seconds of imports, while the parent prepares the request.
    with without_collections():
        import sklearn.decomposition  # noqa: F401

        import learning_memory_server.lessons.clustering.clusterer
        import learning_memory_server.lessons.clusters.fitting  # noqa: F401
        from learning_memory_server.lessons.clustering.density import load_hdbscan

        load_hdbscan()

    answer_requests(lambda request: _fit(request, arguments))


def _fit(request: FitRequest, arguments: Sequence[str]) -> AxisFit:
    from learning_memory_server.lessons.clustering.clusterer import Clusterer
    from learning_memory_server.lessons.clusters.fitting import fit

    min_cluster_size, min_samples = arguments
    return fit(request, Clusterer(int(min_cluster_size) if min_cluster_size else None, int(min_samples)))


if __name__ == "__main__":
    main(sys.argv[1:])
