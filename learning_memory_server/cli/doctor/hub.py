"""Check of the hub, and of the model that it has loaded."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.cli.access.connection import running_hub
from learning_memory_server.cli.access.reading import (
    describe_hub,
    describe_model,
    describe_program,
    holder_of,
    in_the_way,
)
from learning_memory_server.cli.doctor.finding import green, red, yellow
from learning_memory_server.errors import LearningMemoryError, LockUnavailableError
from learning_memory_server.system import timeouts
from learning_memory_server.system.ipc.programs import to_start

if TYPE_CHECKING:
    from learning_memory_server.cli.access.hub_client import HubClient
    from learning_memory_server.cli.doctor.finding import Finding
    from learning_memory_server.server.settings import Settings

_LOOK_SECONDS: Final = 0.1


def check_hub(settings: Settings) -> tuple[Finding, dict[str, Any] | None]:
    """Check the hub, and return its status if one runs and answers."""
    try:
        hub = _find_hub(settings)
        if hub is None:
            return _check_holder(settings), None
        status = hub.control("status")
    except LearningMemoryError as error:
        return red("hub", error.sentence), None
    sentence = f"One is running: {describe_hub(status).rstrip('.')}."
    if status.get("notice"):
        return yellow("hub", sentence), status
    first = to_start(settings.storage_path)[0]
    if first["folder"] != status["build"].get("folder"):
        return yellow(
            "hub", f"{sentence} The next session to start one starts {describe_program(first)}."
        ), status
    return green("hub", sentence), status


def _find_hub(settings: Settings) -> HubClient | None:
    """Return the hub, or None. A hub that has just started, or lost its socket, listens within two seconds."""
    until = time.monotonic() + timeouts.DOCTOR_HUB
    while (hub := running_hub()) is None and time.monotonic() < until:
        try:
            who = holder_of(settings)
        except LockUnavailableError:
            return None
        if who is None or "socket" not in who:
            return None
        time.sleep(_LOOK_SECONDS)
    return hub


def _check_holder(settings: Settings) -> Finding:
    """Check whether a hub could start."""
    try:
        who = holder_of(settings)
    except LockUnavailableError:
        return yellow(
            "hub", "None is running, and none can start: the lock file cannot be opened (see above)."
        )
    if who is None:
        program = describe_program(to_start(settings.storage_path)[0])
        return green("hub", f"None is running; the next session starts one, of {program}.")
    if "socket" in who:
        sentence = (
            f"One (process {who.get('pid')}) has locked the data, but does not listen at {who['socket']}. If it is not "
            "ending, run: learning-memory-server hub stop"
        )
        return red("hub", sentence)
    return yellow("hub", in_the_way(who))


def check_model_of_hub(status: dict[str, Any]) -> Finding | None:
    """Report the state of the hub's model, or None if the hub has not needed it yet."""
    match status["model"]:
        case "ready":
            return green("model", f"The hub has loaded it: {describe_model(status)}.")
        case "loading":
            return green("model", "The hub is loading it.")
        case "failed":
            return red(
                "model", "The hub could not load it; run `learning-memory-server hub logs` to see why."
            )
        case _:
            return None
