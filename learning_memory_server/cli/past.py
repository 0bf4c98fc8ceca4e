"""The result of reading past sessions: the report, and the failures to store."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Final

from learning_memory_server.cli import out
from learning_memory_server.cli.access import open_connection
from learning_memory_server.cli.command import Offline
from learning_memory_server.cli.failures import error_record
from learning_memory_server.cli.rules.report import document_of
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.kinds import FAILURE
from learning_memory_server.lessons.errors.transcripts import Passed
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.project import name_among
from learning_memory_server.rules.past.report import PastReport
from learning_memory_server.server.claims import claims_of
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.views.failure_views import repeated_error

_TAKEN_BY: Final = "only `learn-from PATH` takes them, PATH being one of these files or a folder of them"


class LeftOut(Enum):
    """The reasons to leave a transcript out."""

    EXCLUDED = "of folders that the setting `exclude` leaves out"
    OTHER_PROJECTS = "of other projects; `learn-from --all` takes them"
    GONE_FOLDERS = f"of folders that are gone; {_TAKEN_BY}"
    EARLIER = f"of sessions that ran there before the git directory was made; {_TAKEN_BY}"
    WITHOUT_FOLDER = f"without a folder; {_TAKEN_BY}"


@dataclass(slots=True)
class LearnReport:
    """The transcripts that were read, by project, the report about them, and their new failures.

    `older` counts sessions in this folder from before this clone, which are read only with a person's permission.
    `known` counts failures that are already stored or were deleted. `here` is the folder of the current project, by
    name. `past` is the report.
    """

    place: Path
    projects: Counter[str] = field(default_factory=Counter)
    left_out: Counter[LeftOut] = field(default_factory=Counter)
    older: int = 0
    errors: list[list[Failure]] = field(default_factory=list)
    known: int = 0
    kept: int = 0
    passed: Passed = field(default_factory=Passed)
    here: Mapping[str, str] = field(default_factory=dict)
    past: PastReport = field(default_factory=PastReport)

    @property
    def failures(self) -> list[Failure]:
        """The failures to store, oldest first."""
        return sorted((each for known in self.errors for each in known), key=lambda each: each.created_at)

    @property
    def size(self) -> str:
        """How much there is to keep, in words; empty if there is nothing."""
        failed = out.counted(len(self.failures), "failing command")
        return f"{out.counted(len(self.errors), 'error')} of {failed}" if self.failures else ""

    @property
    def what(self) -> str:
        """The scope without sessions: the project, or only this clone of it."""
        return "clone" if self.older else "project"

    @property
    def older_sessions(self) -> str:
        """The number of sessions in this folder from before this clone, in words."""
        return f"{out.counted(self.older, 'older session')} ran in this folder, before this clone"

    def show(self) -> None:
        """Print the results."""
        if not self.projects:
            out.say(f"No transcripts of this {self.what} in {out.one_line(str(self.place))}.")
            self.show_left_out()
            return
        out.records(error_record(repeated_error(error)) for error in self.errors[: out.SHOWN])
        out.rest(len(self.errors))
        names = sorted(out.one_line(name_among(each, self.projects)) for each in self.projects)
        more = f" and {len(names) - out.SHOWN:,} more projects" if len(names) > out.SHOWN else ""
        facts = [
            ("transcripts", f"{sum(self.projects.values()):,} of {', '.join(names[: out.SHOWN])}{more}"),
            ("commands", f"{self.past.commands:,}, of which {self.past.failed:,} failed"),
            ("to keep", self.size or "nothing new"),
            ("known", f"{self.known:,}"),
        ]
        skipped = [
            (self.passed.lines, "line", "damaged or too long"),
            (self.passed.outside, "link", "to other folders"),
        ]
        reasons = [*map(out.one_line, self.passed.files)]
        reasons += [f"{out.counted(count, noun)} {why}" for count, noun, why in skipped if count]
        out.facts([*facts, *(("passed over", reason) for reason in reasons)])
        self.show_left_out()

    def show_left_out(self) -> None:
        """Print how many transcripts and commands are left out, and why."""
        if self.older:
            out.say(
                f"Left out: {self.older_sessions}. In a terminal, `report` asks once whether to read them; `learn-from FILE` "
                "reads one."
            )
        for why in filter(self.left_out.get, LeftOut):
            if why is LeftOut.EARLIER and self.older:
                continue
            out.say(f"Left out: {out.counted(self.left_out[why], 'transcript')} {why.value}.")
        if self.past.strayed:
            out.say(
                f"Left out: {out.counted(self.past.strayed, 'command')} in other folders than the session's project."
            )

    async def keep(self, settings: Settings) -> None:
        """Store the new failures, oldest first. After an interruption, the next run stores the rest."""
        claims = claims_of(settings)
        for folder in () if settings.project else self.here.values():
            # The project begins here, and sessions in this folder may get its advice.
            if (found := claims.find(Path(folder), Offline(settings).projects.has)).is_told:
                claims.record_roots(Path(folder), found.project)
        records = [JournalRecord.of(FAILURE, each) for each in self.failures]
        async with open_connection(settings, "learn-from") as connection:
            self.kept = await connection.add(records)
        out.say(f"Kept {self.kept:,}. `failures` lists what is kept.")

    def document(self, seconds: float) -> dict[str, Any]:
        """Return a `LearnDocument`."""
        return {
            "kept": self.kept,
            "new": len(self.failures),
            "known": self.known,
            "errors": [repeated_error(error) for error in self.errors],
            "transcripts": dict(sorted(self.projects.items())),
            "left_out": self.counts_left_out(),
            "commands": self.past.commands,
            "failed": self.past.failed,
            "passed_over": {
                "lines": self.passed.lines,
                "files": sorted(self.passed.files),
                "links": self.passed.outside,
            },
            **document_of(self.past),
            "seconds": round(seconds, 1),
        }

    def counts_left_out(self) -> dict[str, int]:
        """Return the numbers of transcripts, by reason, and of commands that are left out."""
        return {**{why.name.lower(): self.left_out[why] for why in LeftOut}, "commands": self.past.strayed}
