"""What agents were shown unasked, as commands, statistics and the page show it."""

from collections.abc import Mapping

from typing_extensions import TypedDict

from learning_memory_server.advice.log import AdviceLog
from learning_memory_server.lessons.effects import Effects
from learning_memory_server.model.advice import AdviceKind, Effect
from learning_memory_server.model.lines import counted


class ShownStats(TypedDict):
    """How many lessons and values agents were shown unasked, and of how many they say that these helped or misled."""

    times: int
    helped: int
    misled: int
    unknown: int


def shown(log: AdviceLog, effects: Effects, project: str | None = None) -> dict[str, int]:
    """Return `ShownStats` of a project, or of all."""
    lines = [each for each in log.everything() if project in {None, each.project}]
    pairs = {
        (each.session or each.ghap_id, item.id)
        for each in lines
        for item in each.items
        if item.kind is not AdviceKind.ENTRY
    }
    things = {name for _, name in pairs}
    stated = [effect for _, name, effect in effects.stated() if name in things]
    helped, misled = stated.count(Effect.HELPED), stated.count(Effect.MISLED)
    return {"times": len(pairs), "helped": helped, "misled": misled, "unknown": max(len(pairs) - helped - misled, 0)}


def in_words(found: Mapping[str, int]) -> str:
    """Return `ShownStats` as `status` and the page say it."""
    if not found["times"]:
        return "nothing yet"
    return (
        f"{counted(found['times'], 'time')}, helped {found['helped']:,}, misled {found['misled']:,}, "
        f"unknown {found['unknown']:,} (as agents say)"
    )
