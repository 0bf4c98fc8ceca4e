"""What the tests of advice share: a model whose scale is known, and short forms of triggers."""

from dataclasses import replace
from typing import Final

from learning_memory_server.advice.candidates import Observed, Shown
from learning_memory_server.advice.filters import Situation
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.server.composition.services import Services
from tests.support import ALICE, TOPICS, about, start

POOL: Final = about("pool", 1)
"""A lesson about the topic `pool`."""
PROMPT: Final = Trigger(TriggerKind.PROMPT, text=f"please look into this: {TOPICS['pool']}")
"""A prompt that the lesson bears on."""
NOTHING: Final = Observed()


class MeasuredModel(HashingEmbedder):
    """Hashed words under the name of a model whose threshold was measured."""

    def __init__(self) -> None:
        super().__init__(384)
        self.identity = replace(self.identity, model="sentence-transformers/all-MiniLM-L6-v2")


async def learn(services: Services, *entries: Ghap) -> None:
    """Keep resolved entries, and index them."""
    for entry in services.collector.add_resolved(entries):
        assert await services.persister.persist(entry)


def started(services: Services, topic: str = "pool", caller: Caller = ALICE, again: str = "again") -> Ghap:
    """Start an entry on a topic."""
    words = TOPICS[topic]
    return start(services.collector, caller, goal=f"{words} {again}", hypothesis=f"{words} because")


async def at_start(services: Services, entry: Ghap, caller: Caller = ALICE) -> Shown:
    """Return what the reply to the call shows that started an entry."""
    return await services.advisor.at(Trigger(TriggerKind.ENTRY_START, entry=entry), caller)


def fails(command: str, line: str) -> Trigger:
    """A command that failed with a line."""
    return Trigger(TriggerKind.COMMAND, command=command, error=f"Exit code 4\n{line}")


def ids_of(shown: Shown) -> list[str]:
    return [each.id for each in shown.candidates]


def situation(services: Services, trigger: Trigger = PROMPT, caller: Caller = ALICE) -> Situation:
    """What filters judge by where nothing was shown yet."""
    return Situation(trigger, caller, services.room.lessons)


def journal_of(services: Services) -> dict[str, bytes]:
    """Return the files of the journal."""
    return {str(path): path.read_bytes() for path in services.journal.path.rglob("*") if path.is_file()}
