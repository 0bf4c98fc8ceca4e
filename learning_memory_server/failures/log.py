"""The failures in the journal: the newest few of each error, and of each project."""

from __future__ import annotations

from collections import defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.domain.failure import Failure, error_id
from learning_memory_server.failures.remedies import KEPT
from learning_memory_server.journal.codec import FAILURE
from learning_memory_server.journal.records import Forgetting, Records

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from learning_memory_server.journal.log import Log

PROJECT_KEPT: Final = 2_000
"""How many failures of a project are kept; when there are more, the oldest tenth is forgotten. One takes half a kilobyte in the journal, and the same in RAM."""
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class FailureLog(Records[Failure]):
    """The failures in the journal.

    Args:
        log: The log.
        kept: How many of a project are kept.
    """

    def __init__(self, log: Log, kept: int = PROJECT_KEPT) -> None:
        super().__init__(log, FAILURE)
        self._kept = kept
        self._errors: dict[str, dict[str, Failure]] | None = None

    def of(self, project: str, signature: str) -> list[Failure]:
        """Return what is known of an error, oldest first."""
        return sorted(self._grouped().get(error_id(project, signature), {}).values(), key=_age)

    def errors(self) -> list[list[Failure]]:
        """Return the failures of each error, oldest first."""
        return [sorted(group.values(), key=_age) for group in self._grouped().values()]

    def add(self, *things: Failure, at: datetime | None = None) -> None:
        """Write failures to the log; see `Records.add`."""
        super().add(*things, at=at)
        if self._errors is not None:
            for each in things:
                self._errors[each.error][each.id] = each

    def hold(self, *things: Failure) -> None:
        """Replace what has the same ids, without writing it; see `Records.hold`."""
        super().hold(*things)
        self._errors = None

    def look_up(self, ids: Iterable[str], also: Mapping[str, Failure] = _NOTHING) -> Forgetting[Failure]:
        """Return what `forget` would return. The id of an error stands for all of its failures."""
        groups = self._grouped()
        return super().look_up((name for given in ids for name in groups.get(given) or (given,)), also)

    def forget(
        self,
        ids: Iterable[str],
        at: datetime,
        *,
        unknown_too: bool = False,
        also: Mapping[str, Failure] = _NOTHING,
    ) -> Forgetting[Failure]:
        """Forget failures, or all of an error's; see `Records.forget`."""
        forgetting = super().forget(ids, at, unknown_too=unknown_too, also=also)
        self._errors = None
        return forgetting

    def points_of(self, _forgetting: Forgetting[Failure]) -> list[str]:
        """Return no point: failures are not indexed."""
        return []

    def make_room(self, project: str, signature: str, at: datetime) -> None:
        """Forget the oldest failures of an error, and of its project, if there are more than are kept.

        Raises:
            JournalUnavailableError: If that could not be written.
        """
        group = self.of(project, signature)
        excess = [each.id for each in group[:-KEPT]]
        total = [each for each in self.all() if each.project == project]
        if len(total) > self._kept:
            enough = self._kept - self._kept // 10
            excess += [each.id for each in sorted(total, key=_age)[:-enough]]
        if excess:
            self.forget(excess, at)

    def _grouped(self) -> dict[str, dict[str, Failure]]:
        if self._errors is None:
            self._errors = defaultdict(dict)
            for each in self.all():
                self._errors[each.error][each.id] = each
        return self._errors


def _age(failure: Failure) -> tuple[datetime, str]:
    return failure.created_at, failure.id
