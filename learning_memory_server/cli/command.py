"""Shared parts of commands: declaration, options, and reading the journal without a lock or hub."""

import inspect
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import structlog
import typer

from learning_memory_server.capture.entries.open_entries import SESSIONS, LiveSessions
from learning_memory_server.cli import out
from learning_memory_server.cli.help import PlainCommand, PlainGroup
from learning_memory_server.errors import InvalidInputError, LearningMemoryError
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import Records
from learning_memory_server.lessons.values.log import Standing, weigh_all
from learning_memory_server.model.caller import folder_of
from learning_memory_server.model.limits import PROJECT_MAX, checked_text
from learning_memory_server.model.moment import parse_moment, utc_now
from learning_memory_server.model.project import name_among, short_name
from learning_memory_server.model.value import Value
from learning_memory_server.model.vocabulary import Domain, OutcomeStatus, Strategy
from learning_memory_server.server.composition.stores import Stores
from learning_memory_server.server.settings import Settings, load_settings, setting_notices
from learning_memory_server.system.files import disk_use
from learning_memory_server.system.locking import holder
from learning_memory_server.system.servers import without_logins

if TYPE_CHECKING:
    from learning_memory_server.sharing.review import Review
    from learning_memory_server.sharing.shared import SharedLessons

_Name = TypeVar("_Name", str, str | None)


def _projects(incomplete: str) -> list[str]:
    """Return the project names for shell completion."""
    try:
        known = Offline(load_settings()).projects.all()
    except LearningMemoryError:
        return []
    shown = (name_among(each, known) for each in known)
    return [name for name in ("current", *shown) if name.startswith(incomplete)]


DomainOption = Annotated[Domain | None, typer.Option("--domain", help="Only this kind of task.")]
OutcomeOption = Annotated[OutcomeStatus | None, typer.Option("--outcome", help="Only this outcome.")]
StrategyOption = Annotated[Strategy | None, typer.Option("--strategy", help="Only this strategy.")]
ProjectOption = Annotated[
    str | None,
    typer.Option(
        "--project", metavar="NAME", help="Only this project; `current` is this folder's.", autocompletion=_projects
    ),
]
SinceOption = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="DATE", help="Only what is dated then or later: yesterday, 2d, 3w, or ISO 8601 in UTC."
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
LimitOption = Annotated[int, typer.Option("--limit", min=1, help="How many to show.")]
ExplainOption = Annotated[bool, typer.Option("--explain", help="Show where each score comes from.")]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a command for `--json`, and whether the exit status is 0."""

    document: Mapping[str, Any]
    succeeded: bool = True


class Commands(typer.Typer):
    """The commands of a module, one function or coroutine each. A command that returns a `Result` gets `--json`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"cls": PlainGroup, **settings})

    def command(
        self, name: str | None = None, json_help: str = "Print one JSON document.", example: str = "", **settings: Any
    ) -> Callable[..., Any]:
        """Declare a function as a command. The help shows `example`, the arguments of an example."""
        declare = super().command(name, cls=PlainCommand, epilog=example, **settings)
        return lambda body: declare(_runnable(body, json_help))


def _runnable(body: Callable[..., Any], json_help: str) -> Callable[..., None]:
    @wraps(body)
    def run(*, as_json: bool = False, **options: Any) -> None:
        with out.for_programs(as_json):
            result = body(**options)
            if inspect.iscoroutine(result):
                import asyncio

                result = asyncio.run(result)
        if result is None:
            return
        if as_json:
            out.document(result.document)
        if not result.succeeded:
            raise typer.Exit(1)

    signature = inspect.signature(body)
    if signature.return_annotation in {Result, Result | None}:
        annotation = Annotated[bool, typer.Option("--json", help=json_help)]
        option = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        # Typer reads the options from this.
        run.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*signature.parameters.values(), option]
        )
        run.__annotations__ = {**body.__annotations__, "as_json": annotation}
    return run


def current_project(settings: Settings) -> str:
    """Return the project of the settings, otherwise the project of this folder."""
    from learning_memory_server.server.claims import caller_of

    return caller_of(os.environ, settings).project


def open_settings_here() -> Settings:
    """Load the settings for a command about this folder. Raises `InvalidInputError` if the folder is excluded."""
    from learning_memory_server.server.exclusion import require_included

    settings = open_settings()
    require_included(settings, folder_of(os.environ))
    return settings


def left_out_here(settings: Settings) -> str:
    """Return a sentence if this folder is excluded, otherwise an empty text."""
    from learning_memory_server.server.exclusion import matching, sentence_of

    folder = folder_of(os.environ)
    pattern = matching(settings.exclude, folder)
    return sentence_of(pattern, folder) if pattern else ""


def folders_here(settings: Settings) -> dict[str, str]:
    """Return the folder of the current project, by project name. Its files show which lessons are stale."""
    return {current_project(settings): str(folder_of(os.environ))}


def chosen_project(name: _Name, stored: "Offline", given: str = "--project") -> _Name:
    """Return the project for a person's argument, which may be an unambiguous short name or `current`.

    `given` is the name of the option or argument.
    """
    if name is None:
        return None
    # May be empty, like an unset shell variable.
    project = checked_text(given, name, PROJECT_MAX)
    known = stored.projects.all()
    alike = [project] if project in known else [each for each in known if short_name(each) == project]
    if len(alike) == 1:
        return alike[0]
    here = current_project(stored.settings)
    if project not in {"current", here}:
        named = alike or [name_among(each, known) for each in known]
        names = ", ".join(map(out.one_line, named[: out.SHOWN])) or "none"
        if alike:
            raise InvalidInputError(f"{given}: {out.one_line(project)} may be {names}.")
        raise InvalidInputError(f"{given}: nothing is stored of {out.one_line(project)}.", hint=f"Projects: {names}.")
    return here


_DAYS: Final = {"today": "0d", "yesterday": "1d", "last week": "1w"}
_AGO: Final = re.compile(r"(\d{1,4})([dw])")


def chosen_time(since: str | None) -> datetime | None:
    """Return the time for `--since`: a date, or midnight UTC some days or weeks ago."""
    if since is None:
        return None
    ago = _AGO.fullmatch(_DAYS.get(since, since))
    if ago is None:
        try:
            return parse_moment("--since", since)
        except InvalidInputError:
            raise InvalidInputError(
                f"--since: {since!r} is no date.",
                hint="Give today, yesterday, 2d (two days ago), 3w (three weeks ago), or a date such as 2026-01-31.",
            ) from None
    today = utc_now().replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=int(ago[1]) * (7 if ago[2] == "w" else 1))


_MINUTE: Final = 60


def open_settings() -> Settings:
    """Load the settings, set up logging, and warn about unknown variables and keys."""
    settings = load_settings()
    for sentence in setting_notices():
        out.notice(sentence)
    if settings.log_level == "debug":
        from learning_memory_server.server.composition.logging import configure_logging

        configure_logging("debug")
    else:
        _silence_logs()
    return settings


def _silence_logs() -> None:
    """Turn log lines off: commands report in sentences."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.basicConfig(level=logging.CRITICAL, force=True)


class Offline(Stores):
    """The content of the journal, read-only, which is safe while another process writes to it."""

    def __init__(self, settings: Settings) -> None:
        journal = Journal(settings.journal_directory)
        # As the hub has noted it: an entry that somebody works on is no orphan here either.
        live = LiveSessions(utc_now, settings.storage_path / SESSIONS)
        super().__init__(settings, journal, utc_now, Records(journal.memories), live.is_live)

    # Modules that most commands do not need are imported on demand.

    @cached_property
    def shared(self) -> "SharedLessons":
        """The shared lessons from the last read."""
        from learning_memory_server.sharing.shared import SHARED, SharedLessons

        return SharedLessons(self.settings.storage_path / SHARED, effects=self.effects.counts)

    @cached_property
    def review(self) -> "Review":
        """The lessons that wait for a person's answer."""
        from learning_memory_server.sharing.review import Review

        return Review(self.answers, self.collector, self.shared, self.value_log)

    def standings(self, values: Sequence[Value]) -> list[Standing]:
        """Return values with their verdicts."""
        return weigh_all(values, self.value_log, self.verdicts, self.collector)


def holder_of(settings: Settings) -> dict[str, object] | None:
    """Return the description of the process that has locked the journal or the storage folder, or None."""
    return holder(settings.journal_directory) or holder(settings.storage_path)


def describe_engine(settings: Settings) -> str:
    """Describe the engine of the index, its location, and its size."""
    if settings.qdrant_url is not None:
        from learning_memory_server.index.engines.server_log import urls_of

        return f"Qdrant at {', '.join(urls_of(without_logins(settings.qdrant_url)))}"
    folder = settings.index_directory
    return f"embedded Qdrant in {folder} ({out.readable_size(disk_use(folder))})"


def in_use_by(who: Mapping[str, object] | None) -> str:
    """Return a description of the process that has locked the data; see `holder_of`."""
    if who is None:
        return "nobody"
    return f"{who.get('purpose', 'another process')}, process {who.get('pid', 'unknown')}"


def in_the_way(who: Mapping[str, object]) -> str:
    """Return a sentence about a process other than a hub that has locked the data, and the consequence."""
    return (
        f"No hub is running, and no session can start until {in_use_by(who)}, has ended: it has locked the data "
        "and is not a hub."
    )


def describe_hub(status: dict[str, Any]) -> str:
    """Describe a hub in one line."""
    pending = "an unknown number of points" if status["pending"] is None else out.counted(status["pending"], "point")
    return (
        f"process {status['pid']}, {describe_program(status['build'])}, "
        f"up {describe_seconds(status['uptime_seconds'])}, {out.counted(status['sessions'], 'session')}, "
        f"model {describe_model(status)}, {pending} pending"
        + "".join(f". {each}" for each in (describe_refusal(status), status.get("notice")) if each)
    )


def describe_refusal(found: Mapping[str, Any]) -> str:
    """Return a sentence about why a server rejects requests, and when it is retried; empty if it does not."""
    if "refused" not in found:
        return ""
    return f"{found['refused']} It is asked again in {describe_seconds(found['retry_seconds'])}."


def describe_program(program: Mapping[str, Any]) -> str:
    """Return the version and folder of a program that runs a hub, or would; see `programs`."""
    return f"version {program['version']} in {program['folder']}"


def describe_model(status: dict[str, Any]) -> str:
    """Return the state of a hub's model, and the runtime that computes its vectors."""
    return f"{status['model']} ({status['runtime']})" if status["runtime"] else str(status["model"])


def describe_seconds(seconds: float) -> str:
    """Format a duration for people, such as `42 s` or `2:05:09`."""
    return f"{seconds:.0f} s" if seconds < _MINUTE else str(timedelta(seconds=round(seconds)))
