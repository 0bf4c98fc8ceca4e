"""What agents were shown unasked, as commands, statistics and the page show it."""

from collections.abc import Mapping

from typing_extensions import TypedDict

from learning_memory_server.advice.log import AdviceLog
from learning_memory_server.lessons.effects import Effects
from learning_memory_server.model.advice import AdviceKind, Effect
from learning_memory_server.model.lines import counted


class ShownStats(TypedDict):
    """How often agents were shown lessons and values unasked, and how many of these times helped or misled them.

    A time is a thing in a session; the last entry of the session that says what it did counts.
    """

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
        if item.kind not in {AdviceKind.ENTRY, AdviceKind.RULE}
    }
    said = dict[tuple[str, str], Effect]()
    for entry_id, name, effect in sorted(effects.stated()):
        entry = effects.collector.find(entry_id)
        for where in (entry_id, entry.agent_session if entry else ""):
            said |= dict.fromkeys(pairs & {(where, name)}, effect)
    helped, misled = (sum(each is effect for each in said.values()) for effect in (Effect.HELPED, Effect.MISLED))
    return {"times": len(pairs), "helped": helped, "misled": misled, "unknown": len(pairs) - len(said)}


def in_words(found: Mapping[str, int]) -> str:
    """Return `ShownStats` as `status` and the page say it."""
    if not found["times"]:
        return "nothing yet"
    return (
        f"{counted(found['times'], 'time')}, helped {found['helped']:,}, misled {found['misled']:,}, "
        f"unknown {found['unknown']:,} (as agents say)"
    )
