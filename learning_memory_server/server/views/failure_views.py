"""Errors of commands as JSON shows them."""

from collections.abc import Sequence
from typing import Any, NotRequired

from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

from learning_memory_server.journal.codec import without_empty
from learning_memory_server.lessons.errors.cures import followed
from learning_memory_server.lessons.errors.remedies import remedy_for, seen
from learning_memory_server.model.failure import Failure
from learning_memory_server.server.views import fields


class FailedCommand(TypedDict):
    """A command that failed, what worked then, and what is shown if it fails again."""

    id: str
    at: str
    command: str
    worked: NotRequired[str]
    remedy: NotRequired[str]


class RepeatedError(TypedDict):
    """An error of a project. `command` is the newest that failed with it, and `remedy` what is shown if it fails again.

    There is no `remedy` if none is known that may be shown, if remedies disagree, or if it was tried and did not help.
    `followed` says then what followed most often. For people alone: it may be anything.
    `failures` are the last ones, newest first.
    """

    id: str
    project: str
    signature: str
    times: int
    last_seen: str
    command: str
    remedy: NotRequired[str]
    followed: NotRequired[str]
    failures: list[FailedCommand]


def repeated_error(known: Sequence[Failure], folder: str | None = None) -> dict[str, Any]:
    """Return a `RepeatedError` of the failures of one error, oldest first."""
    newest = known[-1]
    remedy = _remedy(newest, known, folder)
    return without_empty(
        fields(
            RepeatedError,
            newest,
            id=newest.error,
            times=seen(known),
            last_seen=newest.created_at,
            remedy=remedy,
            followed=None if remedy else followed(known) or None,
            failures=[
                without_empty(
                    fields(
                        FailedCommand, each, at=each.created_at, worked=each.remedy, remedy=_remedy(each, known, folder)
                    )
                )
                for each in reversed(known)
            ],
        )
    )


def _remedy(failure: Failure, known: Sequence[Failure], folder: str | None) -> str | None:
    """Return what a new session is shown if the command fails again."""
    remedy = remedy_for(failure.command, known, folder=folder)
    return remedy and remedy.text
