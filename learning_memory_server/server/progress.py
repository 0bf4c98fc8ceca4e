"""Telling a client how far a call is, if it asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from learning_memory_server.memories.store import Tell


@dataclass(frozen=True, slots=True)
class Progress:
    """What a call may tell while it runs; tools ask for it as they ask for a service.

    Args:
        tell: None where nobody asked for progress.
    """

    tell: Tell | None = None
