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
        """The kinds of triggers for which it has candidates."""

    @property
    def needs_confirmed(self) -> bool:
        """Whether it needs a folder whose project a person has confirmed."""

    async def candidates(self, trigger: Trigger, observed: Observed, caller: Caller) -> list[Candidate]:
        """Return candidates, best first."""
