"""The front's process: what it does before it has a hub."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from learning_memory_server.hub.front.answers import Answers
from learning_memory_server.hub.front.link import HubLink, hello_of
from learning_memory_server.hub.front.relay import Relay
from learning_memory_server.system.interrupts import run_and_exit
from learning_memory_server.system.ipc import discovery, socket_security

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main(*, has_hooks: bool = False, is_steered: bool = False) -> NoReturn:
    """Relay between the client and the hub until the client leaves.

    It `is_steered` if variables were ignored that a project's file names.
    """

    def relay() -> int:
        if not socket_security.has_hubs():
            _say(
                "This system does not support the hub. Start `learning-memory-server --direct`, one session at a time."
            )
            return 1
        place = discovery.Place(os.environ)
        hello = {**hello_of(place, "session"), "hooks": has_hooks}
        # What is left then are not the user's settings: no hub may end for them.
        hello |= {"settings": None} if is_steered else {}
        # The end of a client.
        with suppress(BrokenPipeError):
            Relay(HubLink(place, hello, _say), answers=Answers(has_hooks=has_hooks)).run()
        return 0

    run_and_exit(relay)


def _say(sentence: str) -> None:
    print(f"learning-memory-server: {sentence}", file=sys.stderr)  # noqa: T201 - stderr is the log
