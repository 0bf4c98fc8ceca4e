"""The protocol of sources."""

from collections.abc import Container
from typing import Protocol

from learning_memory_server.advice.candidates import Candidate, Observed
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.trigger import Trigger


class Source(Protocol):
    """Offers candidates at some kinds of triggers."""

    @property
    def kinds(self) -> Container[TriggerKind]:
        """The kinds of triggers at which it has something to offer."""

    @property
    def needs_confirmed(self) -> bool:
        """Whether it has nothing to offer where nobody has confirmed the project of the folder."""

    async def candidates(self, trigger: Trigger, observed: Observed, caller: Caller) -> list[Candidate]:
        """Return candidates, the best first."""
