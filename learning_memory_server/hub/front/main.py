"""The front's process: what it does before it has a hub."""

from __future__ import annotations

import os
import sys

from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.hub.front.answers import Answers
from learning_memory_server.hub.front.link import HubLink, hello_of
from learning_memory_server.hub.front.relay import Relay
from learning_memory_server.system.interrupts import INTERRUPTED
from learning_memory_server.system.ipc import discovery, socket_security

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main(*, has_hooks: bool = False, is_steered: bool = False) -> NoReturn:
    """Relay between the client and the hub until the client leaves.

    It `is_steered` if variables were ignored that a project's file names.
    """
    status = 0
    if not socket_security.has_hubs():
        _say(
            "This system does not support the hub. Start `learning-memory-server --direct`, one session at a time."
        )
        os._exit(1)
    try:
        place = discovery.Place(os.environ)
        hello = {**hello_of(place, "session"), "hooks": has_hooks}
        # What is left then are not the user's settings: no hub may end for them.
        hello |= {"settings": None} if is_steered else {}
        Relay(HubLink(place, hello, _say), answers=Answers(has_hooks=has_hooks)).run()
    except LearningMemoryError as error:
        _say(error.sentence)
        status = 1
    except BrokenPipeError:
        # The client is gone.
        status = 0
    except KeyboardInterrupt:
        status = INTERRUPTED
    sys.stderr.flush()
    os._exit(status)


def _say(sentence: str) -> None:
    print(f"learning-memory-server: {sentence}", file=sys.stderr)  # noqa: T201 - stderr is the log
