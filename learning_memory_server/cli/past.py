"""What past sessions show: what failed most and what worked next, as a person reads it, and what is to be kept."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Final

from rich.text import Text

from learning_memory_server.cli import out
from learning_memory_server.cli.access import open_connection
from learning_memory_server.cli.command import Offline
from learning_memory_server.cli.listing import error_record
from learning_memory_server.journal.codec import FAILURE, JournalRecord
from learning_memory_server.lessons.errors.report import ReportLine
from learning_memory_server.lessons.errors.transcripts import Passed
from learning_memory_server.model.failure import Failure
from learning_memory_server.server.claims import claims_of
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.views.failure_views import figures, repeated_error

REPORTED: Final = 12  # Lines of a report


class LeftOut(Enum):
    """Why nothing is kept of a transcript."""

    OTHER_PROJECTS = "of other projects; `learn-from --all` takes them"
    GONE_FOLDERS = "of folders that are gone; name one to take it"
    EARLIER = "from before the git directory there was made; name one to take it"
    WITHOUT_FOLDER = "without a folder; name one to take it"


@dataclass(slots=True)
class LearnReport:
    """What was read, and what came of it: how many transcripts of each project, commands, and what is new here.

    `strayed` counts commands that sessions ran in folders of others; `known`, failures that are here already, or were
    forgotten. `here` is the folder of the current project, by its name. `lines` are the report, and
    `refused` counts the calls that the person refused with words.
    """

    place: Path
    projects: Counter[str] = field(default_factory=Counter)
    left_out: Counter[LeftOut] = field(default_factory=Counter)
    strayed: int = 0
    commands: int = 0
    failed: int = 0
    errors: list[list[Failure]] = field(default_factory=list)
    known: int = 0
    kept: int = 0
    passed: Passed = field(default_factory=Passed)
    here: Mapping[str, str] = field(default_factory=dict)
    lines: Sequence[ReportLine] = ()
    refused: int = 0

    @property
    def failures(self) -> list[Failure]:
        """The failures to keep, oldest first."""
        return sorted((each for known in self.errors for each in known), key=lambda each: each.created_at)

    @property
    def size(self) -> str:
        """How much there is to keep, in words; empty if there is nothing."""
        return out.counted(len(self.failures), "failure") if self.failures else ""

    def show(self) -> None:
        """Print what was found."""
        if not self.projects:
            out.say(f"No transcripts of this project in {out.one_line(str(self.place))}.")
            self.show_left_out()
            return
        out.records(error_record(repeated_error(error)) for error in self.errors[: out.SHOWN])
        out.rest(len(self.errors))
        names = sorted(map(out.one_line, self.projects))
        more = f" and {len(names) - out.SHOWN:,} more projects" if len(names) > out.SHOWN else ""
        facts = [
            ("transcripts", f"{sum(self.projects.values()):,} of {', '.join(names[: out.SHOWN])}{more}"),
            ("commands", f"{self.commands:,}, of which {self.failed:,} failed"),
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
        """Print how many transcripts and commands are not the project's, and why."""
        for why in filter(self.left_out.get, LeftOut):
            out.say(f"Left out: {out.counted(self.left_out[why], 'transcript')} {why.value}.")
        if self.strayed:
            out.say(f"Left out: {out.counted(self.strayed, 'command')} in other folders than the session's project.")

    def show_account(self) -> None:
        """Print what failed most."""
        sessions = out.counted(sum(self.projects.values()), "session")
        ran = f"In {sessions} your agents ran {out.counted(self.commands, 'command')}"
        out.say(f"{ran}, of which {self.failed:,} failed.", "bold")
        for each in self.lines:
            out.hanging(Text(f"{each.label:>12}  ", "red"), Text(out.one_line(each.text)))
        if not any(each.figures for each in self.lines):
            out.say("No command failed in the same way in two sessions.")
        if self.refused:
            out.say(f"You refused {out.counted(self.refused, 'call')} with words.", "dim")

    def account(self) -> dict[str, Any]:
        """Return a `PastAccount`."""
        found = [{**figures(each.figures), "text": each.text} for each in self.lines if each.figures]
        return {"figures": found, "refused": self.refused}

    async def keep(self, settings: Settings) -> None:
        """Keep what is new, the oldest first: what an interruption leaves is learned the next time."""
        claims = claims_of(settings)
        for folder in () if settings.project else self.here.values():
            # The project begins here, and sessions in this folder may be told of it.
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
            "commands": self.commands,
            "failed": self.failed,
            "passed_over": {
                "lines": self.passed.lines,
                "files": sorted(self.passed.files),
                "links": self.passed.outside,
            },
            **self.account(),
            "seconds": round(seconds, 1),
        }

    def counts_left_out(self) -> dict[str, int]:
        """Return how many transcripts, and commands of others, are left out."""
        return {**{why.name.lower(): self.left_out[why] for why in LeftOut}, "commands": self.strayed}
