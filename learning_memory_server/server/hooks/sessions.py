"""What hooks remember of the sessions that are running, so that nothing is said twice. None of it is stored."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

_MOST: Final = 500
"""Sessions that are remembered: those that were heard of last."""


@dataclass(slots=True)
class SessionMemory:
    """What one session was reminded of and shown, and its calls since `entry` was started or asked about."""

    reminded: set[str] = field(default_factory=set)
    shown: set[str] = field(default_factory=set)
    entry: str = ""
    calls: int = 0


class Sessions:
    """The sessions that are running, by the names that clients give them."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, SessionMemory] = OrderedDict()

    def of(self, name: str) -> SessionMemory:
        """Return what is remembered of a session."""
        found = self._known.setdefault(name, SessionMemory())
        self._known.move_to_end(name)
        if len(self._known) > _MOST:
            self._known.popitem(last=False)
        return found

    def end(self, name: str) -> None:
        """Forget a session."""
        self._known.pop(name, None)
