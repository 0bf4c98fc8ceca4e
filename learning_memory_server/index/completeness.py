"""What is known of whether the index has all that the journal says it should have."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from learning_memory_server.index.document import Collection

if TYPE_CHECKING:
    from learning_memory_server.index.backlog import Backlog
    from learning_memory_server.index.comparing import Comparison

CHECK_EVERY: Final = 50.0
"""Seconds between looks at the index's counts, so that a loss is noticed and repaired within a minute. A look takes
7 ms at 300,000 points of 30 owners on a server, and 4 ms at 20,000 points of an embedded index."""
_LEAST_SHARE: Final = 0.5
"""The share of its documents that a collection has when searches begin to use it. One that has less is being built, and
ranking the journal by terms finds more."""


class Completeness:
    """How the index and the journal compare, as far as that is known.

    Attributes:
        is_known: Whether the two have been compared, and nothing has cast doubt on the result.
        searchable: The collections that searches use. Documents that are pending since do not change that, nor does a
            doubt: whether the engine answers is seen by asking it.
        superfluous: How many points belonged to no record at the last comparison.

    Args:
        backlog: What is to be written and removed.
    """

    def __init__(self, backlog: Backlog) -> None:
        self.is_known = False
        self.searchable: set[Collection] = set()
        self.superfluous = 0
        self._backlog = backlog
        self._checked = 0.0

    @property
    def missing(self) -> int | None:
        """How many points are missing from the index; None if that is not known."""
        return self._backlog.pending if self.is_known else None

    @property
    def is_complete(self) -> bool:
        """Whether the index is known to have everything."""
        return self.missing == 0

    @property
    def seconds_to_check(self) -> float | None:
        """Seconds until the index's counts should be looked at again; None if all ids must be compared anyway."""
        return self._checked + CHECK_EVERY - _now() if self.is_known else None

    def compared(self, found: Comparison) -> None:
        """Record that index and journal were compared, and that the backlog has what they differ in."""
        self.is_known = True
        self.searchable.update(each for each, share in found.shares.items() if share >= _LEAST_SHARE)
        self.superfluous = found.superfluous
        self._checked = _now()

    def found_intact(self) -> None:
        """Record that the index has as many points as it should."""
        self._checked = _now()

    def caught_up(self) -> None:
        """Record that everything was written that was missing."""
        if self.is_known:
            self.searchable.update(Collection)

    def doubt(self) -> None:
        """Record that the index may have changed: the two must be compared again."""
        self.is_known = False

    def lose(self) -> None:
        """Record that the index has lost points, perhaps all of them."""
        self.is_known = False
        self.searchable.clear()


def _now() -> float:
    return asyncio.get_running_loop().time()
