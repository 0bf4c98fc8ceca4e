"""`learn-from`: reads the transcripts of earlier sessions, shows what is to be kept of them, and keeps it."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeVar

import typer

from learning_memory_server.cli.access.connection import complete_index, open_connection
from learning_memory_server.cli.access.reading import open_settings
from learning_memory_server.cli.maintenance.learning_report import Lesson
from learning_memory_server.cli.maintenance.past_failures import Learner, unknown
from learning_memory_server.cli.maintenance.past_tasks import is_over, memory_of
from learning_memory_server.cli.maintenance.restoring import batches, file_errors
from learning_memory_server.cli.options import current_project, folders_here
from learning_memory_server.cli.terminal import output, show_json, show_notice, working
from learning_memory_server.journal.codec import FAILURE, MEMORY
from learning_memory_server.journal.failures import FailureLog
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.line import JournalRecord
from learning_memory_server.journal.records import Records
from learning_memory_server.learning.failures.transcripts import (
    commands_in,
    find_transcripts,
    folder_name,
    projects_folder,
    started_in,
    task_in,
)
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.memory import Memory
from learning_memory_server.model.moment import utc_now
from learning_memory_server.server.claims import claims_of
from learning_memory_server.server.composition.backends import redaction_gate

if TYPE_CHECKING:
    from learning_memory_server.journal.codec import Codec
    from learning_memory_server.server.settings import Settings

T = TypeVar("T", Failure, Memory)
_MB: Final = 1_000_000


async def learn(path: Path | None, *, every: bool, tasks: bool, yes: bool, as_json: bool) -> None:
    """Show what earlier sessions teach, ask, and keep it.

    Args:
        path: A transcript or a folder of them; by default Claude Code's own.
        every: Also learn from other projects.
        tasks: Also keep what each session was about.
        yes: Do not ask.
        as_json: Print a `LearnDocument`, and ask nothing.

    Raises:
        InvalidInputError: If the path cannot be read.
        JournalUnavailableError: If the journal cannot be read or written; what it has acknowledged stays.
        AlreadyRunningError: If a process other than a hub uses the journal.
    """
    began = monotonic()
    settings = open_settings()
    lesson = Lesson(path or projects_folder(os.environ), every, here=folders_here(settings))
    if path or lesson.place.is_dir():
        await _read(
            lesson, _Projects(settings, is_named=path is not None, every=every), settings, tasks=tasks
        )
    if not as_json:
        lesson.show()
    if lesson.size and (yes or (not as_json and _confirmed(lesson.size))):
        await _keep(lesson, settings)
    if as_json:
        show_json(lesson.document(monotonic() - began))
    elif lesson.kept:
        output().print(f"Kept {lesson.kept:,}. `failures` and `memories` list what is kept.")


class _Projects:
    """Says which project a transcript is of.

    Args:
        settings: Name this folder's project, if they name one.
        is_named: Whether the transcripts' place was given, and not Claude Code's own.
        every: Whether those of other projects are wanted.
    """

    def __init__(self, settings: Settings, *, is_named: bool, every: bool) -> None:
        here = Path(os.environ.get("CLAUDE_PROJECT_DIR") or Path.cwd())
        self._claims = claims_of(settings)
        self._own = self._claims.project_of(here, keep=False)
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
            name = self._claims.project_of(place, keep=False)
            if name == self._own:
                return self._current
            return name if self._every else None
        # The folder is gone, or was on another machine. A person who names a transcript says what it is of.
        if self._every:
            return place.name or None
        return self._current if self._is_named else None


async def _read(lesson: Lesson, projects: _Projects, settings: Settings, *, tasks: bool) -> None:
    """Read the transcripts, and sort out what is new here."""
    gate = redaction_gate(settings)
    # What is read from elsewhere may be of another machine, as what an archive brings.
    own = projects_folder(os.environ).resolve()
    learner = Learner(gate, imported=not lesson.place.resolve().is_relative_to(own))
    memories = dict[str, Memory]()
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
                lesson.failed += bool(ran.has_failed)
                await learner.saw(replace(ran, project=project))
            if tasks and (task := task_in(path)) and is_over(task, now := utc_now()):
                memory = await memory_of(task, project, gate, now)
                memories[memory.id] = memory
            before += size
    journal = Journal(settings.journal_directory)
    here = FailureLog(journal.failures)
    for learned in learner.learned():
        new = unknown(learned, here)
        lesson.known += len(learned) - len(new)
        if new:
            lesson.errors.append(new)
    lesson.errors.sort(key=lambda error: (-error[-1].times, error[-1].error))
    fresh = set(Records(journal.memories, MEMORY).look_up(memories).unknown)
    lesson.known += len(memories) - len(fresh)
    lesson.tasks = sorted((memories[name] for name in fresh), key=lambda memory: (memory.date, memory.id))


async def _keep(lesson: Lesson, settings: Settings) -> None:
    """Write it, oldest first; what an interruption leaves is learned the next time."""
    records = [_record(FAILURE, each) for each in lesson.failures]
    records += [_record(MEMORY, each) for each in lesson.tasks]
    async with open_connection(settings, "learn-from") as connection:
        for batch in batches(records):
            lesson.kept += len((await connection.run("add_records", records=batch))["added"])
        if lesson.tasks:
            await complete_index(connection)


def _record(codec: Codec[T], thing: T) -> JournalRecord:
    return JournalRecord(codec.kind, thing.id, thing.created_at, codec.encode(thing))


def _confirmed(size: str) -> bool:
    if not sys.stdin.isatty():
        show_notice("Nothing was kept. To keep this, add --yes.")
        return False
    return typer.confirm(f"Keep {size}?", err=True)
