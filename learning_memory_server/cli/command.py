"""How commands are declared: options and body in one function, which prints for people and returns a document.

Also the options that several commands share, and what their values mean.
"""

import asyncio
import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from learning_memory_server.cli import out
from learning_memory_server.cli.help import PlainCommand, PlainGroup
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.model.limits import PROJECT_MAX, checked_text
from learning_memory_server.model.moment import parse_moment
from learning_memory_server.model.vocabulary import Domain, OutcomeStatus, Strategy
from learning_memory_server.server.settings import Settings


def _projects(incomplete: str) -> list[str]:
    """Return the projects that Tab offers."""
    from learning_memory_server.cli.access.reading import Stored  # noqa: PLC0415 - slow, and only for Tab
    from learning_memory_server.server.settings import load_settings  # noqa: PLC0415

    try:
        known = Stored(load_settings()).projects()
    except LearningMemoryError:
        return []
    return [name for name in ("current", *known) if name.startswith(incomplete)]


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
    str | None, typer.Option("--since", metavar="DATE", help="Only entries resolved since then: ISO 8601, in UTC.")
]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
LimitOption = Annotated[int, typer.Option("--limit", min=1, help="How many to show.")]
ExplainOption = Annotated[bool, typer.Option("--explain", help="Show where each score comes from.")]


@dataclass(frozen=True, slots=True)
class Result:
    """What a command found or did, for `--json`, and whether the exit status is 0."""

    document: Mapping[str, Any]
    succeeded: bool = True


class Commands(typer.Typer):
    """The commands of a module.

    A command may be a coroutine function. It prints what people want to know. One that returns a `Result` has the
    option `--json`, with which nothing else is printed on standard output, and nothing is asked.
    """

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - as typer's
        super().__init__(**{"cls": PlainGroup, **settings})

    def command(
        self,
        name: str | None = None,
        json_help: str = "Print one JSON document.",
        **settings: Any,  # noqa: ANN401 - as typer's
    ) -> Callable[..., Any]:
        """Declare a function as a command."""
        declare = super().command(name, cls=PlainCommand, **settings)
        return lambda body: declare(_runnable(body, json_help))

    def callback(self, **settings: Any) -> Callable[..., Any]:  # noqa: ANN401 - as typer's
        """Declare a function that runs before the command of a group, or without one."""
        declare = super().callback(**settings)
        return lambda body: declare(_runnable(body, "Print one JSON document."))


def _runnable(body: Callable[..., Any], json_help: str) -> Callable[..., None]:
    @wraps(body)
    def run(*, as_json: bool = False, **options: Any) -> None:  # noqa: ANN401 - whatever it declares
        with out.for_programs(as_json):
            result = body(**options)
            if inspect.iscoroutine(result):
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
        # What typer reads the options from.
        run.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*signature.parameters.values(), option]
        )
        run.__annotations__ = {**body.__annotations__, "as_json": annotation}
    return run


def current_project(settings: Settings) -> str:
    """Return the settings' project, else this folder's."""
    from learning_memory_server.server.claims import caller_of  # noqa: PLC0415 - slow, and not for help

    return caller_of(os.environ, settings).project


def folders_here(settings: Settings) -> dict[str, str]:
    """Return the folder of the current project, by its name: which remedy an error has may depend on files in it."""
    return {current_project(settings): os.environ.get("CLAUDE_PROJECT_DIR") or str(Path.cwd())}


def chosen_project(name: str | None, settings: Settings) -> str | None:
    """Return the project that `--project` names; `current` is `current_project`.

    It is refused if it is empty, as an unset variable of a shell is.
    """
    if name is None:
        return None
    return current_project(settings) if name == "current" else checked_text("--project", name, PROJECT_MAX)


def chosen_time(since: str | None) -> datetime | None:
    """Return the moment that `--since` names."""
    return None if since is None else parse_moment("--since", since)
