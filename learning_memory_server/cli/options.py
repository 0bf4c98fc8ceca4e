"""Options that several commands share, and what their values mean."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from learning_memory_server.model.limits import PROJECT_MAX, checked_text
from learning_memory_server.model.moment import parse_moment
from learning_memory_server.model.vocabulary import Domain, OutcomeStatus, Strategy
from learning_memory_server.server.claims import caller_of

if TYPE_CHECKING:
    from learning_memory_server.server.settings import Settings

DomainOption = Annotated[Domain | None, typer.Option("--domain", help="Only this kind of task.")]
OutcomeOption = Annotated[OutcomeStatus | None, typer.Option("--outcome", help="Only this outcome.")]
StrategyOption = Annotated[Strategy | None, typer.Option("--strategy", help="Only this strategy.")]
ProjectOption = Annotated[
    str | None,
    typer.Option("--project", metavar="NAME", help="Only this project; `current` is this folder's."),
]
SinceOption = Annotated[
    str | None,
    typer.Option("--since", metavar="DATE", help="Only entries resolved since then: ISO 8601, in UTC."),
]
LimitOption = Annotated[int, typer.Option("--limit", min=1, help="How many to show.")]
ExplainOption = Annotated[bool, typer.Option("--explain", help="Show where each score comes from.")]


def current_project(settings: Settings) -> str:
    """Return the settings' project, else this folder's."""
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
