"""What still has to be written to the index, or removed from it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from learning_memory_server.index.document import Document

_SORTED_AT_ONCE: Final = 64
"""How many pending documents are sorted by length at a time: a model pads a batch to its longest text."""
_STEP: Final = 8
"""How many documents are written at a time. That takes about a quarter of a second, so `pending` falls that often."""
_ARRIVES_WITHIN: Final = 10.0
"""Seconds within which a server that answers again does what it was asked earlier."""


class Backlog:
    """Documents to write, and points to remove."""

    def __init__(self) -> None:
        self._pending: dict[tuple[str, str], Document] = {}
        self._doomed: set[str] = set()
        # Never cleared: what is forgotten does not come back.
        self._removed: set[str] = set()
        self._given_up: set[str] = set()
        self._looked_at_again: dict[str, float] = {}

    @property
    def pending(self) -> int:
        """How many documents are still to be written."""
        return len(self._pending)

    @property
    def doomed(self) -> AbstractSet[str]:
        """The ids of the points still to be removed."""
        return self._doomed

    def keys(self) -> AbstractSet[tuple[str, str]]:
        """Return a view of the collection and point id of each document that is still to be written."""
        return self._pending.keys()

    def add(self, documents: Iterable[Document]) -> None:
        """Add documents to write, replacing earlier versions of them."""
        self._pending.update({_key(document): document for document in documents})

    def remove(self, points: AbstractSet[str]) -> None:
        """Add points to remove, including any that are being written right now."""
        self._removed |= points
        self.drop(points, points)

    def drop(self, forgotten: AbstractSet[str], stored: AbstractSet[str]) -> None:
        """Drop pending documents that are forgotten, and mark forgotten points in the index for removal."""
        self._doomed |= forgotten & stored
        self._pending = {key: document for key, document in self._pending.items() if key[1] not in forgotten}

    def doom(self, points: AbstractSet[str]) -> None:
        """Mark points for removal that are not pending."""
        self._doomed |= points

    def batches(self) -> Iterator[list[Document]]:
        """Yield small batches of what has been pending longest, skipping what is no longer pending by then."""
        waiting = sorted(
            islice(self._pending.values(), _SORTED_AT_ONCE), key=lambda document: len(document.text)
        )
        for start in range(0, len(waiting), _STEP):
            batch = [each for each in waiting[start : start + _STEP] if self._pending.get(_key(each)) is each]
            if batch:
                yield batch

    def mark_written(self, documents: Iterable[Document]) -> None:
        """Record that the index has these documents now."""
        for document in documents:
            # A newer version of it may be pending by now.
            if self._pending.get(_key(document)) is document:
                del self._pending[_key(document)]
            if document.point_id in self._removed:
                # It was forgotten while it was being written.
                self._doomed.add(document.point_id)

    def give_up(self, documents: Iterable[Document]) -> None:
        """Record that it is not known what became of writing these documents. It may even be done later."""
        self._given_up.update(document.point_id for document in documents)

    def mark_removed(self, points: Collection[str], now: float) -> None:
        """Record that the index no longer has these points.

        Args:
            points: Their ids.
            now: The time in seconds, by any clock.
        """
        self._doomed.difference_update(points)
        for point in self._given_up.intersection(points):
            self._looked_at_again[point] = now + _ARRIVES_WITHIN
            self._given_up.discard(point)

    def look_again(self, now: float) -> None:
        """Mark points for another removal whose write was given up before the first: it may have arrived since."""
        for point in [point for point, due in self._looked_at_again.items() if due <= now]:
            del self._looked_at_again[point]
            self._doomed.add(point)


def _key(document: Document) -> tuple[str, str]:
    return document.collection, document.point_id
