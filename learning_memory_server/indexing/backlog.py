"""What is still to be done to the index."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet

    from learning_memory_server.indexing.document import Document

_SORTED_AT_ONCE: Final = 64
"""Pending documents that are put in the order of their length: a model pads those that it takes at once."""
_STEP: Final = 8
"""How many are written at a time: a quarter of a second, so that `pending` falls that often."""


class Backlog:
    """Documents that are to be written, and points that are to be removed."""

    def __init__(self) -> None:
        self._pending: dict[tuple[str, str], Document] = {}
        self._doomed: set[str] = set()
        # What is forgotten never comes back, so this holds for as long as the process lives.
        self._removed: set[str] = set()

    @property
    def pending(self) -> int:
        """How many documents are to be written."""
        return len(self._pending)

    @property
    def doomed(self) -> AbstractSet[str]:
        """The ids of the points that are to be removed."""
        return self._doomed

    def add(self, documents: Iterable[Document]) -> None:
        """Take documents to be written, in place of earlier versions of them."""
        self._pending.update({_key(document): document for document in documents})

    def remove(self, points: AbstractSet[str]) -> None:
        """Take points to be removed, also if one of them is on its way into the index now."""
        self._removed |= points
        self.drop(points, points)

    def drop(self, forgotten: AbstractSet[str], stored: AbstractSet[str]) -> None:
        """Write nothing of what is forgotten, and take those of its points to be removed that the index has."""
        self._doomed |= forgotten & stored
        self._pending = {key: document for key, document in self._pending.items() if key[1] not in forgotten}

    def batches(self) -> Iterator[list[Document]]:
        """Yield small batches of what has been pending longest, without what is no more when its turn comes."""
        waiting = sorted(
            islice(self._pending.values(), _SORTED_AT_ONCE), key=lambda document: len(document.text)
        )
        for start in range(0, len(waiting), _STEP):
            batch = [each for each in waiting[start : start + _STEP] if self._pending.get(_key(each)) is each]
            if batch:
                yield batch

    def mark_written(self, documents: Iterable[Document]) -> None:
        """Take note that the index has these documents now."""
        for document in documents:
            # Another version of it may have become pending meanwhile.
            if self._pending.get(_key(document)) is document:
                del self._pending[_key(document)]
            if document.point_id in self._removed:
                # It was forgotten while it was on its way into the index.
                self._doomed.add(document.point_id)

    def mark_removed(self, points: Iterable[str]) -> None:
        """Take note that the index has these points no more."""
        self._doomed.difference_update(points)


def _key(document: Document) -> tuple[str, str]:
    return document.collection, document.point_id
