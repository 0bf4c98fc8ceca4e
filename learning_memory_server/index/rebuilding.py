"""Filling a collection again while it answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Final

from learning_memory_server.index.document import in_batches
from learning_memory_server.index.recipe import points_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.index.document import Document
    from learning_memory_server.index.engines.base import Rebuild

_BATCH: Final = 128


async def refill(
    rebuild: Rebuild,
    documents: Callable[[], Iterable[Document]],
    vectors_for: Callable[[list[Document]], Awaitable[NDArray[np.float32]]],
    progress: Callable[[int], None],
) -> int:
    """Write every document that an interrupted rebuild has not written yet, finish, and return how many there are.

    Args:
        rebuild: Where to write them.
        documents: Returns all documents that belong there, as of each call.
        vectors_for: Returns the vectors of documents, of shape (len(documents), dimension).
        progress: Called with the number of points just written, first with what was there already.
    """
    there = set(rebuild.ids)
    progress(len(there))
    # Repeat until no document has arrived while the others were embedded.
    was_complete = False
    while not was_complete:
        was_complete, wanted = True, set[str]()
        async for batch in in_batches(documents(), _BATCH):
            wanted.update(document.point_id for document in batch)
            missing = [document for document in batch if document.point_id not in there]
            if missing:
                was_complete = False
                await rebuild.upsert(points_of(missing, await vectors_for(missing)))
                there.update(document.point_id for document in missing)
                progress(len(missing))
    await rebuild.finish(wanted)
    return len(wanted)
