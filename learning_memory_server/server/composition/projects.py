"""The projects that a filter can name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from learning_memory_server.errors import NotFoundError, did_you_mean
from learning_memory_server.model import limits

if TYPE_CHECKING:
    from learning_memory_server.model.caller import Caller
    from learning_memory_server.server.composition.services import Kept

CURRENT: Final = "current"
"""How a filter names the caller's own project."""


@dataclass(frozen=True, slots=True)
class Projects:
    """The projects that something is kept of."""

    kept: Kept

    def named(self, project: str | None, caller: Caller) -> str | None:
        """Return the project that a filter names: `current` is the caller's, and any other must be known."""
        if project is None or project in (CURRENT, caller.project):
            return project and caller.project
        if self.kept.collector.timeline.count(project) or project in (known := self._all(caller)):
            return project
        others = f", and {len(known) - limits.PROJECTS_NAMED} more" if len(known) > limits.PROJECTS_NAMED else ""
        raise NotFoundError(
            f"project: nothing is kept of a project {project!r}.{did_you_mean(project, known)}",
            hint=f"There are {', '.join(sorted(known)[: limits.PROJECTS_NAMED])}{others}; current is {caller.project}.",
        )

    def _all(self, caller: Caller) -> set[str]:
        kept = self.kept
        entries = (*kept.collector.timeline, *kept.journal.open_entries())
        return {caller.project, *(each.project for each in entries)}.union(
            *((each.project for each in log.all()) for log in (kept.value_log, kept.memory_log))
        )
