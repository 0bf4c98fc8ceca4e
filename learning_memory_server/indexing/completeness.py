"""What is known of whether the index has all that the journal says it should have."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from learning_memory_server.indexing.backlog import Backlog

CHECK_EVERY: Final = 50.0
"""Seconds between looks at a server's counts, so that a loss is seen and made good within a minute. A look takes 7 ms
at 300,000 points of 30 owners."""


class Completeness:
    """How the index and the journal compare, as far as that is known.

    Attributes:
        is_known: Whether the two have been compared, and nothing has cast doubt on the result.
        is_complete: Whether the index has been complete since it was opened, so that a search can rely on it.
        superfluous: How many points belonged to no record at the last comparison.

    Args:
        backlog: What is to be written and removed.
        check_every: Seconds between looks at the index's counts; None for an engine that loses nothing behind this
            program's back.
    """

    def __init__(self, backlog: Backlog, check_every: float | None) -> None:
        self.is_known = False
        self.is_complete = False
        self.superfluous = 0
        self._backlog = backlog
        self._check_every = check_every
        self._checked = 0.0

    @property
    def missing(self) -> int | None:
        """How many points are missing from the index; None if that is not known."""
        return self._backlog.pending if self.is_known else None

    @property
    def seconds_to_check(self) -> float | None:
        """Seconds until the index's counts should be looked at again; None if they should not."""
        if self._check_every is None or not self.is_known:
            return None
        return self._checked + self._check_every - monotonic()

    def compared(self, superfluous: int) -> None:
        """Record that index and journal were compared, and that the backlog has what they differ in."""
        self.is_known = True
        self.superfluous = superfluous
        self.checked()

    def checked(self) -> None:
        """Record that the index has as many points as it should."""
        self._checked = monotonic()

    def caught_up(self) -> None:
        """Record that everything was written that was missing."""
        self.is_complete = self.is_complete or self.is_known

    def doubt(self) -> None:
        """Record that the index may have changed: the two must be compared again."""
        self.is_known = False

    def lose(self) -> None:
        """Record that the index may have lost everything."""
        self.is_known = self.is_complete = False
