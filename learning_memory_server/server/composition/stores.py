"""What is kept of sessions: the journal's logs, for reading without a lock as well as for writing; and its projects."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from learning_memory_server.advice.log import AdviceLog
from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.errors import JournalUnavailableError, NotFoundError, did_you_mean
from learning_memory_server.journal.answers import Answers
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import FailureLog, Records
from learning_memory_server.lessons.effects import Effects
from learning_memory_server.lessons.files.freshness import Freshness
from learning_memory_server.lessons.notes import EntryNotes
from learning_memory_server.lessons.values.log import ValueLog, VerdictLog
from learning_memory_server.model import limits
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.memory import Memory
from learning_memory_server.model.moment import Clock
from learning_memory_server.rules.log import RuleCounts, RuleLog
from learning_memory_server.server.settings import Settings

CURRENT: Final = "current"  # How a filter names the caller's own project


class Stores:
    """What is kept. `is_live` tells if a session runs, so that its open entry is no orphan."""

    def __init__(
        self,
        settings: Settings,
        journal: Journal,
        clock: Clock,
        memory_log: Records[Memory],
        is_live: Callable[[str], bool] = lambda _session: False,
    ) -> None:
        self.settings = settings
        self.journal = journal
        self.clock = clock
        self.collector = ObservationCollector(journal, clock, is_live)
        self.value_log = ValueLog(journal.values)
        self.verdicts = VerdictLog(journal.verdicts)
        self.failure_log = FailureLog(journal.failures)
        self.advice_log = AdviceLog(journal.advice, self.failure_log)
        self.effects = Effects(self.advice_log, self.collector)
        self.freshness = Freshness()
        self.entry_notes = EntryNotes(self.effects, self.freshness)
        self.memory_log = memory_log
        self.answers = Answers(journal.answers)
        self.rule_log = RuleLog(journal.rules)
        self.rule_counts = RuleCounts(journal.rule_counts)
        self.projects = Projects(self)


@dataclass(frozen=True, slots=True)
class Projects:
    """The projects that something is kept of."""

    kept: Stores

    def named(self, project: str | None, caller: Caller) -> str | None:
        """Return the project that a filter names: `current` is the caller's, and any other must be known."""
        if project is None or project in (CURRENT, caller.project):
            return project and caller.project
        if self.kept.collector.timeline.count(project) or project in (known := {*self.all(), caller.project}):
            return project
        others = f", and {len(known) - limits.PROJECTS_NAMED} more" if len(known) > limits.PROJECTS_NAMED else ""
        raise NotFoundError(
            f"project: nothing is kept of a project {project!r}.{did_you_mean(project, known)}",
            hint=f"There are {', '.join(sorted(known)[: limits.PROJECTS_NAMED])}{others}; current is {caller.project}.",
            arguments=["project"],
        )

    def has(self, project: str) -> bool:
        """Return whether sessions here have kept anything of a project, by its id, or may have: a log is unreadable."""
        readable = [*self._others(), self._read(self.kept.collector.list_resolved)]
        is_kept = self.kept.journal.names.have_own(project, chain(*filter(None, readable)))
        return is_kept or None in readable

    def all(self) -> list[str]:
        """Return all of them, by name."""
        others = (each.project for each in chain(*filter(None, self._others())))
        return sorted({*self.kept.collector.timeline.projects(), *others})

    def _others(self) -> list[list[Any] | None]:
        """Return everything except resolved entries, whose projects are counted as they come; None if unreadable."""
        kept = self.kept
        logs = kept.value_log, kept.memory_log, kept.failure_log, kept.rule_log
        return [self._read(read) for read in (kept.journal.open_entries, *(log.all for log in logs))]

    def _read(self, read: Callable[[], list[Any]]) -> list[Any] | None:
        try:
            return read()
        except JournalUnavailableError:
            return None
