"""What the demo replays: this project's own entries, and examples where these are too few."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.domain.vocabulary import Axis
from learning_memory_server.journal.codec import ghap_from_data
from learning_memory_server.journal.log import Log
from learning_memory_server.observation.documents import axis_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from learning_memory_server.cli.demo_client import DemoClient
    from learning_memory_server.domain.ghap import Ghap, Revision

ENOUGH: Final = 40
"""With this many entries of its own the project needs no examples to show clusters."""
_ENOUGH_ROOT_CAUSES: Final = 20
"""The server's default of `min_experiences`, which holds for each axis by itself."""
_AT_MOST: Final = 100
"""Embedding takes about 55 ms an entry on one slow core, and a demo should take less than a minute."""
_PROJECT_JOURNAL: Final = Path(__file__).parents[2] / "journal" / "entries"
_INVENTED_TIME: Final = "2026-01-01T00:00:00+00:00"


@dataclass(frozen=True, slots=True)
class Experiences:
    """Resolved entries, by where they come from."""

    own: tuple[Ghap, ...]
    examples: tuple[Ghap, ...]

    @property
    def all(self) -> tuple[Ghap, ...]:
        """Return everything that is replayed."""
        return self.own + self.examples


def gather(journal: Path = _PROJECT_JOURNAL) -> Experiences:
    """Return the project's newest entries, and the examples as well where these are few.

    Args:
        journal: The folder of the project's entries; there is none outside a checkout.

    Raises:
        JournalUnavailableError: If it cannot be read.
    """
    records = Log(journal, monthly=True).read().records
    latest = {record.id: ghap_from_data(record.data) for record in records if record.kind == "ghap"}
    own = tuple(entry for entry in latest.values() if entry.resolution)[-_AT_MOST:]
    root_causes = sum(Axis.ROOT_CAUSE in axis_texts(entry) for entry in own)
    few = len(own) < ENOUGH or root_causes < _ENOUGH_ROOT_CAUSES
    return Experiences(own, example_entries() if few else ())


def telling(entries: Sequence[Ghap]) -> Ghap:
    """Return the first entry whose hypothesis was wrong and taught something, else the first one."""
    return next((entry for entry in entries if entry.outcome.surprise and entry.outcome.lesson), entries[0])


def example_entries() -> tuple[Ghap, ...]:
    """Return the entries that were written for the demo; nobody lived through them."""
    text = resources.files(__package__).joinpath("examples.jsonl").read_text("utf-8")
    return tuple(_entry(number, json.loads(line)) for number, line in enumerate(text.splitlines(), start=1))


def _entry(number: int, example: dict[str, Any]) -> Ghap:
    *earlier, last = example["steps"]
    end = {
        part: example[part]
        for part in ("status", "result", "surprise", "root_cause", "lesson")
        if part in example
    }
    return ghap_from_data(
        {
            "id": f"example_{number:02}",
            "project": example["written_for"],
            "agent_session": example["written_for"],
            "created_at": _INVENTED_TIME,
            "domain": example["domain"],
            "strategy": example["strategy"],
            "goal": example["goal"],
            **last,
            "history": [{"at": _INVENTED_TIME, **step} for step in earlier],
            "resolution": {"resolved_at": _INVENTED_TIME, **end},
        }
    )


async def replay(server: DemoClient, entry: Ghap) -> None:
    """Live through an entry again: start with its first hypothesis, update to each later one, resolve.

    Raises:
        LearningMemoryError: If the server refuses.
    """
    tried: tuple[Revision | Ghap, ...] = (*entry.history, entry)
    first, *later = (
        {"hypothesis": step.hypothesis, "action": step.action, "prediction": step.prediction}
        for step in tried
    )
    await server.call(
        "start_ghap", domain=entry.domain.value, strategy=entry.strategy.value, goal=entry.goal, **first
    )
    for step in later:
        await server.call("update_ghap", **step)
    for note in entry.notes:
        await server.call("update_ghap", note=note)
    end = entry.outcome
    arguments: dict[str, Any] = {"status": end.status.value, "result": end.result}
    if end.surprise:
        arguments["surprise"] = end.surprise
    if end.root_cause:
        cause = end.root_cause
        arguments["root_cause"] = {"category": cause.category.value, "description": cause.description}
    if end.lesson:
        arguments["lesson"] = {"what_worked": end.lesson.what_worked}
        if end.lesson.takeaway:
            arguments["lesson"]["takeaway"] = end.lesson.takeaway
    await server.call("resolve_ghap", **arguments)
