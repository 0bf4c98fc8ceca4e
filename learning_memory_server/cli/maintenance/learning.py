"""`report` and `learn-from`: read the transcripts of earlier sessions, show the results, and store failures."""

import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Annotated, Final, NamedTuple

import typer

from learning_memory_server.advice.asking.past import Moment, moments_in
from learning_memory_server.cli import out
from learning_memory_server.cli.command import (
    Commands,
    Offline,
    Result,
    current_project,
    folders_here,
    open_settings_here,
)
from learning_memory_server.cli.maintenance.importing import file_errors
from learning_memory_server.cli.past import LearnReport, LeftOut
from learning_memory_server.cli.rules.report import ask_about, document_of, show_report
from learning_memory_server.cli.rules.waiting import past_here
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.journal import Journal
from learning_memory_server.lessons.errors import transcripts
from learning_memory_server.lessons.errors.learner import unknown
from learning_memory_server.model.caller import folder_of, git_output
from learning_memory_server.rules.past.sessions import Transcript
from learning_memory_server.server.claims import claims_of
from learning_memory_server.server.composition.backends import redaction_gate
from learning_memory_server.server.exclusion import matching
from learning_memory_server.server.settings import Settings

_MB: Final = 1_000_000
_OF_AGENT: Final = "agent-"  # Prefix of the file names of subagents' transcripts


class _Home(NamedTuple):
    """The project of a folder, and the creation time of its git directory, if any."""

    project: str
    made: float | None


class _Owners:
    """Finds the project of a session by the folder in its lines: Claude Code's name for the folder is ambiguous.

    `path` is the path from the person, if any; `every` is whether sessions of other projects are wanted.
    """

    def __init__(self, settings: Settings, path: Path | None, *, every: bool) -> None:
        self._claims, self.current = claims_of(settings), current_project(settings)
        self._own = self._claims.find(folder_of(os.environ)).project
        self._names = Journal(settings.journal_directory).names
        # The folder of all projects says nothing about the project.
        usual = transcripts.projects_folder(os.environ).resolve()
        self._is_named = path is not None and not usual.is_relative_to(path.resolve())
        self._every = every
        self._home_of = cache(self._find_home)
        self._is_excluded = cache(lambda folder: bool(folder and matching(settings.exclude, folder)))

    def project_of(self, began: transcripts.Beginning) -> str | LeftOut:
        """Return the project of a session, or the reason why the session is left out."""
        is_excluded = self._is_excluded(began.folder)
        home = None if is_excluded else self._home_of(began.folder)
        if is_excluded or (home and home.project != self.current and not self._every):
            return LeftOut.EXCLUDED if is_excluded else LeftOut.OTHER_PROJECTS
        if home and (home.made is None or (began.at and began.at.timestamp() >= home.made)):
            return home.project
        if self._is_named and not self._every:
            # From another machine, or a folder that was moved or had no git then. The person has chosen the project.
            return self.current
        if home:
            return LeftOut.EARLIER
        if self._every and Path(began.folder).is_absolute():
            # The name may be invalid, or a link may lead to itself.
            with suppress(OSError, ValueError, RuntimeError):
                return self._names.of(self._claims.find(Path(began.folder)).project)
        return LeftOut.GONE_FOLDERS if began.folder else LeftOut.WITHOUT_FOLDER

    def is_here(self, began: transcripts.Beginning) -> bool:
        """Whether a session ran in a folder that belongs to the current project now."""
        home = self._home_of(began.folder)
        return home is not None and home.project == self.current

    def may_read_older(self, lesson: LearnReport) -> bool:
        """Whether a person allows sessions from before this clone. Asks once for each clone."""
        folder = folder_of(os.environ)
        if (said := self._claims.said_of_older(folder)) is not None:
            return said
        if not out.is_a_person():
            return False
        said = out.agrees(f"{lesson.older_sessions}. Read them?")
        self._claims.note_older(folder, said=said)
        return said

    def has_strayed(self, folder: str | None, began: transcripts.Beginning) -> bool:
        """Whether a session had changed to a folder outside its project when it made a call."""
        if not folder or folder == began.folder:
            return False
        if self._is_excluded(folder):
            return True
        home = self._home_of(folder)
        return home != self._home_of(began.folder) or (home is None and not Path(folder).is_relative_to(began.folder))

    def _find_home(self, folder: str) -> _Home | None:
        """Return the project of a folder, or of its nearest existing parent for a removed worktree; None if unknown."""
        path = Path(folder)
        # The name may be too long, or the folder inaccessible.
        with suppress(OSError):
            place = next((each for each in (path, *path.parents) if path.is_absolute() and each.is_dir()), None)
            common = place and git_output(place, "rev-parse", "--path-format=absolute", "--git-common-dir")
            if place and (common or place == path):
                name = self._claims.find(place).project
                # Git changes some of these files, but their times never go back.
                made = min(each.lstat().st_mtime for each in Path(common).iterdir()) if common else None
                return _Home(self.current if name == self._own else self._names.of(name), made)
        return None


commands = Commands()


@commands.command("learn-from", "Print JSON. Nothing is kept without --yes.", example="--report")
async def learn_from(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PATH]",
            exists=True,
            readable=True,
            help="A transcript, or a folder with transcripts; by default where Claude Code keeps them.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also from other projects, each under its own name.")] = False,
    report: Annotated[bool, typer.Option("--report", help="Only say what failed most; keep nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Keep it, and do not ask.")] = False,
) -> Result:
    """Learn from Claude Code's past sessions of this project which commands failed, and what worked next.

    The transcripts are read on this machine, without a model, and stay as they
    are. A session is of the project whose folder it ran in, if it began after
    the git directory there was made. Others are counted, and left out.
    Shows the line that names each error, the command, and the next command
    that worked, and asks whether to keep them. Secrets and folders of this
    machine are left out. `failures` and the page list the errors afterwards,
    for you: agents see no figures. Run it again after an interruption, or
    later: what is known is not added twice.
    """
    began = monotonic()
    settings = open_settings_here()
    lesson = await read_lesson(settings, path, every=every)
    if report and (lesson.projects or lesson.past.lines):
        show_report(lesson.past, lesson.place, lesson.what)
        lesson.show_left_out()
        return Result(lesson.document(monotonic() - began))
    lesson.show()
    refusal = "Nothing was kept. To keep this, add --yes."
    if lesson.size and out.agrees(f"Keep {lesson.size}?", refusal, yes=yes):
        await lesson.keep(settings)
    return Result(lesson.document(monotonic() - began))


@commands.command(json_help="Print JSON, and ask nothing.", example="--json")
async def report() -> Result:
    """Show which of your rules agents broke in past sessions, which commands keep failing, and which calls you refused.

    Reads Claude Code's transcripts of this project, your files of rules
    (CLAUDE.md, AGENTS.md and others) and feedback memories, without a model,
    and changes nothing. Of a rule that you have accepted, it counts the breaches
    since your yes, also those while no server ran. In a terminal it asks which
    lines agents are reminded of from now on. Each line that you choose becomes
    a rule of yours.
    """
    settings = open_settings_here()
    lesson = await read_lesson(settings)
    show_report(lesson.past, lesson.place, lesson.what)
    lesson.show_left_out()
    await ask_about(lesson.past, settings)
    return Result(document_of(lesson.past))


async def read_lesson(settings: Settings, path: Path | None = None, *, every: bool = False) -> LearnReport:
    """Read the transcripts in a folder, by default Claude Code's own, and return a report."""
    lesson = LearnReport(path or transcripts.projects_folder(os.environ), here=folders_here(settings))
    await _read(lesson, _Owners(settings, path, every=every), settings)
    return lesson


async def read_moments(settings: Settings) -> tuple[list[Moment], LearnReport]:
    """Return the objections of people in the transcripts of this project, and what was left out."""
    place = transcripts.projects_folder(os.environ)
    lesson = LearnReport(place, here=folders_here(settings))
    owners = _Owners(settings, None, every=False)
    found = _find(lesson, owners)
    with file_errors(lesson.place):
        moments = await moments_in(
            found, place, redaction_gate(settings), passed=lesson.passed, has_strayed=owners.has_strayed
        )
    return moments, lesson


async def _read(lesson: LearnReport, owners: _Owners, settings: Settings) -> None:
    stored = Offline(settings)
    found = _find(lesson, owners)
    with file_errors(lesson.place), out.working("Reading transcripts") as report:

        def progress(done: int, total: int) -> None:
            report("Reading transcripts (MB)", done // _MB, max(total // _MB, 1))

        lesson.past = await past_here(
            settings, stored, found, passed=lesson.passed, progress=progress, has_strayed=owners.has_strayed
        )
    for learned in lesson.past.errors:
        new = unknown(learned, stored.failure_log)
        lesson.known += len(learned) - len(new)
        if new:
            lesson.errors.append(new)
    lesson.errors.sort(key=lambda error: (-error[-1].times, error[-1].error))


def _find(lesson: LearnReport, owners: _Owners) -> list[Transcript]:
    """Return the transcripts to read, and count the others."""
    found, older = list[Transcript](), list[Transcript]()
    with file_errors(lesson.place), out.working("Looking for transcripts"):
        # A person's rules are known without a transcript.
        for path in transcripts.find_transcripts(lesson.place, lesson.passed) if lesson.place.exists() else ():
            began = transcripts.beginning_of(path, lesson.passed)
            if path == lesson.place and began == transcripts.Beginning() and not lesson.passed.files:
                raise InvalidInputError(
                    f"{path} is no transcript of Claude Code: none of its first lines is part of a session.",
                    hint=f"Transcripts are .jsonl files in {transcripts.projects_folder(os.environ)}.",
                )
            project = owners.project_of(began)
            if project is LeftOut.EARLIER and owners.is_here(began):
                older.append(Transcript(path, began, owners.current))
            elif isinstance(project, LeftOut):
                lesson.left_out[project] += 1
            else:
                lesson.projects[project] += 1
                found.append(Transcript(path, began, project))
    lesson.older = sum(not each.path.name.startswith(_OF_AGENT) for each in older) or len(older)
    if older and owners.may_read_older(lesson):
        lesson.older = 0
        lesson.projects[owners.current] += len(older)
        found = sorted([*older, *found], key=lambda each: each.path)
    else:
        lesson.left_out[LeftOut.EARLIER] += len(older)
    return found
