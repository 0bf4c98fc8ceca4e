"""`reindex`: the index made anew from the journal."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from learning_memory_server.cli.access import open_settings
from learning_memory_server.cli.connection import open_connection
from learning_memory_server.cli.terminal import counted, output

if TYPE_CHECKING:
    from learning_memory_server.domain.vocabulary import Axis


async def make_anew(axis: Axis | None) -> None:
    """Make the index of an axis, or all of it, anew, and say how many points it has.

    Raises:
        AlreadyRunningError: If another process than a hub uses the index.
        DeadlineExceededError: If the hub hangs.
        EmbeddingUnavailableError, StorageUnavailableError: If there is no model, or the engine does not work.
    """
    began = time.monotonic()
    async with open_connection(open_settings(), "reindex") as connection:
        points = (await connection.run("reindex", axis=axis))["points"]
    seconds = time.monotonic() - began
    what = "The index" if axis is None else f"The index of axis {axis}"
    output().print(f"{what} was made anew: {counted(points, 'vector')} in {seconds:.1f} s.")
