"""Fitting in a child process: `python -m learning_memory_server.lessons.clusters.child MIN_SIZE MIN_SAMPLES`.

Clustering holds the GIL, and its imports take two seconds and 100 MB. The child ends after a minute without a request,
or with its parent. Requests are pickled on stdin and fits on stdout.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.system import timeouts
from learning_memory_server.system.children import detached, module_command
from learning_memory_server.system.ending import raised_name
from learning_memory_server.system.ram import without_collections

if TYPE_CHECKING:
    from learning_memory_server.lessons.clusters.clusters import AxisFit
    from learning_memory_server.lessons.clusters.fitting import FitRequest

log = structlog.get_logger()

_MODULE: Final = "learning_memory_server.lessons.clusters.child"
_POLITE: Final = 5  # The child's niceness: a caller may be waiting for clusters, but others are waiting for searches


class ChildFitting:
    """Runs fits in a child process. `command` runs this module; by default, this interpreter does."""

    def __init__(
        self,
        min_cluster_size: int | None,
        min_samples: int,
        command: Sequence[str] | None = None,
        kept_seconds: float = timeouts.FIT_CHILD_KEPT,
    ) -> None:
        self._arguments = (str(min_cluster_size or ""), str(min_samples))
        self._command = module_command(_MODULE) if command is None else command
        self._kept_seconds = kept_seconds
        self._child: subprocess.Popen[bytes] | None = None
        self._ending: asyncio.TimerHandle | None = None

    async def fit(self, prepare: Callable[[], Awaitable[FitRequest]]) -> AxisFit:
        """See `Fitting`. If no process can be started, the fit runs in this one."""
        if self._ending is not None:
            self._ending.cancel()
        kept = self._child
        try:
            child = self._started()
        except OSError as error:
            log.warning("clustering.without_child", reason=error.strerror)
            return await asyncio.to_thread(_fit, await prepare(), self._arguments)
        loop = asyncio.get_running_loop()
        talk: asyncio.Future[AxisFit | None] | None = None
        try:
            # A new child spends this time on its imports.
            talk = loop.run_in_executor(None, _answer, child, await prepare())
            answer = await asyncio.shield(talk)
        except BaseException:
            # Also if it is cancelled: the child's late answer would be taken for that of the next request.
            self._child = None
            child.kill()
            if talk is not None:
                await asyncio.wait([talk])
            await asyncio.to_thread(child.communicate)
            raise
        if answer is not None:
            self._ending = loop.call_later(self._kept_seconds, self._end)
            return answer
        self._child = None
        _, errors = await asyncio.to_thread(child.communicate)
        if child is kept and child.returncode < 0:
            return await self.fit(prepare)  # It was killed between two requests: a new one answers, or fails by itself
        # The lines before it are frames, which show where the user has installed Python.
        last = errors.decode(errors="replace").strip().rpartition("\n")[2]
        log.error("clustering.failed", code=child.returncode, type=raised_name(last))
        raise LearningMemoryError("Clustering failed.", hint="The log says why: see `learning-memory-server hub logs`.")

    async def close(self) -> None:
        """End the child."""
        if self._ending is not None:
            self._ending.cancel()
        if ended := self._end():
            await ended

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is not None and self._child.poll() is not None:
            self._child.communicate()  # closes its pipes
            self._child = None
        if self._child is None:
            # A plain process and a thread: asyncio's subprocess hangs if it is cancelled while starting (3.11).
            self._child = subprocess.Popen(
                [*self._command, *self._arguments],
                **detached(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        return self._child

    def _end(self) -> asyncio.Future[tuple[bytes, bytes]] | None:
        child, self._child = self._child, None
        # Closes its stdin, and waits for it.
        return asyncio.get_running_loop().run_in_executor(None, child.communicate) if child else None


def _answer(child: subprocess.Popen[bytes], request: FitRequest) -> AxisFit | None:
    """Return what the child answers to a request; None if it has failed."""
    if child.stdin is None or child.stdout is None:
        raise TypeError("a child without pipes")
    with suppress(BrokenPipeError, EOFError, pickle.UnpicklingError):
        pickle.dump(request, child.stdin, pickle.HIGHEST_PROTOCOL)
        child.stdin.flush()
        fit: AxisFit = pickle.load(child.stdout)  # noqa: S301 - from our own child
        return fit
    return None


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

    with suppress(EOFError):
        while True:
            found = _fit(pickle.load(sys.stdin.buffer), arguments)  # noqa: S301 - from our own parent
            pickle.dump(found, sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)
            sys.stdout.buffer.flush()


def _fit(request: FitRequest, arguments: Sequence[str]) -> AxisFit:
    from learning_memory_server.lessons.clustering.clusterer import Clusterer
    from learning_memory_server.lessons.clusters.fitting import fit

    min_cluster_size, min_samples = arguments
    return fit(request, Clusterer(int(min_cluster_size) if min_cluster_size else None, int(min_samples)))


if __name__ == "__main__":
    main(sys.argv[1:])
