"""The last fit of each axis, in a file beside the index, so that a restart need not compute it anew.

The files are a cache: one that is damaged, or that belongs to another model, other settings or another journal, is
removed, and its axis is fitted anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import structlog

from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal import files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from learning_memory_server.clustering.axis_fit import AxisFit
    from learning_memory_server.clustering.incremental import KnownNeighbours
    from learning_memory_server.clustering.lineage import Lineage
    from learning_memory_server.clustering.neighbours import Neighbours
    from learning_memory_server.domain.vocabulary import Axis

    T = TypeVar("T")

log = structlog.get_logger()


class KeptFits:
    """The files. A method takes as long as the disk does; none raises for what a disk or a file does.

    Args:
        directory: Where they are; made when first needed.
        parameters: The clustering's settings, in any form: a fit with others is not used.
    """

    def __init__(self, directory: Path, parameters: str) -> None:
        self._directory = directory
        self._parameters = parameters

    def save(self, axis: Axis, origin: str, fit: AxisFit, neighbours: Neighbours) -> None:
        """Keep a fit in the place of the axis' last one.

        Args:
            axis: The axis.
            origin: What its vectors were made by; see `VectorIndex.origin`.
            fit: The fit; its `numbers` are in the order of the rows.
            neighbours: Those of its rows.
        """
        from learning_memory_server.clustering.fit_file import packed  # noqa: PLC0415 - numpy

        try:
            files.replace(self._path(axis), packed(fit, neighbours, self._origin(origin)))
        except JournalUnavailableError as error:
            log.warning("fit.not_kept", axis=axis.value, reason=str(error.__cause__))
            self.discard(axis)

    def load(self, axis: Axis, origin: str, lineage: Lineage) -> AxisFit | None:
        """Return the kept fit, if it is the one that the journal's numbers come from."""
        from learning_memory_server.clustering.fit_file import read_fit  # noqa: PLC0415 - numpy

        fit = self._read(axis, lambda: read_fit(self._path(axis), axis, self._origin(origin)))
        if fit is not None and fit.members() != lineage.members:
            log.warning("fit.not_used", axis=axis.value, reason="the journal has other clusters")
            self.discard(axis)
            return None
        return fit

    def neighbours(self, axis: Axis, origin: str) -> KnownNeighbours | None:
        """Return the neighbours that the kept fit has found."""
        from learning_memory_server.clustering.fit_file import read_neighbours  # noqa: PLC0415 - numpy

        return self._read(axis, lambda: read_neighbours(self._path(axis), self._origin(origin)))

    def discard(self, axis: Axis) -> None:
        """Remove the kept fit, if there is one."""
        try:
            self._path(axis).unlink(missing_ok=True)
        except OSError as error:
            log.warning("fit.not_removed", axis=axis.value, reason=str(error))

    def _read(self, axis: Axis, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            log.warning("fit.not_used", axis=axis.value, reason=str(error))
            self.discard(axis)
            return None

    def _origin(self, vectors: str) -> dict[str, str]:
        return {"vectors": vectors, "parameters": self._parameters}

    def _path(self, axis: Axis) -> Path:
        return self._directory / f"{axis}.fit"
