"""The frames of the map, kept in files, and made in a child process.

The child is `python -m learning_memory_server.server.dashboard.map_layout`: making a frame imports scikit-learn, which
must not stay in the hub. The files can be removed at any time: without them, the next map may look different.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import structlog

from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.system import files, timeouts
from learning_memory_server.system.children import ATTEMPTS, Child, ChildFailedError, answer_requests, module_command

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.server.dashboard.landmarks import Landmarks

    Asked = Mapping[str, tuple[NDArray[np.float32], int, str, Landmarks | None]]

log = structlog.get_logger()

_MODULE: Final = "learning_memory_server.server.dashboard.map_layout"


class LandmarkStore:
    """The frames, by axis."""

    def __init__(self, folder: Path, make: Callable[[Asked], dict[str, Landmarks]] | None = None) -> None:
        self._folder = folder
        self._make = make or made_in_child
        self._frames: dict[str, Landmarks] = {}

    async def current(
        self, vectors: Mapping[str, NDArray[np.float32]], forgotten: int, origins: Mapping[str, str]
    ) -> dict[str, Landmarks]:
        """Return the frame of each axis for its experiences' vectors (n, d), made again if it does not fit."""
        kept = {axis: await asyncio.to_thread(self._read, axis) for axis in vectors}
        asked = {
            axis: (rows, forgotten, origins[axis], frame)
            for axis, rows in vectors.items()
            if (frame := kept[axis]) is None or not frame.fits(len(rows), forgotten, origins[axis])
        }
        if asked:
            for axis, frame in (await asyncio.to_thread(self._make, asked)).items():
                self._frames[axis] = frame
                await asyncio.to_thread(self._write, axis, frame)
        return {axis: self._frames[axis] for axis in vectors}

    def _read(self, axis: str) -> Landmarks | None:
        if axis not in self._frames:
            import numpy as np

            from learning_memory_server.server.dashboard.landmarks import Landmarks

            # What cannot be read is made again.
            with suppress(OSError, ValueError, KeyError, EOFError), np.load(self._path(axis)) as kept:
                facts = (kept[name].item() for name in ("made_of", "forgotten", "origin"))
                self._frames[axis] = Landmarks(kept["vectors"].astype(np.float32), kept["places"], *facts)
        return self._frames.get(axis)

    def _write(self, axis: str, frame: Landmarks) -> None:
        import numpy as np

        content = io.BytesIO()
        parts: dict[str, Any] = {each.name: getattr(frame, each.name) for each in fields(frame)}
        # Half as large, and near enough.
        np.savez(content, **parts | {"vectors": frame.vectors.astype(np.float16)})
        try:
            files.replace(self._path(axis), content.getvalue())
            files.mark_rebuildable(self._folder)
        except OSError as error:
            log.warning("frame.not_kept", reason=error.strerror)

    def _path(self, axis: str) -> Path:
        return self._folder / f"{axis}.npz"


def made_in_child(
    asked: Asked, command: Sequence[str] | None = None, seconds: float = timeouts.FIT
) -> dict[str, Landmarks]:
    """Return the frames that are asked for, made in a child, or in this process if no child can be started.

    Raises `LearningMemoryError` if a child and then another one fail, or need longer than `seconds`.
    """
    for _ in range(ATTEMPTS):
        try:
            child = Child(command or module_command(_MODULE))
        except OSError as error:
            # Slower for others, but there is a map.
            log.warning("frame.without_child", type=type(error).__name__)
            return made(asked)
        try:
            found: dict[str, Landmarks] = child.ask(asked, seconds)
        except ChildFailedError as error:
            log.error("frame.failed", type=error.reason)  # noqa: TRY400 - the traceback is ours, not the child's
        else:
            return found
        finally:
            child.end()
    raise LearningMemoryError(
        "The map could not be drawn.", hint="The log says why: see `learning-memory-server hub logs`."
    )


def made(asked: Asked) -> dict[str, Landmarks]:
    """Return the frames that are asked for, made in this process."""
    # Before the limit, which holds for what is loaded already.
    import sklearn.cluster
    import sklearn.manifold  # noqa: F401
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    from learning_memory_server.server.dashboard.landmarks import new_frame

    # Threads that wait for each other in loops take ten times as long on a busy machine, and gain nothing here.
    with threadpool_limits(1):
        return {axis: new_frame(*given) for axis, given in asked.items()}


if __name__ == "__main__":
    answer_requests(made)
