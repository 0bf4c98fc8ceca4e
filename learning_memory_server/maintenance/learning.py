"""`learn-from`: reads the transcripts of earlier sessions, shows what is to be kept of them, and keeps it."""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import typer

from learning_memory_server.access.connection import open_connection
from learning_memory_server.access.reading import open_settings
from learning_memory_server.composition.backends import redaction_gate
from learning_memory_server.failures.learning import Learner, unknown
from learning_memory_server.failures.log import FailureLog
from learning_memory_server.identity import project_of
from learning_memory_server.journal.codec import FAILURE
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.line import JournalRecord
from learning_memory_server.maintenance.restoring import batches, file_errors
from learning_memory_server.options import current_project
from learning_memory_server.terminal import (
    SHOWN,
    counted,
    one_line,
    output,
    short_project,
    show_facts,
    show_json,
    show_notice,
    show_records,
    show_rest,
    working,
)
from learning_memory_server.transcripts.claude_code import (
    Passed,
    commands_in,
    find_transcripts,
    folder_name,
    projects_folder,
    started_in,
)
from learning_memory_server.views.failure_views import repeated_error

if TYPE_CHECKING:
    from learning_memory_server.domain.failure import Failure
    from learning_memory_server.settings import Settings

_MB: Final = 1_000_000


@dataclass(slots=True)
class _Lesson:
    """What was read, and what came of it.

    Args:
        place: Where the transcripts are.
        every: Whether other projects were wanted, too.
        projects: How many transcripts were read of each project.
        elsewhere: How many belong to other projects, which were not wanted, or do not say to which.
        commands: How many commands succeeded or failed in them.
        failed: How many failed.
        errors: The failures of each error that are new here.
        known: How many failures are here already, or were forgotten.
        kept: How many were kept now.
        passed: What was passed over.
    """

    place: Path
    every: bool
    projects: Counter[str] = field(default_factory=Counter)
    elsewhere: int = 0
    commands: int = 0
    failed: int = 0
    errors: list[list[Failure]] = field(default_factory=list)
    known: int = 0
    kept: int = 0
    passed: Passed = field(default_factory=Passed)

    @property
    def new(self) -> list[Failure]:
        """The failures to keep, oldest first: if the rest is interrupted, it is learned the next time."""
        return sorted((each for known in self.errors for each in known), key=lambda each: each.created_at)


async def learn(path: Path | None, *, every: bool, yes: bool, as_json: bool) -> None:
    """Show what earlier sessions teach, ask, and keep it.

    Args:
        path: A transcript or a folder of them; by default Claude Code's own.
        every: Also learn from other projects.
        yes: Do not ask.
        as_json: Print a `LearnDocument`, and ask nothing.

    Raises:
        InvalidInputError: If the path cannot be read.
        JournalUnavailableError: If the journal cannot be read or written; what it has acknowledged stays.
        AlreadyRunningError: If a process other than a hub uses the journal.
    """
    began = monotonic()
    settings = open_settings()
    lesson = _Lesson(path or projects_folder(os.environ), every)
    if path or lesson.place.is_dir():
        await _read(lesson, _Projects(settings, is_named=path is not None, every=every), settings)
    if not as_json:
        _show(lesson)
    if lesson.new and (yes or (not as_json and _confirmed(len(lesson.new)))):
        await _keep(lesson, settings)
    if as_json:
        show_json(_document(lesson, monotonic() - began))
    elif lesson.kept:
        output().print(f"Kept {counted(lesson.kept, 'failure')}. `failures` lists them.")


class _Projects:
    """Says which project a transcript is of.

    Args:
        settings: Name this folder's project, if they name one.
        is_named: Whether the transcripts' place was given, and not Claude Code's own.
        every: Whether those of other projects are wanted.
    """

    def __init__(self, settings: Settings, *, is_named: bool, every: bool) -> None:
        here = Path(os.environ.get("CLAUDE_PROJECT_DIR") or Path.cwd())
        self._own = project_of(here)
        self._current = current_project(settings)
        self._folder = folder_name(here)
        self._is_named = is_named
        self._every = every
        self._known: dict[str, str | None] = {}

    def of(self, transcript: Path) -> str | None:
        """Return the project to learn under, None if the transcript is of another one and these are not wanted."""
        if any(part.name == self._folder for part in transcript.parents):
            return self._current
        folder = started_in(transcript)
        if folder not in self._known:
            self._known[folder] = self._name(folder)
        return self._known[folder]

    def _name(self, folder: str) -> str | None:
        place = Path(folder)
        if place.is_absolute() and place.is_dir():
            name = project_of(place)
            if name == self._own:
                return self._current
            return name if self._every else None
        # The folder is gone, or was on another machine. A person who names a transcript says what it is of.
        if self._every:
            return place.name or None
        return self._current if self._is_named else None


async def _read(lesson: _Lesson, projects: _Projects, settings: Settings) -> None:
    learner = Learner(redaction_gate(settings))
    with file_errors(lesson.place), working("Looking for transcripts") as report:
        found = find_transcripts(lesson.place, lesson.passed)
        wanted = [(path, name) for path in found if (name := projects.of(path))]
        lesson.elsewhere = len(found) - len(wanted)
        sizes = [path.stat().st_size for path, _ in wanted]
        total, before = sum(sizes), 0

        def progress(done: int) -> None:
            report("Reading transcripts (MB)", (before + done) // _MB, max(total // _MB, 1))

        for (path, project), size in zip(wanted, sizes, strict=True):
            lesson.projects[project] += 1
            progress(0)
            for ran in commands_in(path, lesson.passed, progress):
                lesson.commands += 1
                folder = ran.folder or None
                if ran.error is None:
                    await learner.succeeded(
                        project=project,
                        session=ran.session,
                        agent=ran.agent,
                        command=ran.command,
                        folder=folder,
                    )
                    continue
                lesson.failed += 1
                await learner.failed(
                    project=project,
                    session=ran.session,
                    agent=ran.agent,
                    command=ran.command,
                    error=ran.error,
                    at=ran.at,
                    folder=folder,
                )
            before += size
    here = FailureLog(Journal(settings.journal_directory).failures)
    for learned in learner.learned():
        new = unknown(learned, here)
        lesson.known += len(learned) - len(new)
        if new:
            lesson.errors.append(new)
    lesson.errors.sort(key=lambda error: (-error[-1].times, error[-1].error))


async def _keep(lesson: _Lesson, settings: Settings) -> None:
    records = [
        JournalRecord(FAILURE.kind, each.id, each.created_at, FAILURE.encode(each)) for each in lesson.new
    ]
    async with open_connection(settings, "learn-from") as connection:
        for batch in batches(records):
            lesson.kept += len((await connection.run("add_records", records=batch))["added"])


def _confirmed(count: int) -> bool:
    if not sys.stdin.isatty():
        show_notice("Nothing was kept. To keep this, add --yes.")
        return False
    return typer.confirm(f"Keep {counted(count, 'failure')}?", err=True)


def _show(lesson: _Lesson) -> None:
    if not lesson.projects:
        output().print(
            f"No transcripts of this project in {one_line(str(lesson.place))}.{_elsewhere(lesson)}"
        )
        return
    show_records(map(_record, lesson.errors[:SHOWN]))
    show_rest(len(lesson.errors))
    count = len(lesson.new)
    new = f"{counted(count, 'failure')} of {counted(len(lesson.errors), 'error')}" if count else "nothing new"
    facts = [
        ("transcripts", f"{sum(lesson.projects.values()):,} of {_named(lesson.projects)}"),
        ("commands", f"{lesson.commands:,}, of which {lesson.failed:,} failed"),
        ("to keep", new),
        ("known", counted(lesson.known, "failure")),
    ]
    facts += [("passed over", reason) for reason in _reasons(lesson)]
    show_facts(facts)


def _elsewhere(lesson: _Lesson) -> str:
    """Return what is said of the transcripts of other projects, if there are any."""
    if not lesson.elsewhere:
        return ""
    others = f" {counted(lesson.elsewhere, 'transcript')} of other projects"
    return f"{others} or of none." if lesson.every else f"{others}: --all takes them, too."


def _named(projects: Counter[str]) -> str:
    names = sorted(map(one_line, projects))
    more = f" and {len(names) - SHOWN:,} more projects" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"


def _record(error: list[Failure]) -> tuple[list[str], str]:
    shown = repeated_error(error)
    remedy = f"; this worked: {shown['remedy']}" if "remedy" in shown else "; no remedy that always works"
    facts = [counted(shown["times"], "time"), shown["last_seen"][:10], short_project(shown["project"])]
    return facts, f"{shown['signature']}{remedy}"


def _reasons(lesson: _Lesson) -> list[str]:
    passed = lesson.passed
    found = [one_line(name) for name in passed.files]
    if lesson.elsewhere:
        found.append(_elsewhere(lesson).strip())
    if passed.lines:
        found.append(f"{counted(passed.lines, 'line')} damaged or too long")
    if passed.outside:
        found.append(f"{counted(passed.outside, 'link')} to other folders")
    return found


def _document(lesson: _Lesson, seconds: float) -> dict[str, Any]:
    return {
        "kept": lesson.kept,
        "new": len(lesson.new),
        "known": lesson.known,
        "errors": [repeated_error(error) for error in lesson.errors],
        "transcripts": dict(sorted(lesson.projects.items())),
        "other_projects": lesson.elsewhere,
        "commands": lesson.commands,
        "failed": lesson.failed,
        "passed_over": {
            "lines": lesson.passed.lines,
            "files": sorted(lesson.passed.files),
            "links": lesson.passed.outside,
        },
        "seconds": round(seconds, 1),
    }
