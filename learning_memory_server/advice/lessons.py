"""Lessons in force: not declined, not misleading, and approved if approval is required."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from itertools import islice

from learning_memory_server.advice import constants
from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.answers import Answers
from learning_memory_server.lessons.effects import Effects, teaches
from learning_memory_server.lessons.files.freshness import Freshness
from learning_memory_server.model.entry import Ghap
from learning_memory_server.sharing.files import SharedEntry
from learning_memory_server.sharing.shared import SharedLessons


@dataclass(frozen=True, slots=True)
class Lessons:
    """The lessons that agents of a project may be shown."""

    collector: ObservationCollector
    effects: Effects
    freshness: Freshness
    _: KW_ONLY
    is_everywhere: bool = False  # whether lessons of other projects count, too
    answers: Answers | None = None
    shared: SharedLessons = field(default_factory=SharedLessons)

    def is_in_force(self, entry: Ghap) -> bool:
        """Whether an entry may be shown."""
        return teaches(entry, self.answers) and not self.effects.has_misled(entry.id)

    def within(self, project: str) -> str | None:
        """Return the project to which lessons are limited, None for all projects."""
        return None if self.is_everywhere else project

    def newest(self, project: str, entry_id: str = "") -> Iterator[Ghap]:
        """Yield the newest entries and shared lessons for a project, except `entry_id`, in force or not."""
        within = self.within(project)
        own = islice(self.collector.timeline.newest(within), constants.BACKGROUND)
        return (each for each in (*own, *self.shared_by(within)) if each.id != entry_id)

    def count(self, project: str) -> int:
        """Return the number of entries for a project, without shared lessons."""
        return self.collector.timeline.count(self.within(project))

    def shared_by(self, project: str | None) -> list[SharedEntry]:
        """Return the newest shared lessons that may be shown."""
        return self.shared.allowed(project, self.answers)[: constants.BACKGROUND]

    def has_any(self, project: str) -> bool:
        """Whether a project has any entries or shared lessons."""
        return bool(self.count(project) or self.shared_by(self.within(project)))

    def helped_most(self, project: str, most: int) -> list[Ghap]:
        """Return the lessons of a project that helped more often than they misled, best first."""
        effects = self.effects.counts()
        helped = sorted((misled - helped, name) for name, (misled, helped) in effects.items() if helped > misled)
        entries = self.collector.look_up(name for _, name in helped).found
        lessons = [each for each in entries if each.project == project and each.resolution and self.is_in_force(each)]
        return lessons[:most]
