"""What `learn-from` shows of past sessions, in words and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from learning_memory_server.cli.terminal import (
    SHOWN,
    counted,
    date,
    output,
    short_project,
    show_facts,
    show_records,
    show_rest,
)
from learning_memory_server.learning.failures.transcripts import Passed
from learning_memory_server.model.lines import one_line
from learning_memory_server.server.views.failure_views import repeated_error

if TYPE_CHECKING:
    from learning_memory_server.model.failure import Failure
    from learning_memory_server.model.memory import Memory


@dataclass(slots=True)
class Lesson:
    """What was read, and what came of it.

    Args:
        place: Where the transcripts are.
        every: Whether other projects were wanted, too.
        projects: How many transcripts were read of each project.
        elsewhere: How many belong to other projects, which were not wanted, or do not say to which.
        commands: How many commands succeeded or failed in them.
        failed: How many failed.
        errors: The failures of each error that are new here.
        tasks: The tasks that are new here.
        known: How many failures and tasks are here already, or were forgotten.
        kept: How many were kept now.
        passed: What was passed over.
        here: The folder of the current project, by its name.
    """

    place: Path
    every: bool
    projects: Counter[str] = field(default_factory=Counter)
    elsewhere: int = 0
    commands: int = 0
    failed: int = 0
    errors: list[list[Failure]] = field(default_factory=list)
    tasks: list[Memory] = field(default_factory=list)
    known: int = 0
    kept: int = 0
    passed: Passed = field(default_factory=Passed)
    here: Mapping[str, str] = field(default_factory=dict)

    @property
    def failures(self) -> list[Failure]:
        """The failures to keep, oldest first."""
        return sorted((each for known in self.errors for each in known), key=lambda each: each.created_at)

    @property
    def size(self) -> str:
        """How much there is to keep, in words; empty if there is nothing."""
        parts = [(len(self.failures), "failure"), (len(self.tasks), "task")]
        return " and ".join(counted(count, noun) for count, noun in parts if count)

    def show(self) -> None:
        """Print what was found."""
        if not self.projects:
            output().print(
                f"No transcripts of this project in {one_line(str(self.place))}.{self._elsewhere()}"
            )
            return
        show_records(_error(self._repeated(error)) for error in self.errors[:SHOWN])
        show_rest(len(self.errors))
        show_records(map(_task, self.tasks[:SHOWN]))
        show_rest(len(self.tasks))
        facts = [
            ("transcripts", f"{sum(self.projects.values()):,} of {_named(self.projects)}"),
            ("commands", f"{self.commands:,}, of which {self.failed:,} failed"),
            ("to keep", self.size or "nothing new"),
            ("known", f"{self.known:,}"),
        ]
        facts += [("passed over", reason) for reason in self._reasons()]
        show_facts(facts)

    def document(self, seconds: float) -> dict[str, Any]:
        """Return a `LearnDocument`."""
        return {
            "kept": self.kept,
            "new": len(self.failures) + len(self.tasks),
            "known": self.known,
            "errors": [self._repeated(error) for error in self.errors],
            "tasks": [
                {"id": each.id, "project": each.project, "at": each.date.isoformat(), "text": each.text}
                for each in self.tasks
            ],
            "transcripts": dict(sorted(self.projects.items())),
            "other_projects": self.elsewhere,
            "commands": self.commands,
            "failed": self.failed,
            "passed_over": {
                "lines": self.passed.lines,
                "files": sorted(self.passed.files),
                "links": self.passed.outside,
            },
            "seconds": round(seconds, 1),
        }

    def _repeated(self, error: list[Failure]) -> dict[str, Any]:
        return repeated_error(error, self.here.get(error[-1].project))

    def _elsewhere(self) -> str:
        """Return what is said of the transcripts of other projects, if there are any."""
        if not self.elsewhere:
            return ""
        others = f" {counted(self.elsewhere, 'transcript')} of other projects"
        return f"{others} or of none." if self.every else f"{others}: --all takes them, too."

    def _reasons(self) -> list[str]:
        found = [one_line(name) for name in self.passed.files]
        if self.elsewhere:
            found.append(self._elsewhere().strip())
        if self.passed.lines:
            found.append(f"{counted(self.passed.lines, 'line')} damaged or too long")
        if self.passed.outside:
            found.append(f"{counted(self.passed.outside, 'link')} to other folders")
        return found


def _named(projects: Counter[str]) -> str:
    names = sorted(map(one_line, projects))
    more = f" and {len(names) - SHOWN:,} more projects" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"


def _error(shown: dict[str, Any]) -> tuple[list[str], str]:
    remedy = f"; this worked: {shown['remedy']}" if "remedy" in shown else "; no remedy that always works"
    facts = [counted(shown["times"], "time"), shown["last_seen"][:10], short_project(shown["project"])]
    return facts, f"{shown['signature']}{remedy}"


def _task(task: Memory) -> tuple[list[str], str]:
    return ["task", date(task.date), short_project(task.project)], task.text
