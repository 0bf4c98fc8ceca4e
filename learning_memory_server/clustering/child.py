"""Fitting in a process of its own: `python -m learning_memory_server.clustering.child MIN_SIZE MIN_SAMPLES`.

The clustering holds the interpreter for long moments, and what it imports keeps 60 MB. In a process that ends when it is
done, neither other sessions' calls nor the hub's memory notice. A request comes pickled on stdin, the
fit goes pickled to stdout; both ends are this program.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.children import detached, module_command
from learning_memory_server.errors import LearningMemoryError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from learning_memory_server.clustering.fitting import Fit, FitRequest

log = structlog.get_logger()

_MODULE: Final = "learning_memory_server.clustering.child"
_POLITE: Final = 5
"""The child's niceness: somebody may wait for the clusters, but others wait for their searches."""


class ChildFitting:
    """Fits in a child process, one for each request.

    Args:
        min_cluster_size: As for `Clusterer`.
        min_samples: As for `Clusterer`.
        command: What runs this module; the arguments follow it. By default this interpreter does.
    """

    def __init__(
        self, min_cluster_size: int | None, min_samples: int, command: Sequence[str] | None = None
    ) -> None:
        self._arguments = (str(min_cluster_size or ""), str(min_samples))
        self._command = module_command(_MODULE) if command is None else command

    async def fit(self, prepare: Callable[[], Awaitable[FitRequest]]) -> Fit:
        """See `Fitting`. Where no process can be started, the work is done here."""
        # A plain process and a thread: asyncio's own, when it is cancelled while it starts, waits for ever (3.11).
        try:
            child = subprocess.Popen(  # noqa: ASYNC220, S603 - asyncio's own blocks as long; our own module
                [*self._command, *self._arguments],
                **detached(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            log.warning("clustering.without_child", reason=str(error))
            return await asyncio.to_thread(_fit, await prepare(), self._arguments)
        talk: asyncio.Future[tuple[bytes, bytes]] | None = None
        try:
            # The child imports meanwhile what takes it as long as that.
            request = await asyncio.to_thread(pickle.dumps, await prepare(), pickle.HIGHEST_PROTOCOL)
            talk = asyncio.get_running_loop().run_in_executor(None, child.communicate, request)
            answer, errors = await asyncio.shield(talk)
        except BaseException:
            child.kill()
            await (talk or asyncio.to_thread(child.communicate))
            raise
        if child.returncode:
            log.error("clustering.failed", code=child.returncode, output=errors.decode(errors="replace"))
            raise LearningMemoryError(
                "The clustering failed.", hint="The log says why; `learning-memory-server hub logs` shows it."
            )
        result: Fit = await asyncio.to_thread(pickle.loads, answer)
        return result


def main(arguments: Sequence[str]) -> None:
    """Answer one request."""
    if hasattr(os, "nice"):
        os.nice(_POLITE)
    # What takes half a second, while the parent prepares the request.
    import scipy.optimize  # noqa: PLC0415
    import scipy.sparse.csgraph  # noqa: F401, PLC0415

    import learning_memory_server.clustering.clusterer  # noqa: PLC0415
    import learning_memory_server.clustering.fitting  # noqa: F401, PLC0415

    request: FitRequest = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our own parent
    pickle.dump(_fit(request, arguments), sys.stdout.buffer)


def _fit(request: FitRequest, arguments: Sequence[str]) -> Fit:
    from learning_memory_server.clustering.clusterer import Clusterer  # noqa: PLC0415 - scipy
    from learning_memory_server.clustering.fitting import fit  # noqa: PLC0415

    min_cluster_size, min_samples = arguments
    return fit(request, Clusterer(int(min_cluster_size) if min_cluster_size else None, int(min_samples)))


if __name__ == "__main__":
    main(sys.argv[1:])
