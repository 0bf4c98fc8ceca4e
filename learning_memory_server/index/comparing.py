"""What the index has, compared with what the journal says it should have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from learning_memory_server.index.document import Collection, in_batches

if TYPE_CHECKING:
    from learning_memory_server.index.backlog import Backlog
    from learning_memory_server.index.document import Document
    from learning_memory_server.index.engines.base import Payload
    from learning_memory_server.index.index import VectorIndex

_COMPARED_AT_ONCE: Final = 64
"""How many documents are compared with the index before other tasks get to run."""


class DocumentSource(Protocol):
    """A kind of record in the journal that belongs in the index."""

    def documents(self) -> Iterable[Document]:
        """Return the documents of all records."""
        ...

    def forgotten(self) -> Iterable[str]:
        """Return the point ids of all forgotten records."""
        ...

    def knows(self, payload: Payload) -> bool:
        """Return whether a point names a record of this kind that the journal has, or has forgotten."""
        ...


class Comparison(NamedTuple):
    """What a comparison of index and journal has found.

    Attributes:
        shares: How much of its documents each collection has, from 0 to 1.
        superfluous: How many points belong to no record. They are left alone: their record may be in a damaged line of
            the journal.
    """

    shares: Mapping[Collection, float]
    superfluous: int


async def compare(index: VectorIndex, sources: Sequence[DocumentSource], backlog: Backlog) -> Comparison:
    """Find what is missing from the index, or has been forgotten, and leave it to the backlog.

    Raises:
        StorageUnavailableError, EmbeddingUnavailableError: If that is not possible now.
    """
    stored, former = await index.stored_ids(), await index.former_ids()
    there = set().union(*stored.values())
    wanted, missing = Counter[str](), Counter[str]()
    for source in sources:
        async for batch in in_batches(source.documents(), _COMPARED_AT_ONCE):
            for document in batch:
                wanted[document.collection] += 1
                former[document.collection].discard(document.point_id)
                if document.point_id in stored[document.collection]:
                    stored[document.collection].remove(document.point_id)
                else:
                    missing[document.collection] += 1
                    backlog.add([document])
        backlog.drop(set(source.forgotten()), there)
    # They hold nothing that could be missed: texts are in the journal alone.
    backlog.doom(set().union(*former.values()))
    superfluous = 0
    for collection, ids in stored.items():
        # A record that was divided into other documents since then has no use for the earlier ones.
        points = await index.retrieve(collection, sorted(ids - backlog.doomed))
        stale = {point.id for point in points if any(source.knows(point.payload) for source in sources)}
        backlog.doom(stale)
        superfluous += len(points) - len(stale)
    shares = {each: 1 - missing[each] / max(wanted[each], 1) for each in Collection}
    return Comparison(shares, superfluous)
