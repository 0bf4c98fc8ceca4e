"""How rare a term is among one's own documents on a server that several people share.

The server knows no rarity of terms: it would count all owners' documents, and scores would depend on strangers. So the
terms of one's own points are counted here, and a query's weights carry their rarity. 30,000 points of 40 terms take
10 MB.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from learning_memory_server.index.engines.base import SparseVector

_NONE: Final = b""


class OwnTerms:
    """The ids of one owner's points in a collection, each with its terms."""

    def __init__(self) -> None:
        self._terms: dict[str, bytes] = {}
        self._having: Counter[int] = Counter()
        self._documents = 0
        self._touched: set[str] | None = None

    def __len__(self) -> int:
        return len(self._terms)

    def put(self, point_id: str, indices: Sequence[int]) -> None:
        """Record that a point is stored with these terms."""
        self._set(point_id, indices)
        if self._touched is not None:
            self._touched.add(point_id)

    def discard(self, point_ids: Iterable[str]) -> None:
        """Record that points are no longer stored."""
        for point_id in point_ids:
            self._unset(point_id)
            if self._touched is not None:
                self._touched.add(point_id)

    def begin_reading(self) -> None:
        """Remember what changes while the server's points are read."""
        self._touched = set()

    def end_reading(self, there: AbstractSet[str]) -> set[str]:
        """Drop points that are not `there`, on the server, and return those whose terms are not known.

        What changed while they were read is left as it is.
        """
        touched = self._touched or set()
        for point_id in self._terms.keys() - there - touched:
            self._unset(point_id)
        return set(there) - self._terms.keys() - touched

    def done_reading(self) -> None:
        """Stop remembering what changes."""
        self._touched = None

    def learn(self, point_id: str, indices: Sequence[int]) -> None:
        """Record the terms of a point that was read, unless it was written or removed in the meantime."""
        if point_id not in (self._touched or ()):
            self._set(point_id, indices)

    def weighted(self, query: SparseVector) -> SparseVector:
        """Return the query with each weight multiplied by its term's rarity; see `VectorStore.search_terms`."""
        return SparseVector(
            query.indices,
            [weight * self._rarity(index) for index, weight in zip(query.indices, query.values, strict=True)],
        )

    def _rarity(self, index: int) -> float:
        having = self._having[index]
        return math.log(1 + (self._documents - having + 0.5) / (having + 0.5))

    def _set(self, point_id: str, indices: Sequence[int]) -> None:
        self._unset(point_id)
        self._terms[point_id] = array("I", indices).tobytes() if indices else _NONE
        self._having.update(indices)
        self._documents += bool(indices)

    def _unset(self, point_id: str) -> None:
        kept = self._terms.pop(point_id, _NONE)
        if kept:
            indices = array("I")
            indices.frombytes(kept)
            self._documents -= 1
            for index in indices:
                self._having[index] -= 1
                if not self._having[index]:
                    del self._having[index]
