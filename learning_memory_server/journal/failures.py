"""The failures in the journal: the newest few of each error, and of each project."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import chain
from types import MappingProxyType
from typing import Any, Final

from learning_memory_server.journal.codec import FAILURE
from learning_memory_server.journal.log import Log
from learning_memory_server.journal.records import Forgetting, Records
from learning_memory_server.model import limits
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.limits import FAILURES_KEPT

_SPARE: Final = 0.1
"""By which share there may be more before the oldest are forgotten: each time costs a write."""
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})

_Projects = dict[str, dict[str, dict[str, Failure]]]
"""The failures by project, signature and id."""


class FailureLog(Records[Failure]):
    """The failures in the journal."""

    def __init__(self, log: Log, kept: int = limits.PROJECT_FAILURES_KEPT) -> None:
        super().__init__(log, FAILURE)
        self._kept = kept
        self._projects: _Projects | None = None
        self.changes = 0  # counts what is added and forgotten, for those who remember what follows from it

    def of(self, project: str, signature: str) -> list[Failure]:
        """Return what is known of an error, oldest first."""
        return sorted(self._grouped().get(project, {}).get(signature, {}).values(), key=_age)

    def with_command(self, project: str, command: str) -> list[Failure]:
        """Return the failures of a project's command, whatever the error."""
        errors = self._grouped().get(project, {}).values()
        return [each for error in errors for each in error.values() if each.command == command]

    def errors(self) -> list[list[Failure]]:
        """Return the failures of each error, oldest first."""
        return [sorted(error.values(), key=_age) for project in self._grouped().values() for error in project.values()]

    def add(self, *things: Failure, at: datetime | None = None) -> None:
        """Write failures to the log; see `Records.add`."""
        super().add(*things, at=at)
        self.changes += 1
        if self._projects is not None:
            for each in things:
                _group(self._projects, each)

    def add_new(self, things: Iterable[Failure], at: datetime | None = None) -> list[Failure]:
        """Write and return those that are new here, or were only imported so far; see `Records.add_new`."""
        things = list(things)
        seen = [each for each in things if (known := self.find(each.id)) and known.imported > each.imported]
        self.add(*seen, at=at)
        return [*seen, *super().add_new(things, at)]

    def hold(self, *things: Failure) -> None:
        """Replace what has the same ids, without writing it; see `Records.hold`."""
        super().hold(*things)
        self._projects = None

    def look_up(self, ids: Iterable[str], also: Mapping[str, Failure] = _NOTHING) -> Forgetting[Failure]:
        """Return what `forget` would return. The id of an error stands for all of its failures."""
        wanted = list(ids)
        named = {known[0].error: known for known in self.errors()} if any(map(_is_error, wanted)) else {}
        names = ((each.id for each in named[name]) if name in named else (name,) for name in wanted)
        return super().look_up(chain.from_iterable(names), also)

    def forget(
        self, ids: Iterable[str], at: datetime, *, unknown_too: bool = False, also: Mapping[str, Failure] = _NOTHING
    ) -> Forgetting[Failure]:
        """Forget failures, or all of an error's; see `Records.forget`."""
        forgetting = super().forget(ids, at, unknown_too=unknown_too, also=also)
        self.changes += 1
        self._projects = None
        return forgetting

    def is_forgotten(self, name: str) -> bool:
        """Return whether a failure is forgotten."""
        self._loaded()
        return name in self._tombstones

    def make_room(self, project: str, signature: str, at: datetime) -> None:
        """Forget the oldest failures of an error, and of its project, if there are many more than are kept."""
        errors = self._grouped()[project]
        excess = []
        if len(known := errors[signature]) > _most(FAILURES_KEPT):
            excess += sorted(known.values(), key=_age)[:-FAILURES_KEPT]
        if sum(map(len, errors.values())) > _most(self._kept):
            total = chain.from_iterable(error.values() for error in errors.values())
            excess += sorted(total, key=_age)[: -self._kept]
        if excess:
            self.forget((each.id for each in excess), at)

    def _grouped(self) -> _Projects:
        if self._projects is None:
            self._projects = {}
            for each in self.all():
                _group(self._projects, each)
        return self._projects


def _group(projects: _Projects, failure: Failure) -> None:
    errors = projects.setdefault(failure.project, {})
    errors.setdefault(failure.signature, {})[failure.id] = failure


def _most(kept: int) -> float:
    return kept * (1 + _SPARE)


def _is_error(name: str) -> bool:
    return name.startswith("failure_") and name.count("_") == 1


def _age(failure: Failure) -> tuple[datetime, int, str]:
    return failure.created_at, failure.times, failure.id
