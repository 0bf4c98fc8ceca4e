"""Check of the hub, and what it tells about the model that it has loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from learning_memory_server.cli.access import holder_of
from learning_memory_server.cli.connection import running_hub
from learning_memory_server.cli.finding import green, red, yellow
from learning_memory_server.cli.status import describe_hub, describe_model, in_the_way
from learning_memory_server.errors import JournalUnavailableError, LearningMemoryError

if TYPE_CHECKING:
    from learning_memory_server.cli.finding import Finding
    from learning_memory_server.server.config import Settings


def check_hub(settings: Settings) -> tuple[Finding, dict[str, Any] | None]:
    """Ask the hub how it is, and return what it said, if one runs and answers.

    Args:
        settings: Whose data it would hold.
    """
    try:
        hub = running_hub()
        if hub is None:
            return _check_holder(settings), None
        status = hub.control("status")
    except LearningMemoryError as error:
        return red("hub", error.sentence), None
    if status["settings"] != hub.place.settings:
        sentence = (
            f"It was started with other settings than these ({describe_hub(status)}); "
            "run: learning-memory-server hub stop"
        )
        return yellow("hub", sentence), status
    return green("hub", f"One runs: {describe_hub(status)}."), status


def _check_holder(settings: Settings) -> Finding:
    """Say whether a hub could be started."""
    try:
        who = holder_of(settings)
    except JournalUnavailableError:
        return yellow("hub", "None runs, and none can start: who holds the data cannot be seen (see above).")
    if who is None:
        return green("hub", "None runs; the next session starts one.")
    if "socket" in who:
        return green("hub", f"One (process {who['pid']}) is starting or ending.")
    return yellow("hub", in_the_way(who))


def check_model_of_hub(status: dict[str, Any]) -> Finding | None:
    """Say how the hub's model is, or return None if the hub has not needed it yet."""
    match status["model"]:
        case "ready":
            return green("model", f"The hub has loaded it: {describe_model(status)}.")
        case "loading":
            return green("model", "The hub is loading it.")
        case "failed":
            return red("model", "The hub could not load it; `learning-memory-server hub logs` shows why.")
        case _:
            return None
