"""Entries that came again although they had been shown: the lesson was there, and did not help."""

from collections.abc import Iterable
from datetime import datetime

from learning_memory_server.advice.log import AdviceLog
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.moment import as_seen


def came_again(entries: Iterable[Ghap], log: AdviceLog) -> list[tuple[Ghap, list[str]]]:
    """Return the entries that came again although shown, the last one first, each with the ids of the later entries.

    A later entry is the same as its agent says, unless a person has split them. The log says that the session of the
    later one had been shown the lesson of the earlier one before.
    """
    known = {each.id: each for each in entries}
    repeating = [each for each in known.values() if each.repeats in known]
    if not repeating:
        return []
    shown = _first_shown(log)
    found = dict[str, list[Ghap]]()
    for each in sorted(repeating, key=lambda each: as_seen(each.created_at)):
        at = shown.get((each.agent_session, each.repeats))
        if at and at < as_seen(each.created_at):
            found.setdefault(each.repeats, []).append(each)
    latest = sorted(found, key=lambda name: as_seen(found[name][-1].created_at), reverse=True)
    return [(known[name], [each.id for each in found[name]]) for name in latest]


def _first_shown(log: AdviceLog) -> dict[tuple[str, str], datetime]:
    """Return when each session was first shown the lesson of each thing."""
    found = dict[tuple[str, str], datetime]()
    for line in log.everything():
        at = as_seen(line.created_at)
        for name, aspect in (each.shown for each in line.items):
            for session in {line.session, line.context} if aspect == "lesson" else ():
                found[session, name] = min(at, found.get((session, name), at))
    return found
