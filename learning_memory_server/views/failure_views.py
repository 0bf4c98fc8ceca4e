"""Errors of commands as JSON shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired

from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

from learning_memory_server.failures.shield import mended_by, seen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from learning_memory_server.domain.failure import Failure


class RepeatedError(TypedDict):
    """An error of a project. `command` is the newest that failed with it, and `remedy` what is shown if it fails again.

    There is no `remedy` if none is known, if remedies disagree, or if it was shown and did not help. `failures` are the
    last ones, newest first.
    """

    id: str
    project: str
    signature: str
    times: int
    last_seen: str
    command: str
    remedy: NotRequired[str]
    failures: list[FailedCommand]


class FailedCommand(TypedDict):
    """A command that failed, and the similar one that succeeded after it; the same one if something else was mended."""

    id: str
    at: str
    command: str
    remedy: NotRequired[str]


def repeated_error(known: Sequence[Failure]) -> dict[str, Any]:
    """Return a `RepeatedError`.

    Args:
        known: The failures of one error, oldest first.
    """
    newest = known[-1]
    shown, _ = mended_by(newest.command, known) or (None, None)
    return {
        "id": newest.error,
        "project": newest.project,
        "signature": newest.signature,
        "times": seen(known),
        "last_seen": newest.created_at.isoformat(),
        "command": newest.command,
        **({"remedy": shown.remedy} if shown else {}),
        "failures": [_failed_command(each) for each in reversed(known)],
    }


def _failed_command(failure: Failure) -> dict[str, Any]:
    return {
        "id": failure.id,
        "at": failure.created_at.isoformat(),
        "command": failure.command,
        **({"remedy": failure.remedy} if failure.remedy else {}),
    }
