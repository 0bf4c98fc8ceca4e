"""The terms of one owner's points on a shared Qdrant server, and how rare each is among them.

The server would count the documents of all owners.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set as AbstractSet
from contextlib import contextmanager
from typing import Final

from learning_memory_server.index.engines.base import SparseVector

_NONE: Final = b""


class OwnTerms:
    """The ids of one owner's points in a collection with their terms, and how rare a term is among them.

    30,000 points of 40 terms take 10 MB.
    """

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

    @contextmanager
    def touching(self) -> Iterator[None]:
        """Remember what changes while the block reads the server's points."""
        self._touched = set()
        try:
            yield
        finally:
            self._touched = None

    def end_touching(self, there: AbstractSet[str]) -> set[str]:
        """Drop points that are not on the server, and return those `there` whose terms are not known."""
        touched = self._touched or set()
        for point_id in self._terms.keys() - there - touched:
            self._unset(point_id)
        return set(there) - self._terms.keys() - touched

    def learn(self, point_id: str, indices: Sequence[int]) -> None:
        """Record the terms of a point that was read, unless it was written or removed in the meantime."""
        if point_id not in (self._touched or ()):
            self._set(point_id, indices)

    def weighted(self, query: SparseVector) -> SparseVector:
        """Return the query with each weight multiplied by its term's rarity; see `VectorStore.search`."""
        return SparseVector(
            list(query.indices),
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
