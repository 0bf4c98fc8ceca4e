"""Errors of commands as JSON shows them."""

from collections.abc import Sequence
from typing import Any, NotRequired

from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

from learning_memory_server.journal.kinds import without_empty
from learning_memory_server.lessons.errors.figures import Figures, figures_of
from learning_memory_server.model.failure import Failure
from learning_memory_server.server.views import fields


class ErrorFigures(TypedDict):
    """How often an error came, in how many sessions, and the command that worked next in most of them.

    `command` is the one that failed with it most often. `followed` worked next in `followed_in` of the `sessions`, and
    after `stayed_away` of those the error did not come again in the session. Nothing says that it is a remedy.
    """

    line: str
    command: str
    times: int
    sessions: int
    last_seen: str
    followed: NotRequired[str]
    followed_in: NotRequired[int]
    stayed_away: NotRequired[int]


class FailedCommand(TypedDict):
    """A command that failed, and the next command of its session that worked."""

    id: str
    at: str
    command: str
    worked: NotRequired[str]


class RepeatedError(ErrorFigures):
    """An error of a project, with the figures of the failures that are kept: the last ones, newest first.

    `times` also counts those that are no longer kept.
    """

    id: str
    project: str
    signature: str
    failures: list[FailedCommand]


def figures(found: Figures) -> dict[str, Any]:
    """Return `ErrorFigures`."""
    given = fields(ErrorFigures, found)
    return given if found.followed else {name: given[name] for name in given if name not in _FOLLOWED}


_FOLLOWED = ("followed", "followed_in", "stayed_away")


def repeated_error(known: Sequence[Failure]) -> dict[str, Any]:
    """Return a `RepeatedError` of the failures of one error, oldest first."""
    newest = known[-1]
    return {
        "id": newest.error,
        "project": newest.project,
        "signature": newest.signature,
        **figures(figures_of(known)),
        "times": max(len(known), *(each.times for each in known)),
        "failures": [without_empty(fields(FailedCommand, each, at=each.created_at)) for each in reversed(known)],
    }
