"""Advice as agents see it: the outcome first, one line of what was learned, and the goal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NotRequired

from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

from learning_memory_server.model import limits
from learning_memory_server.model.limits import RELATED_MAX
from learning_memory_server.model.lines import one_line, shortened

if TYPE_CHECKING:
    from learning_memory_server.learning.advice.advisor import Related
    from learning_memory_server.model.entry import Ghap
    from learning_memory_server.model.value import Value

_LEAST_LINE: Final = 40


class RelatedItem(TypedDict):
    """A past experience or a value that may bear on the hypothesis."""

    id: str
    kind: str
    outcome: NotRequired[str]
    learned: str
    goal: NotRequired[str]


def related(found: Related) -> list[RelatedItem]:
    """Return what to show, under `RELATED_MAX` characters of JSON. Long lines are cut, and end with an ellipsis."""
    line = limits.ADVICE_LINE_MAX
    while True:
        items = [
            *(_experience(entry, line) for entry in found.experiences),
            *(_value(value, line) for value in found.values),
        ]
        size = len(json.dumps(items, ensure_ascii=False))
        if size < RELATED_MAX or line <= _LEAST_LINE:
            return items
        # Both lines may have to give.
        line = max(_LEAST_LINE, line - max(1, (size - RELATED_MAX) // 2 + 1))


def _experience(entry: Ghap, line: int) -> RelatedItem:
    return {
        "id": entry.id,
        "kind": "experience",
        "outcome": entry.outcome.status.value,
        "learned": shortened(one_line(_learned(entry)), line),
        "goal": shortened(one_line(entry.goal), limits.ADVICE_GOAL_MAX),
    }


def _value(value: Value, line: int) -> RelatedItem:
    return {"id": value.id, "kind": "value", "learned": shortened(one_line(value.text), line)}


def _learned(entry: Ghap) -> str:
    """Return the root cause of a wrong guess, else the takeaway, else what worked."""
    end = entry.outcome
    if end.root_cause:
        return end.root_cause.description
    if end.lesson:
        return end.lesson.takeaway or end.lesson.what_worked
    return end.result
